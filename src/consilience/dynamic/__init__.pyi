from consilience.dynamic.beliefs_in_time import (
    Beliefs as Beliefs,
)
from consilience.dynamic.chain_states import (
    ChainStates as ChainStates,
    hidden_states as hidden_states,
)
from consilience.dynamic.change_choices import (
    ChangePoints as ChangePoints,
    SegmentPrior as SegmentPrior,
)
from consilience.dynamic.change_point_beliefs import (
    ChangeBeliefs as ChangeBeliefs,
    Changes as Changes,
    Segment as Segment,
    change_points as change_points,
)
from consilience.dynamic.collapse_choice import (
    Collapse as Collapse,
)
from consilience.dynamic.conversions import (
    HMM as HMM,
    from_hmm as from_hmm,
    from_var as from_var,
    to_hmm as to_hmm,
    to_var as to_var,
)
from consilience.dynamic.dynamic_fit import (
    em as em,
    fit as fit,
)
from consilience.dynamic.dynamic_network import (
    DynamicNetwork as DynamicNetwork,
)
from consilience.dynamic.first_choices import (
    Conditional as Conditional,
    Diffuse as Diffuse,
    Estimated as Estimated,
    Stationary as Stationary,
)
from consilience.dynamic.forecasting import (
    Forecast as Forecast,
)
from consilience.dynamic.graph_search import (
    OrderChoice as OrderChoice,
    choose_order as choose_order,
    learn as learn,
    score as score,
    search as search,
)
from consilience.dynamic.graphs_in_time import (
    hidden_markov as hidden_markov,
    vector_autoregression as vector_autoregression,
)
from consilience.dynamic.influence_in_time import (
    InfluenceInTime as InfluenceInTime,
    RoundOfInfluence as RoundOfInfluence,
    influence as influence,
)
from consilience.dynamic.most_probable_paths import (
    Path as Path,
)
from consilience.dynamic.panel import (
    Panel as Panel,
)
from consilience.dynamic.panel_reading import (
    FillSteps as FillSteps,
    SplitSequences as SplitSequences,
    read_panel as read_panel,
)
from consilience.dynamic.state_space import (
    StateSpace as StateSpace,
    from_state_space as from_state_space,
    to_state_space as to_state_space,
)
from consilience.dynamic.var_matrices import (
    VAR as VAR,
)
from consilience.parameters.known_numbers import (
    Known as Known,
)
