"""The public names of this namespace and their homes; :mod:`consilience._lazy` reads them."""

from consilience._write import (
    SEPARATORS as SEPARATORS,
    check_target as check_target,
    write_text as write_text,
    written as written,
)
from consilience.files.extensions import (
    check_model_path as check_model_path,
    is_model_path as is_model_path,
)
from consilience.files.networkx import (
    from_networkx as from_networkx,
    to_networkx as to_networkx,
)
from consilience.files.pgmpy import (
    from_pgmpy as from_pgmpy,
    to_pgmpy as to_pgmpy,
)
from consilience.files.pyagrum import (
    from_pyagrum as from_pyagrum,
    to_pyagrum as to_pyagrum,
)
