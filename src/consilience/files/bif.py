"""BIF, the text format of the Bayesian network repositories.

::

    network asia { property consilience_source = "hospital"; }
    variable xray { type discrete [ 2 ] { yes, no }; }
    probability ( xray | either ) {
      (yes) 0.98, 0.02;
      (no) 0.05, 0.95;
    }

Names are words or quoted text; commas and bars are blanks. A probability block holds rows labelled
by the parents' states in any order, a ``default`` row for those not listed, or a ``table`` with all
numbers, in which the child is the *slowest* axis and the last parent the fastest. ``//`` and ``/*
*/`` are comments; properties are passed over, except the one that names the source.

Repository files are regular: they are read in one sweep (:mod:`consilience.files.regular_bif`) that
gives up at anything unusual. Then :func:`parse` goes token by token, and says what is wrong and
where.

References
----------
F. Cozman (1998). The Interchange Format for Bayesian Networks; JavaBayes, BIF version 0.15.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product

import numpy as np

from consilience import _check
from consilience._typing import Floats
from consilience.data.variable import Variable
from consilience.distributions.categorical import Categorical
from consilience.files.draft import Draft, Family, assemble, declare, family_of, fault, rows_of
from consilience.files.regular_bif import sweep
from consilience.files.tokens import Tokens, quoted, token_pattern, without_comments
from consilience.network.network import Network, discrete_only

__all__ = ["parse", "write"]

SOURCE = "consilience_source"
KEYWORDS = frozenset(
    ["network", "variable", "probability", "property", "type", "discrete", "table", "default"]
)

_TOKEN = token_pattern("{}()[];,|")
_COMMENTS = re.compile(
    r'"(?:[^"\\]|\\.)*+(?:"|\Z)'  # quoted text and properties may hold slashes
    r'|\bproperty\b(?:"[^"]*+"|[^";])*+;'
    r"|//[^\n]*+"
    r"|/\*(?:[^*]|\*(?!/))*+\*/|(/\*)",
    re.DOTALL,
)
_PLAIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")


@dataclass(frozen=True, slots=True, eq=False)
class _Row:
    """One row of a block: the parents' states and the numbers."""

    labels: Sequence[str]
    values: Floats
    line: int


@dataclass(slots=True, eq=False)
class _Block:
    """A probability block while it is being read."""

    child: str
    parents: Sequence[str]
    line: int
    rows: list[_Row] = field(default_factory=list)
    table: _Row | None = None
    default: _Row | None = None


def parse(text: str, name: str) -> Network:
    """The network of a BIF text; ``name`` is the file that errors and the record speak of."""
    if "/" in text and ("//" in text or "/*" in text):
        text = without_comments(text, _COMMENTS, "/", name)
    tokens = Tokens(text, name, _TOKEN)
    source = _network(tokens) if tokens.peek().is_word("network") else None
    found = sweep(text, tokens.position, name)
    variables, drafts = found if found is not None else _blocks(tokens)
    return assemble(name, variables, drafts, source=source)


def write(net: Network) -> str:
    """A BIF text with all digits; names that are not plain words are quoted."""
    discrete_only("BIF", net)
    source = "" if net.source is None else f"\n  property {SOURCE} = {quoted(net.source)};"
    blocks = [f"network consilience {{{source}\n}}\n"]
    blocks += map(_variable_text, net.variables.values())
    blocks += map(_probability_text, net.tables.values())
    return "".join(blocks)


def _network(tokens: Tokens) -> str | None:
    """Take the network block; the name of the source, if a property tells it."""
    tokens.take()
    tokens.name("the name of the network")
    tokens.symbol("{", "after the name of the network")
    source = None
    while not (token := tokens.take()).is_symbol("}"):
        if not token.is_word("property"):
            raise tokens.fault(token, "'property' or '}' in the network block")
        if tokens.peek().is_word(SOURCE):
            source = _source(tokens)
        else:
            _skip_property(tokens)
    return source


def _source(tokens: Tokens) -> str:
    tokens.take()
    if not (token := tokens.take()).is_word("="):
        raise tokens.fault(token, f"'=' after {SOURCE!r}")
    name = tokens.name("the name of the source").value
    tokens.symbol(";", "after the name of the source")
    return name


def _skip_property(tokens: Tokens) -> None:
    tokens.skip(";", "after a property")


def _blocks(tokens: Tokens) -> tuple[dict[str, Variable], list[Draft]]:
    variables: dict[str, Variable] = {}
    blocks: list[_Block] = []
    while (token := tokens.take()).kind != "end":
        if token.is_word("variable"):
            _variable(tokens, variables)
        elif token.is_word("probability"):
            blocks.append(_probability(tokens))
        else:
            raise tokens.fault(token, "'variable' or 'probability'")
    if not variables:
        raise tokens.fault(token, "'network' or 'variable'")
    return variables, [_draft(block, variables, tokens.file) for block in blocks]


def _variable(tokens: Tokens, variables: dict[str, Variable]) -> None:
    line = tokens.line()
    name = tokens.name("the name of a variable").value
    tokens.symbol("{", f"after the name of the variable {name!r}")
    states: list[str] | None = None
    while not (token := tokens.take()).is_symbol("}"):
        if token.is_word("property"):
            _skip_property(tokens)
        elif token.is_word("type") and states is None:
            states = _states(tokens, name)
        else:
            raise tokens.fault(token, f"'type', 'property' or '}}' in the variable {name!r}")
    if states is None:
        raise fault(tokens.file, line, f"the variable {name!r} has no 'type discrete'.")
    declare(variables, name, states, tokens.file, line=line)


def _states(tokens: Tokens, name: str) -> list[str]:
    kind = tokens.name(f"the type of the variable {name!r}")
    size = None
    if not kind.is_word("discrete"):
        raise tokens.fault(kind, f"'discrete' as the type of the variable {name!r}")
    if tokens.peek().is_symbol("["):
        tokens.take()
        size = tokens.name(f"the number of states of {name!r}")
        tokens.symbol("]", f"after the number of states of {name!r}")
    tokens.symbol("{", f"before the states of {name!r}")
    states = tokens.names("}", f"a state of {name!r}")
    tokens.symbol(";", f"after the states of {name!r}")
    if size is not None and size.value.lstrip("0") != str(len(states)):
        raise tokens.fault(size, f"{len(states)} as the number of states of {name!r}")
    return states


def _probability(tokens: Tokens) -> _Block:
    line = tokens.line()
    tokens.symbol("(", "after 'probability'")
    child = tokens.name("the name of a variable").value
    block = _Block(child, tokens.names(")", f"a parent of {child!r} or ')'"), line)
    tokens.symbol("{", f"after the variables of {child!r}")
    where = f"in the numbers of {child!r}"
    while not (token := tokens.take()).is_symbol("}"):
        line = tokens.line(token.start)
        if token.is_word("property"):
            _skip_property(tokens)
        elif token.is_symbol("("):
            labels = tokens.names(")", f"a state of a parent of {child!r}")
            block.rows.append(_Row(labels, tokens.numbers(where, between=",|"), line))
        elif token.is_word("default") and block.default is None:
            block.default = _Row((), tokens.numbers(where, between=",|"), line)
        elif token.is_word("table") and block.table is None:
            block.table = _Row((), tokens.numbers(where, between=",|"), line)
        else:
            raise tokens.fault(
                token, f"a row, 'table', 'default' or '}}' in the block of {child!r}"
            )
    return block


def _draft(block: _Block, variables: dict[str, Variable], file: str) -> Draft:
    family = family_of(variables, block.child, block.parents, file, line=block.line)
    if block.table is None:
        return _draft_of_rows(block, family, file)
    line = block.table.line
    if block.rows or block.default is not None:
        raise fault(file, line, f"the block of {family.name!r} has both a table and rows.")
    rows = rows_of(block.table.values, family, file, line)
    return Draft(family, rows.reshape(family.shape[-1], -1).T, lambda _: line)


def _draft_of_rows(block: _Block, family: Family, file: str) -> Draft:
    shape = family.shape[:-1]
    codes = [{state: i for i, state in enumerate(v.discrete_states)} for v in family.given]
    rows = np.empty(family.shape)
    lines = np.zeros(shape, dtype=np.int64)  # 0 where no row has been listed
    for row in block.rows:
        place = _place(row, block, codes, file)
        if lines[place]:
            text = f"the row {_check.listed(row.labels)} of {family.name!r} stands twice."
            raise fault(file, row.line, text)
        rows[place], lines[place] = _checked(row, family, file), row.line
    if block.default is not None:
        rows[lines == 0] = _checked(block.default, family, file)
        lines[lines == 0] = block.default.line
    if not lines.all():
        missing = np.argwhere(lines == 0)[0]
        states = [v.discrete_states[i] for v, i in zip(family.given, missing, strict=True)]
        text = (
            f"the block of {family.name!r} has no row for {_check.listed(states)} and no default."
        )
        raise fault(file, block.line, text)
    by_row = lines.ravel().tolist()
    return Draft(family, rows.reshape(-1, family.shape[-1]), by_row.__getitem__)


def _checked(row: _Row, family: Family, file: str) -> Floats:
    if row.values.size != family.shape[-1]:
        text = (
            f"a row of {family.name!r} needs {family.shape[-1]} numbers, found {row.values.size}."
        )
        raise fault(file, row.line, text)
    return row.values


def _place(row: _Row, block: _Block, codes: list[dict[str, int]], file: str) -> tuple[int, ...]:
    if len(row.labels) != len(codes):
        raise fault(
            file,
            row.line,
            f"a row of {block.child!r} needs {len(codes)} states of its parents, found "
            f"{len(row.labels)}.",
        )
    for label, parent, code in zip(row.labels, block.parents, codes, strict=True):
        if label not in code:
            raise fault(
                file,
                row.line,
                f"unknown state {label!r} of {parent!r} in a row of {block.child!r}. Known: "
                f"{_check.listed(code)}.",
            )
    return tuple(code[label] for label, code in zip(row.labels, codes, strict=True))


def _variable_text(variable: Variable) -> str:
    states = ", ".join(map(_name, variable.discrete_states))
    return (
        f"variable {_name(variable.name)} {{\n"
        f"  type discrete [ {variable.n_states} ] {{ {states} }};\n}}\n"
    )


def _probability_text(local: Categorical) -> str:
    rows = [", ".join(map(repr, row)) for row in local.rows.tolist()]
    child = _name(local.child.name)
    if not local.given:
        return f"probability ( {child} ) {{\n  table {rows[0]};\n}}\n"
    states = product(*(map(_name, parent.discrete_states) for parent in local.given))
    lines = [f"  ({', '.join(row)}) {text};\n" for row, text in zip(states, rows, strict=True)]
    parents = ", ".join(map(_name, local.parents))
    return f"probability ( {child} | {parents} ) {{\n{''.join(lines)}}}\n"


def _name(name: str) -> str:
    is_plain = _PLAIN.fullmatch(name) is not None and name not in KEYWORDS
    return name if is_plain else quoted(name)
