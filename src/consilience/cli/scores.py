"""The scores of graphs by their names on the command line."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

if TYPE_CHECKING:
    from consilience.structure.scores.score import Score

__all__ = ["has_ess", "score_of", "score_option"]

Command = TypeVar("Command", bound=Callable[..., Any])

SCORES: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    "log-likelihood": ("LogLikelihood", ()),
    "aic": ("AIC", ()),
    "bic": ("BIC", ()),
    "ebic": ("EBIC", ("n_variables",)),
    "k2": ("K2", ()),
    "bdeu": ("BDeu", ("ess",)),
    "bds": ("BDs", ("ess",)),
    "bdj": ("BDJ", ()),
    "fnml": ("FNML", ()),
    "qnml": ("QNML", ()),
    "nal": ("NAL", ()),
    "pnal": ("PNAL", ()),
    "held-out": ("HeldOut", ("ess",)),
    "cross-validated": ("CrossValidated", ("ess",)),
    "bhd": ("BHD", ("ess",)),
    "bge": ("BGe", ()),
}
"""The public name of each choice, and which of its parameters come from outside."""

WITH_SOURCES: Final[Mapping[str, str]] = {"per-source:": "PerSource", "by-source:": "BySource"}
"""What may stand before the name of a score, and the public name of that choice."""


def score_option(words: str, *, multiple: bool = False) -> Callable[[Command], Command]:
    """The option ``--score``, checked before any work is done for it."""
    return click.option(
        "--score",
        metavar="NAME",
        multiple=multiple,
        callback=_checked,
        help=f"{words}: {', '.join(SCORES)}. With per-source: before its name a score is summed "
        "over the sources; with by-source: before aic, bic or ebic each family may depend on the "
        "source or not, whichever is better.",
    )


def has_ess(name: str | None) -> bool:
    """Whether the score of that name has a prior whose size can be chosen."""
    inner = "" if name is None else _split(name)[1]
    return inner in SCORES and "ess" in SCORES[inner][1]


def score_of(name: str, ess: float | None, *, n_variables: int) -> Score:
    """The score of that name, for a graph of so many variables."""
    import consilience as cs

    outer, inner = _split(name)
    if ess is not None and not has_ess(inner):
        known = [each for each in SCORES if has_ess(each)]
        raise click.UsageError(f"--ess goes with --score {', '.join(known)}.")
    choice, takes = SCORES[inner]
    given: dict[str, Any] = {"ess": ess, "n_variables": n_variables}
    values = {each: given[each] for each in takes if given[each] is not None}
    score: Score = getattr(cs.scores, choice)(**values)
    return getattr(cs.scores, WITH_SOURCES[outer])(score) if outer else score


def _split(name: str) -> tuple[str, str]:
    """What stands before the name of a score, if anything, and the name."""
    outer = next((one for one in WITH_SOURCES if name.startswith(one)), "")
    return outer, name.removeprefix(outer)


def _checked(_context: Any, _option: Any, value: str | tuple[str, ...] | None) -> Any:
    names = value if isinstance(value, tuple) else () if value is None else (value,)
    for name in names:
        if _split(name)[1] not in SCORES:
            raise click.BadParameter(f"{name!r} is not one of {', '.join(SCORES)}.")
    return value
