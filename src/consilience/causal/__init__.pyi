"""The public names of causal questions and their homes."""

from consilience.causal.effects import (
    Effect as Effect,
    effect as effect,
    intervention_targets as intervention_targets,
)
from consilience.causal.estimand import (
    Estimand as Estimand,
    identify as identify,
)
from consilience.causal.identification import (
    Hedge as Hedge,
)
from consilience.causal.response import (
    Bounds as Bounds,
)
from consilience.graph.admg import (
    ADMG as ADMG,
)
