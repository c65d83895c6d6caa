from consilience.fusion.choosing import (
    KeepEvery as KeepEvery,
    RowByRow as RowByRow,
    StrongestFirst as StrongestFirst,
)
from consilience.fusion.coefficient_pooling import (
    InverseVariance as InverseVariance,
    PrecisionMatrices as PrecisionMatrices,
)
from consilience.fusion.fusion_record import (
    Fusion as Fusion,
)
from consilience.fusion.heterogeneity import (
    Heterogeneity as Heterogeneity,
)
from consilience.fusion.parameters import (
    Merged as Merged,
)
from consilience.fusion.pools import (
    DemocraticPool as DemocraticPool,
    LinearPool as LinearPool,
    LogarithmicPool as LogarithmicPool,
)
from consilience.fusion.source_clusters import (
    Clusters as Clusters,
    clusters as clusters,
)
from consilience.fusion.source_weights import (
    EqualWeights as EqualWeights,
    HeldOutWeights as HeldOutWeights,
    RowWeights as RowWeights,
    StrengthWeights as StrengthWeights,
)
from consilience.fusion.thresholds import (
    BestScore as BestScore,
    Majority as Majority,
)
from consilience.fusion.united_tables import (
    by_source as by_source,
)
from consilience.fusion.votes import (
    ArcVotes as ArcVotes,
    ClassVotes as ClassVotes,
    Votes as Votes,
)
from consilience.graph.independence_models import (
    CombinedIndependences as CombinedIndependences,
    common_independences as common_independences,
    united_independences as united_independences,
)
from consilience.incomplete.rubin import (
    PooledAnswer as PooledAnswer,
    pool_answers as pool_answers,
    pool_queries as pool_queries,
)
