"""Pictures of what is missing (extra ``plot``): by source and column, and together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from consilience import _check
from consilience._typing import Bools, Floats
from consilience.data.distinct import rows_alike
from consilience.data.table import Table
from consilience.errors import InputError
from consilience.show.picture import COLORS, shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

__all__ = ["patterns_of", "plot_gaps", "short_percent"]

NAME_LENGTH = 22
MOST_SOURCES = 30
WRITTEN = 24  # columns up to which the shares stand in the cells as numbers
FEW = 10  # rows that are called unlike each other, at least
HEAD: Final[dict[str, Any]] = {"fontsize": 9}
GAP, KNOWN = COLORS["source"], COLORS["bar ground"]


def plot_gaps(table: Table, *, n_patterns: int = 12) -> NDArray[Any]:
    """Above, the share missing in each source and column; below, what is missing together.

    A line of the lower picture is a pattern: the columns that are missing (orange) in so many rows
    at once, the most frequent pattern first. Of many sources those that lack most are shown. With
    many columns colors stand for the numbers above.

    Parameters
    ----------
    table
        The rows; they count by their weight.
    n_patterns
        How many patterns to show; the last line says what the others add up to.
    """
    pyplot = _check.extra("matplotlib.pyplot", "plot", "plot")
    _check.whole("plot", at_least=1, n_patterns=n_patterns)
    if not table.variables or table.n_rows == 0:
        raise InputError("plot: a table needs rows and columns.", parameter="table")
    names = list(table.variables)
    patterns, shares = patterns_of(table)
    n_shown = min(n_patterns, len(shares))
    sources = list(table.missing)
    n_lines = min(len(sources), MOST_SOURCES + 1)
    height = 2.0 + 0.26 * (n_lines + n_shown)
    figure, (above, below) = pyplot.subplots(
        2,
        1,
        figsize=(max(5.0, 2.4 + 0.42 * len(names)), height),
        height_ratios=[n_lines + 1, n_shown + 1],
        layout="constrained",
        sharex=True,
    )
    _draw_shares(above, table, names, sources)
    _draw_patterns(below, patterns[:n_shown], shares)
    if _are_rows_unlike(patterns, shares, float(table.total_weight)):
        title = below.get_title("left")
        below.set_title(
            f"{title}\nmost rows with gaps have a pattern of their own", loc="left", **HEAD
        )
    if len(names) > WRITTEN:
        bar = figure.colorbar(
            above.images[0], ax=[above, below], fraction=0.03, pad=0.01, format="{x:.0%}"
        )
        bar.set_label("share missing", fontsize=8)
        bar.ax.tick_params(labelsize=8)
        bar.outline.set_visible(False)
    below.set_xticks(range(len(names)), [_label(name) for name in names], rotation=60, fontsize=8)
    for text in below.get_xticklabels():
        text.set_ha("right")
        text.set_rotation_mode("anchor")
    return np.array([above, below])


def patterns_of(table: Table) -> tuple[Bools, Floats]:
    """Which columns are missing in each pattern, and its share of the rows, largest first."""
    gaps = np.stack([_is_missing(table, name) for name in table.variables], axis=1)
    first, ranks = rows_alike(((column.astype(np.int8), 2) for column in gaps.T), len(gaps))
    weights = None if table.weights is None else table.weights.astype(float)
    shares = np.bincount(ranks, weights, minlength=len(first)).astype(float)
    order = np.argsort(-shares, kind="stable")
    return gaps[first][order], shares[order] / max(shares.sum(), 1e-300)


def _are_rows_unlike(patterns: Bools, shares: Floats, n_rows: float) -> bool:
    """Whether most rows with gaps are the only ones with their pattern."""
    has_gaps = patterns.any(axis=1)
    weights = shares[has_gaps] * n_rows
    is_alone = weights < 1.5
    return int(is_alone.sum()) >= FEW and weights[is_alone].sum() > 0.5 * weights.sum()


def _is_missing(table: Table, name: str) -> Bools:
    column = table.columns[name]
    return np.isnan(column) if table.variables[name].is_continuous else column < 0


def _draw_shares(ax: Axes, table: Table, names: list[str], sources: list[str]) -> None:
    missing = table.missing
    shares = np.array([[missing[source][name] for name in names] for source in sources])
    if len(sources) > MOST_SOURCES:
        order = np.argsort(-shares.mean(axis=1), kind="stable")
        shares, sources = shares[order], [sources[i] for i in order]
    labels = [_label(source) for source in sources]
    if len(sources) > MOST_SOURCES:
        rest = shares[MOST_SOURCES:].mean(axis=0, keepdims=True)
        shares = np.concatenate([shares[:MOST_SOURCES], rest])
        labels = [*labels[:MOST_SOURCES], f"mean of {len(sources) - MOST_SOURCES} more"]
    ax.imshow(shares, cmap="Oranges", vmin=0, vmax=1, aspect="auto")
    ax.set_yticks(range(len(labels)), labels, fontsize=8)
    title = "share missing, in percent" if len(names) <= WRITTEN else "share missing"
    title += "; sources that lack most first" if len(sources) > MOST_SOURCES else ""
    ax.set_title(title if shares.any() else "nothing is missing", loc="left", **HEAD)
    if len(names) <= WRITTEN:
        for (row, column), share in np.ndenumerate(shares):
            ink = "white" if share > 0.6 else COLORS["ink"]
            ax.text(
                column, row, short_percent(share), ha="center", va="center", fontsize=7, color=ink
            )
    _grid(ax, shares.shape)


def _draw_patterns(ax: Axes, patterns: Bools, shares: Floats) -> None:
    from matplotlib.colors import ListedColormap

    n = len(patterns)
    ax.imshow(patterns, cmap=ListedColormap([KNOWN, GAP]), vmin=0, vmax=1, aspect="auto")
    labels = [_percent(share) for share in shares[:n]]
    complete = np.logical_not(patterns.any(axis=1))
    labels = [f"complete  {t}" if c else t for t, c in zip(labels, complete, strict=True)]
    ax.set_yticks(range(n), labels, fontsize=8)
    n_others = len(shares) - n
    word = "other" if n_others == 1 else "others"
    others = f"; {n_others:,} {word}: {_percent(shares[n:].sum())}" if n_others else ""
    ax.set_title(f"patterns of gaps by share of rows{others}", loc="left", **HEAD)
    _grid(ax, patterns.shape)


def _grid(ax: Axes, shape: tuple[int, ...]) -> None:
    """White lines between the cells, nothing else."""
    ax.set_xticks(np.arange(shape[1] + 1) - 0.5, minor=True)
    ax.set_yticks(np.arange(shape[0] + 1) - 0.5, minor=True)
    ax.grid(which="minor", color="white", linewidth=1.2)
    ax.tick_params(which="both", length=0)
    ax.spines[:].set_visible(False)


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def short_percent(share: float) -> str:
    """A share in percent; 0 is left blank, and nothing less is called 100."""
    if share in (0.0, 1.0):
        return "100" if share else ""
    return "<1" if share < 0.005 else ">99" if share > 0.995 else f"{100 * share:.0f}"


def _label(name: str) -> str:
    return shortened(name, NAME_LENGTH).replace("$", r"\$")
