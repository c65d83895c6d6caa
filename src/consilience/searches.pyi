from consilience.graph.arc_comparison import (
    GraphComparison as GraphComparison,
)
from consilience.graph.distance import (
    shd_dags as shd_dags,
)
from consilience.structure.searches.a_star import (
    AStar as AStar,
)
from consilience.structure.searches.annealing import (
    SimulatedAnnealing as SimulatedAnnealing,
)
from consilience.structure.searches.best_first import (
    BestFirst as BestFirst,
)
from consilience.structure.searches.blankets import (
    IAMB as IAMB,
    GrowShrink as GrowShrink,
    InterIAMB as InterIAMB,
)
from consilience.structure.searches.chow_liu import (
    ChowLiu as ChowLiu,
)
from consilience.structure.searches.constraint_record import (
    ConstraintRecord as ConstraintRecord,
)
from consilience.structure.searches.exact import (
    Exact as Exact,
)
from consilience.structure.searches.ges import (
    GES as GES,
)
from consilience.structure.searches.hill_climb import (
    HillClimb as HillClimb,
)
from consilience.structure.searches.hybrid import (
    MMHC as MMHC,
    Hybrid as Hybrid,
)
from consilience.structure.searches.k2_search import (
    K2Search as K2Search,
)
from consilience.structure.searches.max_min import (
    MMPC as MMPC,
)
from consilience.structure.searches.order_search import (
    OrderSearch as OrderSearch,
)
from consilience.structure.searches.pc import (
    PC as PC,
)
from consilience.structure.searches.starts import (
    RandomStart as RandomStart,
    TreeStart as TreeStart,
)
from consilience.structure.searches.sweep import (
    Sweep as Sweep,
)
from consilience.structure.searches.tan_search import (
    TANSearch as TANSearch,
)
from consilience.structure.searches.task import (
    SearchResult as SearchResult,
)
from consilience.structure.tan import (
    tree_notes as tree_notes,
)
