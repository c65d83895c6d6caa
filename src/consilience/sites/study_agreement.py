"""What all sites of a study have agreed on: who takes part, about which variables, and how."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from consilience.data.variable import Schema, Variable
from consilience.files.objects import Content
from consilience.sites.message import MODES, canonical, digest, variables_from, variables_to
from consilience.statistics.counts import FIXED_POINT

__all__ = ["Agreement"]


@dataclass(frozen=True)
class Agreement:
    """The ground of a study; it never changes, and another one is another study.

    Parameters
    ----------
    study
        Its name.
    sites
        The name and the public key of each site; keys are empty where nothing is masked.
    variables
        The variables, with the states that all sites together have.
    mode
        How counts leave: ``secure``, ``intervals`` or ``exact``.
    scale
        What one row counts: 1, or a larger number if some site has fractional weights.
    """

    study: str
    sites: tuple[tuple[str, str], ...]
    variables: Mapping[str, Variable]
    mode: str
    scale: int = 1

    @cached_property
    def site_set(self) -> str:
        """The hash of study, sites and mode."""
        return digest(canonical([self.study, self.mode, [list(one) for one in self.sites]]))

    @cached_property
    def schema_hash(self) -> str:
        """The hash of the variables."""
        return digest(canonical([variables_to(self.variables), self.scale]))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the sites."""
        return tuple(name for name, _ in self.sites)

    def shape(self, names: tuple[str, ...]) -> tuple[int, ...]:
        """The numbers of states of some variables."""
        return tuple(self.variables[name].n_states for name in names)

    def schema(self, source: str | None) -> Schema:
        """The variables, and the sites as the source if it has a name."""
        return Schema(self.variables, None if source is None else Variable(source, self.names))

    def to_content(self) -> dict[str, Any]:
        """As JSON; the name of the study stands in the request."""
        return {
            "sites": [list(one) for one in self.sites],
            "variables": variables_to(self.variables),
            "mode": self.mode,
            "scale": self.scale,
        }

    @classmethod
    def from_content(cls, study: str, content: Mapping[str, Any]) -> Agreement:
        """From JSON, refused with a :class:`FormatError` if it is none."""
        read = Content.of(dict(content), "message", "study")
        sites = read.take("sites", list)
        for one in sites:
            is_pair = isinstance(one, list) and len(one) == 2
            if not is_pair or not all(isinstance(text, str) for text in one) or not one[0]:
                raise read.fault("'sites' must list the name and the key of each")
        names, keys = [name for name, _ in sites], [key for _, key in sites]
        mode, scale = read.take("mode", str), read.take("scale", int)
        if len(set(names)) < len(names) or (any(keys) and len(set(keys)) < len(keys)):
            raise read.fault("a site stands twice")
        if mode not in MODES or scale not in (1, FIXED_POINT):
            raise read.fault("'mode' or 'scale' is not one that is known")
        variables = variables_from(read, "variables")
        return cls(study, tuple((name, key) for name, key in sites), variables, mode, scale)
