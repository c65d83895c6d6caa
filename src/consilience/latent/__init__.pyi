from consilience.incomplete.canonical import (
    canonical as canonical,
)
from consilience.latent.agreement import (
    label_agreement as label_agreement,
)
from consilience.latent.influence import (
    influence_network as influence_network,
)
from consilience.latent.influence_record import (
    Influence as Influence,
)
from consilience.latent.moves import (
    AfterMove as AfterMove,
    AfterSearch as AfterSearch,
)
from consilience.latent.number_of_states import (
    HiddenStates as HiddenStates,
)
from consilience.latent.soft_labels import (
    HardCompletion as HardCompletion,
    SoftCompletion as SoftCompletion,
)
