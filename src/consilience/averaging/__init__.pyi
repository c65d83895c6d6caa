from consilience.averaging.arc_beliefs import (
    ArcBelief as ArcBelief,
    ArcBeliefs as ArcBeliefs,
)
from consilience.averaging.graph_belief import (
    GraphBelief as GraphBelief,
    WeightedGraph as WeightedGraph,
)
from consilience.averaging.graph_chains import (
    GraphChains as GraphChains,
)
from consilience.averaging.lattice_sums import (
    OrderModular as OrderModular,
    UniformGraphs as UniformGraphs,
)
from consilience.averaging.order_mcmc import (
    OrderMCMC as OrderMCMC,
)
from consilience.averaging.partition_mcmc import (
    PartitionMCMC as PartitionMCMC,
)
from consilience.averaging.replicates import (
    Bootstrap as Bootstrap,
    data_driven_threshold as data_driven_threshold,
)
from consilience.averaging.source_multinets import (
    Difference as Difference,
    Multinets as Multinets,
    multinets as multinets,
)
from consilience.averaging.subsets import (
    Subsets as Subsets,
)
