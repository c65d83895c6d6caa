r"""What an estimand is made of: conditional probabilities, their products, sums and ratios.

An expression is a value. It prints as text and as LaTeX, knows the variables it depends on and the
families whose counts it needs, and is computed from the tables of these families alone
(:mod:`consilience.causal.values`). The functions that build expressions simplify on the way:

.. math::
    \sum_v P(v \mid g)\, A = A \quad (v \notin A), \qquad
    \sum_v A\,B = A \sum_v B \quad (v \notin A), \qquad
    \frac{A\,B}{A\,C} = \frac{B}{C}
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from consilience.statistics.family import Family

__all__ = [
    "Conditional",
    "Expression",
    "Fixed",
    "Product",
    "Ratio",
    "Sum",
    "families_of",
    "free_names",
    "latex_of",
    "product",
    "ratio",
    "text_of",
    "total",
]


@dataclass(frozen=True, slots=True)
class Conditional:
    """P(child | parents)."""

    family: Family


@dataclass(frozen=True, slots=True)
class Product:
    """The product of its factors; 1 if there are none."""

    factors: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Sum:
    """The sum over all joint states of some variables, which the body depends on."""

    over: tuple[str, ...]
    body: Expression


@dataclass(frozen=True, slots=True)
class Ratio:
    """Numerator by denominator."""

    numerator: Expression
    denominator: Expression


@dataclass(frozen=True, slots=True)
class Fixed:
    """The body with a variable, such as the source, at one state."""

    name: str
    state: str
    body: Expression


Expression: TypeAlias = Conditional | Product | Sum | Ratio | Fixed


def product(factors: Iterable[Expression]) -> Expression:
    """The product, with products inside it opened up, ratios cancelled and sums last; a single
    factor stands alone.
    """
    flat = [part for factor in factors for part in _factors(factor)]
    for factor in [part for part in flat if isinstance(part, Ratio)]:
        below = _factors(factor.denominator)
        if all(flat.count(one) >= below.count(one) for one in below):
            flat[flat.index(factor)] = factor.numerator
            for one in below:
                flat.remove(one)
    flat = [part for factor in flat for part in _factors(factor)]
    flat.sort(key=lambda part: isinstance(part, Sum))
    return flat[0] if len(flat) == 1 else Product(tuple(flat))


def total(over: Iterable[str], body: Expression) -> Expression:
    """The sum over some variables, simplified."""
    names = list(dict.fromkeys(over))
    if isinstance(body, Sum):
        return total((*names, *body.over), body.body)
    factors = list(_factors(body))
    changed = True
    while changed:
        changed = False
        for name in names:
            mentioned = [factor for factor in factors if name in free_names(factor)]
            if len(mentioned) == 1 and _sums_to_one(mentioned[0], name):
                factors.remove(mentioned[0])
                names.remove(name)
                changed = True
                break
    if not names:
        return product(factors)
    inside = [factor for factor in factors if not free_names(factor).isdisjoint(names)]
    outside = [factor for factor in factors if free_names(factor).isdisjoint(names)]
    return product([*outside, Sum(tuple(names), product(inside))])


def ratio(numerator: Expression, denominator: Expression) -> Expression:
    """The ratio, with common factors cancelled."""
    above, below = list(_factors(numerator)), list(_factors(denominator))
    for factor in list(below):
        if factor in above:
            above.remove(factor)
            below.remove(factor)
    return Ratio(product(above), product(below)) if below else product(above)


def free_names(expression: Expression) -> frozenset[str]:
    """The variables that the value depends on."""
    match expression:
        case Conditional(family):
            return frozenset(family.variables)
        case Sum(over, body):
            return free_names(body).difference(over)
        case Fixed(name, _, body):
            return free_names(body) - {name}
    return frozenset().union(*map(free_names, _parts(expression)))


def families_of(expression: Expression) -> tuple[Family, ...]:
    """The families whose tables the expression needs, in order of first appearance."""
    return tuple(dict.fromkeys(_families(expression)))


def text_of(expression: Expression) -> str:
    """The expression for people: ``sum_m P(m | x) sum_x' P(y | m, x') P(x')``."""
    return _written(expression, _Text(), _Scope(free_names(expression)))


def latex_of(expression: Expression) -> str:
    """The expression in LaTeX, without dollar signs."""
    return _written(expression, _Latex(), _Scope(free_names(expression)))


def _factors(expression: Expression) -> tuple[Expression, ...]:
    return expression.factors if isinstance(expression, Product) else (expression,)


def _parts(expression: Expression) -> tuple[Expression, ...]:
    match expression:
        case Product(factors):
            return factors
        case Sum(_, body) | Fixed(_, _, body):
            return (body,)
        case Ratio(numerator, denominator):
            return (numerator, denominator)
    return ()


def _sums_to_one(factor: Expression, name: str) -> bool:
    return isinstance(factor, Conditional) and factor.family.child == name


def _families(expression: Expression) -> Iterator[Family]:
    if isinstance(expression, Conditional):
        yield expression.family
    for part in _parts(expression):
        yield from _families(part)


class _Text:
    """How expressions are written in plain text."""

    def name(self, name: str, primes: int) -> str:
        return name + "'" * primes

    def conditional(self, child: str, given: str) -> str:
        return f"P({child} | {given})" if given else f"P({child})"

    def sum(self, over: str, body: str) -> str:
        return f"sum_{over} {body}" if "," not in over else f"sum_{{{over}}} {body}"

    def ratio(self, numerator: str, denominator: str) -> str:
        return f"[{numerator}] / [{denominator}]"

    def group(self, text: str) -> str:
        return f"[{text}]"


class _Latex:
    r"""How expressions are written in LaTeX; names stand upright."""

    def name(self, name: str, primes: int) -> str:
        escaped = "".join(_ESCAPES.get(character, character) for character in name)
        return f"\\mathrm{{{escaped}}}" + "'" * primes

    def conditional(self, child: str, given: str) -> str:
        return f"P({child} \\mid {given})" if given else f"P({child})"

    def sum(self, over: str, body: str) -> str:
        return f"\\sum_{{{over}}} {body}"

    def ratio(self, numerator: str, denominator: str) -> str:
        return f"\\frac{{{numerator}}}{{{denominator}}}"

    def group(self, text: str) -> str:
        return f"\\left[{text}\\right]"


_ESCAPES = {
    "\\": r"\backslash ",
    "{": r"\{",
    "}": r"\}",
    "_": r"\_",
    "^": r"\hat{}",
    "~": r"\sim ",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "&": r"\&",
    " ": r"\ ",
}


@dataclass(frozen=True, slots=True)
class _Scope:
    """Names in use where an expression stands: those taken, primes of bound ones, states of fixed
    ones.
    """

    taken: frozenset[str]
    primes: Mapping[str, int] = field(default_factory=dict)
    states: Mapping[str, str] = field(default_factory=dict)

    def bound(self, over: Sequence[str]) -> _Scope:
        """The scope inside a sum."""
        primes = {name: self.primes.get(name, 0) + (name in self.taken) for name in over}
        return _Scope(self.taken.union(over), {**self.primes, **primes}, self.states)

    def name(self, name: str, style: _Text | _Latex) -> str:
        """The name as it is written here."""
        written = style.name(name, self.primes.get(name, 0))
        return f"{written}={style.name(self.states[name], 0)}" if name in self.states else written


def _written(expression: Expression, style: _Text | _Latex, scope: _Scope) -> str:
    """The expression in a style."""
    match expression:
        case Conditional(family):
            names = [scope.name(name, style) for name in family.variables]
            return style.conditional(names[-1], ", ".join(names[:-1]))
        case Sum(over, body):
            inside = scope.bound(over)
            bound = ", ".join(inside.name(name, style) for name in over)
            return style.sum(bound, _written(body, style, inside))
        case Ratio(numerator, denominator):
            return style.ratio(
                _written(numerator, style, scope), _written(denominator, style, scope)
            )
        case Fixed(name, state, body):
            inside = _Scope(scope.taken, scope.primes, {**scope.states, name: state})
            return _written(body, style, inside)
    return _written_product(expression.factors, style, scope)


def _written_product(factors: Sequence[Expression], style: _Text | _Latex, scope: _Scope) -> str:
    """Factors side by side; a sum that others follow stands in brackets."""
    written = [_written(factor, style, scope) for factor in factors]
    is_open = [isinstance(factor, Sum) and i < len(factors) - 1 for i, factor in enumerate(factors)]
    grouped = (
        style.group(text) if loose else text for text, loose in zip(written, is_open, strict=True)
    )
    return " ".join(grouped) if factors else "1"
