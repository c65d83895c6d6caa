from consilience.statistics.engines.cached import (
    Cached as Cached,
)
from consilience.statistics.engines.dask_runner import (
    Dask as Dask,
)
from consilience.statistics.engines.processes import (
    Processes as Processes,
)
from consilience.statistics.engines.runners import (
    Threads as Threads,
)
from consilience.statistics.engines.scans import (
    Scan as Scan,
)
from consilience.statistics.engines.spark_runner import (
    Spark as Spark,
)
from consilience.statistics.engines.sql_table import (
    SqlTable as SqlTable,
    sql as sql,
)
from consilience.statistics.engines.store_files import (
    is_store as is_store,
)
