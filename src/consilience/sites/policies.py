"""The noun :class:`Policy`: what a site lets out, in a file that the site owns."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from consilience import _check, _freeze, _write
from consilience.errors import FormatError, InputError, MissingFileError
from consilience.sites.message import KINDS, MODES, canonical, digest

__all__ = ["Policy"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """What may be asked of a site, by whom, and how the answer leaves.

    Every limit is checked at the site, before a row is read. What each mode protects against, and
    what not, stands in ``docs/sites.md``.

    Parameters
    ----------
    mode
        ``"secure"``: counts leave under masks that cancel in the sum over all sites, so the
        coordinator sees totals and nobody sees the site's own counts. ``"intervals"``: the site's
        own counts, cells from 1 to ``least_cell - 1`` as ranges that all answers ever given
        together do not narrow. ``"exact"``: the site's own counts as they are, and in the other
        modes.
    variables
        The variables that may be asked for; None for all of them.
    kinds
        What may be asked for.
    max_parents
        Most parents of a family: a table is over one variable more. None for no limit.
    max_cells, max_families
        Most cells and families in one request.
    least_rows
        A site with fewer rows answers nothing.
    least_cell
        The smallest count that is shown in mode ``"intervals"``: 5, or 11.
    least_sites
        Fewest sites of a study in mode ``"secure"``; with two, each could subtract itself.
    budget, max_rounds
        Families and rounds that one study may ask for in all.
    studies
        The studies that the site takes part in. None for the first one that asks, and no other.
    askers
        Who may ask: names in the certificates of coordinators. None for all whose certificate is
        signed by the authority that the site trusts.
    peers
        Public keys of the other sites by name, for studies in mode ``"secure"``: a coordinator
        that invents sites or swaps their keys is found out. None trusts the coordinator in this.

    Examples
    --------
    >>> Policy(mode="intervals", least_cell=11).allows("secure")
    False
    """

    mode: str = "secure"
    variables: tuple[str, ...] | None = None
    kinds: tuple[str, ...] = KINDS
    max_parents: int | None = None
    max_cells: int = 10_000_000
    max_families: int = 20_000
    least_rows: int = 10
    least_cell: int = 5
    least_sites: int = 3
    budget: int = 200_000
    max_rounds: int = 2_000
    studies: tuple[str, ...] | None = None
    askers: tuple[str, ...] | None = None
    peers: Mapping[str, str] | None = field(default=None)

    def __post_init__(self) -> None:
        _freeze.own(self)
        if self.mode not in MODES:
            raise InputError(
                f"Policy: mode must be one of {_check.listed(MODES)}, got {self.mode!r}.",
                parameter="mode",
            )
        for name in ("variables", "kinds", "studies", "askers"):
            self._own_names(name)
        _check.known("kind of request", self.kinds, KINDS)
        limits = {name: getattr(self, name) for name in LIMITS}
        _check.whole("Policy", at_least=1, **limits)
        if self.max_parents is not None:
            _check.whole("Policy", at_least=0, max_parents=self.max_parents)
        _check.whole("Policy", at_least=2, least_cell=self.least_cell)

    def _own_names(self, name: str) -> None:
        value = getattr(self, name)
        if value is None:
            return
        _check.names("Policy", **{name: value})
        if not isinstance(value, Iterable) or not all(isinstance(one, str) for one in value):
            raise InputError(
                f"Policy: {name} must be a list of names, got {value!r}.", parameter=name
            )
        object.__setattr__(self, name, tuple(value))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Policy:
        """The policy of a TOML file; a field that no policy has is an error."""
        try:
            content = tomllib.loads(Path(path).read_text(encoding="utf-8"))
        except FileNotFoundError as problem:
            raise MissingFileError(f"there is no file {str(path)!r}.", file=str(path)) from problem
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as problem:
            raise FormatError(f"{path}: {problem}", file=str(path)) from problem
        _check.known(f"field of the policy {str(path)!r}", content, [f.name for f in fields(cls)])
        return cls(**content)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the policy as TOML; what is None is left out."""
        peers = self.peers or {}
        lines = [
            f"{name} = {_toml(value)}"
            for name, value in self.content().items()
            if value is not None and name != "peers"
        ]
        table = ["", "[peers]", *(f"{_toml(k)} = {_toml(v)}" for k, v in peers.items())]
        _write.write_text("\n".join([*lines, *(table if peers else []), ""]), path)

    def content(self) -> dict[str, Any]:
        """All fields as JSON."""
        found = {f.name: getattr(self, f.name) for f in fields(self)}
        return {k: dict(v) if isinstance(v, Mapping) else v for k, v in found.items()}

    @property
    def hash(self) -> str:
        """What every reply names: two policies with the same hash say the same."""
        return digest(canonical(self.content()))

    def allows(self, mode: str) -> bool:
        """Whether counts may leave in this mode; exact ones may leave masked and in ranges too."""
        return self.mode in (mode, "exact")

    @property
    def modes(self) -> tuple[str, ...]:
        """The modes in which counts may leave."""
        return tuple(mode for mode in MODES if self.allows(mode))


LIMITS = (
    "max_cells",
    "max_families",
    "least_rows",
    "least_cell",
    "least_sites",
    "budget",
    "max_rounds",
)


def _toml(value: Any) -> str:
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"')
        return f'"{escaped}"'
    if isinstance(value, tuple):
        return f"[{', '.join(map(_toml, value))}]"
    return str(value)
