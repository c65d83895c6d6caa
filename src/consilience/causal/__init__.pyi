"""The public names of causal questions and their homes."""

from consilience.causal.adjustment import (
    AdjustmentSets as AdjustmentSets,
    adjustment_sets as adjustment_sets,
)
from consilience.causal.audits import (
    FairnessReport as FairnessReport,
    GroupFairness as GroupFairness,
    fairness as fairness,
)
from consilience.causal.bounded_fits import (
    BoundedCorrelation as BoundedCorrelation,
    BoundedCovariance as BoundedCovariance,
    FairFit as FairFit,
    fair_fit as fair_fit,
)
from consilience.causal.couplings import (
    GumbelMax as GumbelMax,
    IndependentNoise as IndependentNoise,
    Monotone as Monotone,
)
from consilience.causal.effects import (
    Effect as Effect,
    effect as effect,
    intervention_targets as intervention_targets,
)
from consilience.causal.estimand import (
    Estimand as Estimand,
    identify as identify,
)
from consilience.causal.fair_predictors import (
    FairPredictor as FairPredictor,
    HiddenCauses as HiddenCauses,
    NonDescendants as NonDescendants,
    Residuals as Residuals,
    fair_predictor as fair_predictor,
)
from consilience.causal.group_measures import (
    Gaps as Gaps,
    Group as Group,
    RateGap as RateGap,
)
from consilience.causal.identification import (
    Hedge as Hedge,
)
from consilience.causal.necessity import (
    Causation as Causation,
    causation as causation,
)
from consilience.causal.path_parts import (
    PathEffects as PathEffects,
    path_effects as path_effects,
)
from consilience.causal.response import (
    Bounds as Bounds,
)
from consilience.causal.twins import (
    twin as twin,
)
from consilience.causal.what_if import (
    Counterfactual as Counterfactual,
    counterfactual as counterfactual,
    counterfactuals as counterfactuals,
)
from consilience.causal.worlds import (
    CounterfactualFairness as CounterfactualFairness,
    Curve as Curve,
)
from consilience.graph.admg import (
    ADMG as ADMG,
)
