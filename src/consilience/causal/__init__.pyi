"""The public names of causal questions and their homes."""

from consilience.causal.estimand import (
    Estimand as Estimand,
    identify as identify,
)
from consilience.graph.admg import (
    ADMG as ADMG,
)
