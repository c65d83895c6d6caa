from consilience.answers.findings import (
    BeliefShift as BeliefShift,
    Conflict as Conflict,
)
from consilience.answers.next_questions import (
    InformationValue as InformationValue,
    Question as Question,
)
from consilience.answers.row_distances import (
    ArcStrengths as ArcStrengths,
    arc_strengths as arc_strengths,
)
from consilience.inference.event_beliefs import (
    Estimate as Estimate,
)
from consilience.inference.explanations import (
    Explanation as Explanation,
)
from consilience.inference.ways import (
    Exact as Exact,
)
