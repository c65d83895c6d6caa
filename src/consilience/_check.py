"""Checks at the door. Each produces one message in one form, with the culprit as an attribute."""

from __future__ import annotations

import difflib
import importlib
import json
import math
import numbers
from collections.abc import Collection, Iterable, Mapping, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any, NoReturn

from consilience.errors import InputError, MemoryLimitError, MissingExtraError, UnknownNameError

if TYPE_CHECKING:
    import numpy as np

    from consilience._typing import Seed

__all__ = [
    "LEAST",
    "MOST",
    "argument",
    "bytes_text",
    "extra",
    "finite",
    "generator",
    "known",
    "listed",
    "meant",
    "memory",
    "names",
    "non_negative",
    "positive",
    "share",
    "unknown",
    "whole",
    "within",
]

SHOWN = 12
LEAST, MOST = 1e-100, 1e100  # what a positive number of a prior or posterior may be


def positive(owner: str, **values: float) -> None:
    """Refuse a parameter that is not a finite number above zero."""
    for name, value in values.items():
        if not (_is_number(value) and math.isfinite(value) and value > 0):
            raise InputError(f"{owner}: {name} must be positive, got {value!r}.", parameter=name)


def finite(owner: str, **values: float) -> None:
    """Refuse a parameter that is not a finite number."""
    for name, value in values.items():
        if not (_is_number(value) and math.isfinite(value)):
            raise InputError(f"{owner}: {name} must be a number, got {value!r}.", parameter=name)


def non_negative(owner: str, **values: float) -> None:
    """Refuse a parameter that is not a finite number of at least zero."""
    for name, value in values.items():
        if not (_is_number(value) and math.isfinite(value) and value >= 0):
            raise InputError(
                f"{owner}: {name} must be zero or more, got {value!r}.", parameter=name
            )


def share(owner: str, **values: float) -> None:
    """Refuse a parameter that is not a number between 0 and 1, both left out."""
    for name, value in values.items():
        if not (_is_number(value) and 0 < value < 1):
            raise InputError(
                f"{owner}: {name} must lie between 0 and 1, got {value!r}.", parameter=name
            )


def within(owner: str, least: float = LEAST, most: float = MOST, **values: float) -> None:
    """Refuse a parameter that is not a positive number of this range."""
    positive(owner, **values)
    for name, value in values.items():
        if not least <= value <= most:
            raise InputError(
                f"{owner}: {name} must lie between {least:g} and {most:g}, got {value!r}.",
                parameter=name,
            )


def whole(owner: str, *, at_least: int, **values: int) -> None:
    """Refuse a parameter that is not a whole number of at least ``at_least``."""
    for name, value in values.items():
        given: Any = value
        is_whole = isinstance(given, numbers.Integral) and not isinstance(given, bool)
        if not (is_whole and value >= at_least):
            raise InputError(
                f"{owner}: {name} must be a whole number of at least {at_least}, got {value!r}.",
                parameter=name,
            )


def known(kind: str, names: Iterable[str], among: Collection[str]) -> None:
    """Refuse the first name that is not among those that exist."""
    for name in names:
        if name not in among:
            unknown(kind, name, among)


def names(owner: str, **lists: Iterable[str]) -> None:
    """Refuse one text where a list of names is wanted: its letters would be taken for names."""
    for name, given in lists.items():
        if isinstance(given, str):
            raise InputError(
                f"{owner}: {name} must be a list of names, got the text {given!r}.", parameter=name
            )


def unknown(kind: str, name: object, among: Iterable[str], advice: str = "") -> NoReturn:
    """Raise the error for a name that does not exist, with near misses first."""
    existing = list(among)
    known = f"{meant(name, existing)}Known: {listed(existing)}."
    raise UnknownNameError(
        f"unknown {kind} {name!r}. {known}{' ' * bool(advice)}{advice}", kind=kind, name=name
    )


def meant(name: object, among: Iterable[str]) -> str:
    """The question whether a near miss was meant, with a space after it; nothing without one.

    >>> meant("atipical", ["atypical", "typical"]), meant("HIGH", ["low", "high"])
    ("Did you mean 'atypical', 'typical'? ", "Did you mean 'high'? ")
    """
    letters = {each: each.casefold() for each in among}
    wanted = str(name).casefold()
    near = [each for each, folded in letters.items() if folded == wanted]
    close = difflib.get_close_matches(wanted, [*dict.fromkeys(letters.values())], n=3)
    near = near or [each for one in close for each, folded in letters.items() if folded == one]
    return f"Did you mean {listed(near)}? " if near else ""


def memory(what: str, needed: float, limit: float, advice: str) -> None:
    """Refuse before allocating more bytes than the limit."""
    if not needed <= limit:  # a limit that is no number limits as well
        raise MemoryLimitError(
            f"{what} would need {bytes_text(needed)}; the limit is {bytes_text(limit)}. {advice}",
            what=what,
            needed=needed,
            limit=limit,
        )


def generator(seed: Seed) -> np.random.Generator:
    """A NumPy generator from an int, a generator (used as it is) or None (fresh entropy)."""
    import numpy as np

    is_seed = seed is None or isinstance(seed, np.random.Generator)
    if not is_seed:
        whole("seed", at_least=0, seed=seed)  # type: ignore[arg-type]
    return np.random.default_rng(seed)


def extra(module: str, extra: str, purpose: str) -> ModuleType:
    """Import an optional dependency or say how to install it."""
    try:
        return importlib.import_module(module)
    except ImportError as problem:
        raise MissingExtraError(
            f"{purpose} needs {module.split('.')[0]!r}, which is not installed. "
            f"Install it with: pip install 'consilience[{extra}]'",
            extra=extra,
        ) from problem


def argument(name: str, value: Sequence[str] | Mapping[str, object]) -> str:
    """An argument as one writes it, in Python and, translated, on the command line.

    >>> argument("drop", ["patient"])
    'drop=["patient"]'
    """
    return f"{name}={json.dumps(value, ensure_ascii=False)}"


def listed(names: Iterable[Any]) -> str:
    """Names in quotes, cut after a dozen: ``'a', 'b' and 30 more``."""
    quoted = [repr(str(name)) for name in names]
    if len(quoted) > SHOWN:
        return f"{', '.join(quoted[:SHOWN])} and {len(quoted) - SHOWN} more"
    return ", ".join(quoted) if quoted else "none"


def bytes_text(n_bytes: float) -> str:
    """A number of bytes for people: ``4.1 GiB``."""
    for unit in ("bytes", "KiB", "MiB", "GiB", "TiB"):
        if n_bytes < 1024 or unit == "TiB":
            return f"{n_bytes:.0f} {unit}" if unit == "bytes" else f"{n_bytes:.3g} {unit}"
        n_bytes /= 1024
    raise AssertionError("unreachable")


def _is_number(value: object) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool)
