from consilience.parameters.chain import (
    HDC as HDC,
)
from consilience.parameters.dirichlet import (
    Dirichlet as Dirichlet,
)
from consilience.parameters.hierarchical import (
    HDMCS as HDMCS,
    HDMJS as HDMJS,
    HDS as HDS,
)
from consilience.parameters.hierarchical_gaussian import (
    HierarchicalGaussian as HierarchicalGaussian,
)
from consilience.parameters.known_numbers import (
    Known as Known,
)
from consilience.parameters.logistic import (
    HierarchicalLogistic as HierarchicalLogistic,
    LogisticRegression as LogisticRegression,
)
from consilience.parameters.maximum_likelihood import (
    MLE as MLE,
)
from consilience.parameters.normal_inverse_gamma import (
    NormalInverseGamma as NormalInverseGamma,
)
from consilience.parameters.pooling import (
    Adaptive as Adaptive,
    Pooled as Pooled,
    Separate as Separate,
)
from consilience.parameters.shrinkage import (
    Shrinkage as Shrinkage,
)
from consilience.parameters.strength import (
    Gamma as Gamma,
    PerState as PerState,
)
from consilience.parameters.tied_variances import (
    TiedVariances as TiedVariances,
)
from consilience.parameters.uncertainty import (
    parameter_intervals as parameter_intervals,
)
