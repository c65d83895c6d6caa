from consilience.structure.independence.completed import (
    Completed as Completed,
)
from consilience.structure.independence.contingency import (
    GSquare as GSquare,
    PearsonX2 as PearsonX2,
    ShrunkInformation as ShrunkInformation,
)
from consilience.structure.independence.correlation import (
    ExactT as ExactT,
    FisherZ as FisherZ,
)
from consilience.structure.independence.default_tests import (
    usual_test as usual_test,
)
from consilience.structure.independence.false_discovery import (
    BenjaminiHochberg as BenjaminiHochberg,
)
from consilience.structure.independence.likelihood_ratio import (
    LikelihoodRatio as LikelihoodRatio,
)
from consilience.structure.independence.random_tables import (
    Permutation as Permutation,
)
from consilience.structure.independence.several_sources import (
    Combined as Combined,
    Stratified as Stratified,
)
from consilience.structure.independence.statements import (
    Verdict as Verdict,
)
from consilience.structure.independence.testing import (
    test as test,
    tests as tests,
)
