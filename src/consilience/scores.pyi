from consilience.structure.scores.bayesian import (
    BDJ as BDJ,
    K2 as K2,
    BDe as BDe,
    BDeu as BDeu,
    BDs as BDs,
)
from consilience.structure.scores.bge import (
    BGe as BGe,
)
from consilience.structure.scores.by_source import (
    BySource as BySource,
)
from consilience.structure.scores.custom import (
    CustomScore as CustomScore,
)
from consilience.structure.scores.expert_prior import (
    ExpertPrior as ExpertPrior,
)
from consilience.structure.scores.likelihood import (
    AIC as AIC,
    BIC as BIC,
    EBIC as EBIC,
    LogLikelihood as LogLikelihood,
    criterion as criterion,
)
from consilience.structure.scores.nml import (
    FNML as FNML,
    QNML as QNML,
)
from consilience.structure.scores.node_average import (
    NAL as NAL,
    PNAL as PNAL,
)
from consilience.structure.scores.predictive import (
    CrossValidated as CrossValidated,
    HeldOut as HeldOut,
)
from consilience.structure.scores.priors import (
    MAP as MAP,
    ArcPrior as ArcPrior,
    UniformPrior as UniformPrior,
    VariableSelection as VariableSelection,
)
from consilience.structure.scores.source_scores import (
    BHD as BHD,
    PerSource as PerSource,
)
