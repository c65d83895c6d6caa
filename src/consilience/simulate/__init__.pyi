from consilience.graph.random import (
    uniform_dag as uniform_dag,
)
from consilience.simulate.divergence import (
    diverge as diverge,
    realized_divergence as realized_divergence,
)
from consilience.simulate.hardness import (
    Difficulty as Difficulty,
    difficulty as difficulty,
)
from consilience.simulate.missingness import (
    MAR as MAR,
    MCAR as MCAR,
    MNAR as MNAR,
    missingness_network as missingness_network,
    with_gaps as with_gaps,
)
from consilience.simulate.permutation import (
    Relabeling as Relabeling,
    permute_states as permute_states,
)
from consilience.simulate.smooth_divergence import (
    Calibration as Calibration,
    diverge_calibrated as diverge_calibrated,
)
from consilience.simulate.stratified import (
    stratified_order as stratified_order,
    stratified_subsample as stratified_subsample,
)
