from consilience.inference.choices import (
    Exact as Exact,
)
from consilience.inference.explanations import (
    Explanation as Explanation,
)
