"""NET, the text format of Hugin.

::

    net { consilience_source = "hospital"; }
    node xray { label = "x-ray"; states = ("yes" "no"); }
    potential (xray | either) { data = ((0.98 0.02) (0.05 0.95)); }

The numbers of ``data`` stand in the order of a table: first parent slowest, the child fastest; the
nesting of the brackets says the same once more and is not needed. ``%`` begins a comment. States
are quoted text. Node names are identifiers; any other name is escaped
(:mod:`consilience.files.identifiers`) and shown as the label.

References
----------
Hugin Expert A/S. Hugin API reference manual, chapter "The NET language".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from consilience._typing import Floats
from consilience.data.variable import Variable
from consilience.distributions.categorical import Categorical
from consilience.files.draft import (
    Draft,
    assemble,
    declare,
    family_of,
    fault,
    line_of_number,
    numbers_text,
    rows_of,
)
from consilience.files.identifiers import decoded, encoded
from consilience.files.tokens import Token, Tokens, quoted, token_pattern, without_comments
from consilience.network.network import Network, discrete_only

__all__ = ["parse", "write"]

T = TypeVar("T")

SOURCE = "consilience_source"
_TOKEN = token_pattern("{}()[];,|=")
_COMMENTS = re.compile(r'"(?:[^"\\]|\\.)*+(?:"|\Z)|%[^\n]*+', re.DOTALL)
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_KEYWORD = re.compile(
    r"net|node|potential|class|instance|discrete|continuous|chance|decision|utility|function"
    r"|data|states|label|experience"
)


@dataclass(frozen=True, slots=True, eq=False)
class _Potential:
    """A potential as the file states it: the numbers and the text in which they stand."""

    child: str
    parents: Sequence[str]
    values: Floats
    text: str
    line: int


def parse(text: str, name: str) -> Network:
    """The network of a NET text; ``name`` is the file that errors and the record speak of."""
    if "%" in text:
        text = without_comments(text, _COMMENTS, "%", name)
    tokens = Tokens(text, name, _TOKEN)
    source = None
    variables: dict[str, Variable] = {}
    potentials: list[_Potential] = []
    while (token := tokens.take()).kind != "end":
        if token.is_word("net"):
            source = _attribute(tokens, "net", SOURCE, _source)
        elif _is_discrete_node(token, tokens):
            _node(tokens, variables)
        elif token.is_word("potential"):
            potentials.append(_potential(tokens))
        else:
            raise tokens.fault(token, "'net', 'node' or 'potential', the parts that can be read")
    if not variables:
        raise tokens.fault(token, "'net' or 'node'")
    drafts = [_draft(potential, variables, name) for potential in potentials]
    return assemble(name, variables, drafts, source=source)


def write(net: Network) -> str:
    """A NET text with all digits."""
    discrete_only("NET", net)
    source = "" if net.source is None else f"  {SOURCE} = {quoted(net.source)};\n"
    blocks = [f"net\n{{\n{source}}}\n"]
    blocks += map(_node_text, net.variables.values())
    blocks += map(_potential_text, net.tables.values())
    return "".join(blocks)


def _is_discrete_node(token: Token, tokens: Tokens) -> bool:
    if token.is_word("discrete", "chance") and tokens.peek().is_word("node"):
        token = tokens.take()
    return token.is_word("node")


def _attribute(
    tokens: Tokens, block: str, wanted: str, read: Callable[[Tokens, str], T]
) -> T | None:
    """Take a block of attributes; the one that is wanted, as ``read`` takes it."""
    tokens.symbol("{", f"after {block}")
    value = None
    while not (token := tokens.take()).is_symbol("}"):
        if token.kind != "word":
            raise tokens.fault(token, f"an attribute or '}}' in {block}")
        tokens.symbol("=", f"after the attribute {token.value!r} of {block}")
        if token.value == wanted and value is None:
            value = read(tokens, block)
        elif token.value == wanted:
            raise tokens.fault(token, f"{wanted!r} only once in {block}")
        else:
            tokens.skip(";", f"after the attribute {token.value!r} of {block}")
    return value


def _source(tokens: Tokens, block: str) -> str:
    name = tokens.name("the name of the source").value
    tokens.symbol(";", f"after the source in {block}")
    return name


def _node(tokens: Tokens, variables: dict[str, Variable]) -> None:
    line = tokens.line()
    name = decoded(tokens.name("the name of a node").value, is_plain=_is_plain)
    states = _attribute(tokens, f"the node {name!r}", "states", _states)
    if states is None:
        raise fault(tokens.file, line, f"the node {name!r} has no states.")
    declare(variables, name, states, tokens.file, line=line)


def _states(tokens: Tokens, block: str) -> list[str]:
    tokens.symbol("(", f"before the states of {block}")
    states = tokens.names(")", f"a state of {block}")
    tokens.symbol(";", f"after the states of {block}")
    return states


def _potential(tokens: Tokens) -> _Potential:
    line = tokens.line()
    tokens.symbol("(", "after 'potential'")
    names = [decoded(tokens.name("the name of a node").value, is_plain=_is_plain)]
    if not (token := tokens.take()).is_symbol("|", ")"):
        raise tokens.fault(token, f"'|' or ')' after {names[0]!r}")
    if token.is_symbol("|"):
        parents = tokens.names(")", f"a parent of {names[0]!r} or ')'")
        names += [decoded(parent, is_plain=_is_plain) for parent in parents]
    found = _attribute(tokens, f"the potential of {names[0]!r}", "data", _data)
    if found is None:
        raise fault(tokens.file, line, f"the potential of {names[0]!r} has no data.")
    return _Potential(names[0], names[1:], *found)


def _data(tokens: Tokens, block: str) -> tuple[Floats, str, int]:
    start, line = tokens.position, tokens.line()
    values = tokens.numbers(f"in the data of {block}", between="(),")
    text = tokens.text[start : tokens.position]
    if text.count("(") != text.count(")"):
        raise fault(tokens.file, line, f"the brackets in the data of {block} do not match.")
    return values, text, line


def _draft(potential: _Potential, variables: dict[str, Variable], file: str) -> Draft:
    line = potential.line
    family = family_of(variables, potential.child, potential.parents, file, line=line)
    rows = rows_of(potential.values, family, file, line)
    width = family.shape[-1]
    return Draft(family, rows, lambda row: line_of_number(potential.text, line, row * width))


def _node_text(variable: Variable) -> str:
    states = " ".join(map(quoted, variable.discrete_states))
    return (
        f"node {_name(variable.name)}\n{{\n"
        f"  label = {quoted(variable.name)};\n  states = ({states});\n}}\n"
    )


def _potential_text(local: Categorical) -> str:
    parents = " ".join(map(_name, local.parents))
    header = f"{_name(local.child.name)} | {parents}" if parents else _name(local.child.name)
    pieces = [f"({numbers_text(row)})" for row in local.rows]
    for parent in reversed(local.given):
        size = parent.n_states
        groups = ("\n".join(pieces[i : i + size]) for i in range(0, len(pieces), size))
        pieces = [f"({group})" for group in groups]
    return f"potential ({header})\n{{\n  data = {pieces[0]};\n}}\n"


def _is_plain(name: str) -> bool:
    return bool(_IDENTIFIER.fullmatch(name)) and not _KEYWORD.fullmatch(name)


def _name(name: str) -> str:
    return encoded(name, is_plain=_is_plain)
