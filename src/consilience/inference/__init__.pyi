from consilience.answers.answer_intervals import (
    AnswerIntervals as AnswerIntervals,
)
from consilience.answers.findings import (
    BeliefShift as BeliefShift,
    Conflict as Conflict,
)
from consilience.answers.next_questions import (
    InformationValue as InformationValue,
    Question as Question,
)
from consilience.answers.row_distances import (
    ArcStrengths as ArcStrengths,
    arc_strengths as arc_strengths,
)
from consilience.answers.sensitivities import (
    Flip as Flip,
    ParameterEffect as ParameterEffect,
    Sensitivity as Sensitivity,
)
from consilience.answers.source_differences import (
    Differences as Differences,
    FamilyDifference as FamilyDifference,
    SourceDifference as SourceDifference,
    VarianceComponents as VarianceComponents,
)
from consilience.inference.estimate_ways import (
    AdaptiveImportance as AdaptiveImportance,
    Best as Best,
    Gibbs as Gibbs,
    LikelihoodWeighting as LikelihoodWeighting,
    LogicSampling as LogicSampling,
    LoopyPropagation as LoopyPropagation,
)
from consilience.inference.event_beliefs import (
    Estimate as Estimate,
)
from consilience.inference.evidence_rows import (
    log_of_states as log_of_states,
)
from consilience.inference.explanations import (
    Explanation as Explanation,
)
from consilience.inference.log_likelihoods import (
    total_log_likelihood as total_log_likelihood,
)
from consilience.inference.precision_matrix import (
    PartialCorrelations as PartialCorrelations,
)
from consilience.inference.ways import (
    Exact as Exact,
)
