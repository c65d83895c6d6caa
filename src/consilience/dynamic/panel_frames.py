"""Panels, and what is believed about their rows, as pandas frames."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from consilience.dynamic.panel import Panel

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["panel_frame", "row_keys"]


def panel_frame(panel: Panel) -> pd.DataFrame:
    """The rows as a frame: sequence and time first, then source, variables and weight."""
    frame = panel.rows.to_frame()
    for place, (name, values) in enumerate(row_keys(panel).items()):
        frame.insert(place, name, values)
    return frame


def row_keys(panel: Panel) -> dict[str, npt.NDArray[Any]]:
    """The columns of sequence and time of every row, by the names that they had or get."""
    taken = {*panel.rows.variables, panel.rows.source}
    sequence = panel.sequence or _free("sequence", taken)
    time = panel.time or _free("time", taken | {sequence})
    names = np.array(panel.sequences, dtype=object)
    return {sequence: names[panel.sequence_codes], time: panel.times}


def _free(name: str, taken: set[str | None]) -> str:
    while name in taken:
        name += "_"
    return name
