r"""Continuous nodes as the equations of GeNIe.

A node without discrete parents is one formula; discrete parents choose between formulas, one after
the other::

    dose=Normal(1.5+0.25*age,2.0)
    dose=If(drug="a",Normal(1.0+0.1*age,1.0),Normal(2.0+0.2*age,0.5))

A formula without ``Normal`` is a node without noise. Only such formulas are read: sums of numbers,
of names and of a number times a name, inside ``Normal`` with a number for its sd, inside ``If``
that compare a discrete parent with one of its states.

References
----------
BayesFusion LLC. SMILE programmer's manual, section "Equations reference" and the tutorial on hybrid
models.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import product

import numpy as np

from consilience._typing import Floats
from consilience.data.variable import Variable
from consilience.distributions import LinearGaussian
from consilience.distributions.local_distribution import kinds
from consilience.files.draft import NUMBER, fault
from consilience.files.identifiers import decoded, encoded

__all__ = ["equation_of", "read_equation"]

DEEPEST = 200
"""Formulas inside each other, at most."""

_TOKEN = re.compile(rf"\s*(?:({NUMBER.pattern})|([A-Za-z]\w*)|(\"[^\"]*\")|(.))", re.ASCII)


def equation_of(local: LinearGaussian) -> str:
    """The equation of a continuous node."""
    shape = local.intercept.shape
    chosen = [(variable, 0) for variable in local.discrete]
    return f"{encoded(local.child.name)}={_choice(local, chosen, 0, shape)}"


def read_equation(
    text: str, child: Variable, given: Sequence[Variable], file: str, *, line: int
) -> LinearGaussian:
    """The distribution that an equation states."""
    discrete, continuous = kinds(given)
    reader = _Reader(text, {variable.name: variable for variable in given}, file, line)
    reader.expect_name(child.name)
    reader.expect("=")
    tree = reader.expression(0)
    reader.expect("")
    shape = tuple(variable.n_states for variable in discrete)
    numbers = np.zeros((*shape, 2 + len(continuous)))
    for states in product(*(range(n) for n in shape)):
        chosen = dict(zip((v.name for v in discrete), states, strict=True))
        numbers[states] = _row(tree, chosen, continuous)
    return LinearGaussian(
        child, tuple(given), numbers[..., 0], numbers[..., 1:-1], numbers[..., -1]
    )


def _choice(
    local: LinearGaussian, chosen: list[tuple[Variable, int]], depth: int, shape: tuple[int, ...]
) -> str:
    if depth == len(shape):
        return _formula(local, tuple(state for _, state in chosen))
    variable = chosen[depth][0]
    inner = []
    for state in range(shape[depth]):
        chosen[depth] = (variable, state)
        inner.append(_choice(local, chosen, depth + 1, shape))
    text = inner.pop()
    for state in reversed(range(len(inner))):
        name = encoded(variable.discrete_states[state])
        text = f'If({encoded(variable.name)}="{name}",{inner[state]},{text})'
    return text


def _formula(local: LinearGaussian, at: tuple[int, ...]) -> str:
    text = repr(float(local.intercept[at]))
    for variable, slope in zip(local.continuous, local.coefficients[at].tolist(), strict=True):
        text += f"{'-' if slope < 0 else '+'}{abs(slope)!r}*{encoded(variable.name)}"
    sd = float(local.sd[at])
    return f"Normal({text},{sd!r})" if sd else text


def _row(tree: _Tree, chosen: Mapping[str, int], continuous: Sequence[Variable]) -> Floats:
    """Intercept, coefficients and sd in one joint state of the discrete parents."""
    while isinstance(tree, tuple):
        name, state, then, otherwise = tree
        tree = then if chosen[name] == state else otherwise
    return np.array([tree.get(name, 0.0) for name in ("", *(v.name for v in continuous), "sd ")])


_Leaf = dict[str, float]
"""Coefficient by name; of "" the intercept, of "sd " (no name ends so) the sd."""

_Tree = _Leaf | tuple[str, int, "_Tree", "_Tree"]
"""A formula, or a parent, its state, and what holds in that state and otherwise."""


class _Reader:
    """The symbols of an equation, read from left to right."""

    def __init__(self, text: str, given: Mapping[str, Variable], file: str, line: int) -> None:
        self._symbols = [
            match.group(match.lastindex or 0) for match in _TOKEN.finditer(text.strip())
        ]
        self._given = given
        self._file, self._line = file, line
        self._place = 0

    def expression(self, depth: int) -> _Tree:
        """If, Normal or a sum."""
        if depth > DEEPEST:
            raise self._fault(f"formulas inside each other only {DEEPEST} deep")
        if self._next == "If":
            return self._choice(depth)
        if self._next != "Normal":
            return self._sum()
        self._take()
        self.expect("(")
        leaf = self._sum()
        self.expect(",")
        leaf["sd "] = self._number("the sd of Normal as a number")
        self.expect(")")
        return leaf

    def expect(self, symbol: str) -> None:
        """Pass over a symbol; "" is the end."""
        if self._take() != symbol:
            self._place -= 1
            raise self._fault(repr(symbol) if symbol else "the end")

    def expect_name(self, name: str) -> None:
        """Pass over a name."""
        if decoded(self._take()) != name:
            self._place -= 1
            raise self._fault(f"{name!r}")

    @property
    def _next(self) -> str:
        return self._symbols[self._place] if self._place < len(self._symbols) else ""

    def _take(self) -> str:
        symbol = self._next
        self._place += 1
        return symbol

    def _choice(self, depth: int) -> _Tree:
        """The formulas of one If after the other, each in place of what holds otherwise."""
        arms = []
        while self._next == "If":
            self._take()
            self.expect("(")
            name, state = self._condition()
            self.expect(",")
            arms.append((name, state, self.expression(depth + 1)))
            self.expect(",")
        tree = self.expression(depth + 1)
        for name, state, then in reversed(arms):
            self.expect(")")
            tree = name, state, then, tree
        return tree

    def _condition(self) -> tuple[str, int]:
        """A discrete parent and one of its states."""
        variable = self._parent(is_continuous=False)
        self.expect("=")
        word = self._take()
        state = decoded(word.strip('"'))
        states = variable.discrete_states
        if not word.startswith('"') or state not in states:
            self._place -= 1
            raise self._fault(f"a state of {variable.name!r} in quotation marks")
        return variable.name, states.index(state)

    def _sum(self) -> _Leaf:
        leaf: _Leaf = {}
        sign = -1.0 if self._next == "-" else 1.0
        if self._next == "-":
            self._take()
        while True:
            name, number = self._term()
            leaf[name] = leaf.get(name, 0.0) + sign * number
            if self._next[:1] not in ("+", "-") or self._next == "":
                return leaf
            # The tokenizer may have read the sign as part of a number: 1-2*x.
            sign = 1.0
            if self._next in ("+", "-"):
                sign = -1.0 if self._take() == "-" else 1.0

    def _term(self) -> tuple[str, float]:
        if NUMBER.fullmatch(self._next):
            number = float(self._take())
            if self._next != "*":
                return "", number
            self._take()
            return self._parent(is_continuous=True).name, number
        name = self._parent(is_continuous=True).name
        if self._next != "*":
            return name, 1.0
        self._take()
        return name, self._number("a number")

    def _number(self, wanted: str) -> float:
        if not NUMBER.fullmatch(self._next):
            raise self._fault(wanted)
        return float(self._take())

    def _parent(self, *, is_continuous: bool) -> Variable:
        variable = self._given.get(decoded(self._next))
        if variable is None or variable.is_continuous != is_continuous:
            kind = "continuous" if is_continuous else "discrete"
            raise self._fault(
                f"a number or a {kind} parent" if is_continuous else f"a {kind} parent"
            )
        self._take()
        return variable

    def _fault(self, wanted: str) -> Exception:
        found = repr(self._next) if self._next else "the end"
        return fault(
            self._file,
            self._line,
            f"in an equation, expected {wanted}, found {found}. Linear functions with normal noise "
            "can be read, chosen by If over the states of discrete parents.",
        )
