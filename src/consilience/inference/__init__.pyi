from consilience.inference.explanations import (
    Explanation as Explanation,
)
from consilience.inference.ways import (
    Exact as Exact,
)
