from consilience._quote import (
    name_before as name_before,
    parts_between as parts_between,
    quoted as quoted,
    split_names as split_names,
)
from consilience.data.discretize import (
    MDLP as MDLP,
    Cuts as Cuts,
    EqualWidth as EqualWidth,
    Quantiles as Quantiles,
)
from consilience.data.extents import (
    files_of as files_of,
)
from consilience.data.known import (
    read_known as read_known,
)
from consilience.data.packed import (
    check_file as check_file,
    check_rows_path as check_rows_path,
)
from consilience.data.paths import (
    column_names as column_names,
)
from consilience.data.spelling import (
    misspelt as misspelt,
)
from consilience.data.variable import (
    NEW_SOURCE as NEW_SOURCE,
)
from consilience.data.write import (
    write_csv as write_csv,
    write_rows as write_rows,
    write_tables as write_tables,
)
