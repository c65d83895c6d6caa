from consilience.data.discretize import (
    MDLP as MDLP,
    Cuts as Cuts,
    EqualWidth as EqualWidth,
    Quantiles as Quantiles,
)
