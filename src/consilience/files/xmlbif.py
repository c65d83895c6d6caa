"""XMLBIF 0.3, the XML form of the interchange format.

::

    <BIF VERSION="0.3"><NETWORK><NAME>asia</NAME>
      <PROPERTY>consilience_source = hospital</PROPERTY>
      <VARIABLE TYPE="nature">
        <NAME>xray</NAME><OUTCOME>yes</OUTCOME><OUTCOME>no</OUTCOME></VARIABLE>
      <DEFINITION>
        <FOR>xray</FOR><GIVEN>either</GIVEN><TABLE>0.98 0.02 0.05 0.95</TABLE></DEFINITION>
    </NETWORK></BIF>

The numbers stand in the order of a table: first GIVEN slowest, the child fastest. Blanks around
names mean nothing; names with such blanks, line ends or control characters are escaped
(:mod:`consilience.files.identifiers`).

References
----------
F. Cozman (1998). The Interchange Format for Bayesian Networks, XMLBIF version 0.3.
"""

from __future__ import annotations

import re

from consilience.data.variable import Variable
from consilience.distributions.categorical import Categorical
from consilience.files.draft import Draft, assemble, declare, family_of, fault, numbers_text
from consilience.files.elements import Element, escaped, read_elements
from consilience.files.identifiers import decoded, encoded
from consilience.network.network import Network, discrete_only

__all__ = ["parse", "write"]

SOURCE = "consilience_source"

_STRANGE = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


def parse(text: str, name: str) -> Network:
    """The network of an XMLBIF text; ``name`` is the file that errors and the record speak of."""
    root = read_elements(text, name)
    if root.tag.upper() != "BIF":
        raise fault(name, root.line, f"expected <BIF>, found <{root.tag}>.")
    network = root.one("NETWORK", name)
    variables: dict[str, Variable] = {}
    for element in network.all("VARIABLE"):
        _variable(element, variables, name)
    if not variables:
        raise fault(name, network.line, "expected a <VARIABLE> inside <NETWORK>, found none.")
    drafts = [_draft(element, variables, name) for element in network.all("DEFINITION")]
    return assemble(name, variables, drafts, source=_source(network))


def write(net: Network) -> str:
    """An XMLBIF text with all digits."""
    discrete_only("XMLBIF", net)
    source = "" if net.source is None else f"<PROPERTY>{SOURCE} = {_name(net.source)}</PROPERTY>\n"
    head = (
        '<?xml version="1.0" encoding="UTF-8"?>\n<BIF VERSION="0.3">\n<NETWORK>\n'
        "<NAME>consilience</NAME>\n"
    )
    variables = map(_variable_text, net.variables.values())
    definitions = map(_definition_text, net.tables.values())
    return f"{head}{source}{''.join(variables)}{''.join(definitions)}</NETWORK>\n</BIF>\n"


def _variable(element: Element, variables: dict[str, Variable], file: str) -> None:
    kind = element.attributes.get("TYPE", "nature")
    name = _decoded(element.one("NAME", file))
    if kind.lower() != "nature":
        raise fault(
            file, element.line, f"the node {name!r} is of type {kind!r}; only 'nature' can be read."
        )
    states = [_decoded(outcome) for outcome in element.all("OUTCOME")]
    declare(variables, name, states, file, line=element.line)


def _draft(element: Element, variables: dict[str, Variable], file: str) -> Draft:
    name = _decoded(element.one("FOR", file))
    parents = [_decoded(parent) for parent in element.all("GIVEN")]
    family = family_of(variables, name, parents, file, line=element.line)
    return element.one("TABLE", file).table(family, file)


def _source(network: Element) -> str | None:
    for element in network.all("PROPERTY"):
        key, _, value = element.word.partition("=")
        if key.strip() == SOURCE:
            return decoded(value.strip(" \t\r\n"), is_plain=_is_plain)
    return None


def _variable_text(variable: Variable) -> str:
    outcomes = "".join(
        f"  <OUTCOME>{_name(state)}</OUTCOME>\n" for state in variable.discrete_states
    )
    name = _name(variable.name)
    return f'<VARIABLE TYPE="nature">\n  <NAME>{name}</NAME>\n{outcomes}</VARIABLE>\n'


def _definition_text(local: Categorical) -> str:
    given = "".join(f"  <GIVEN>{_name(parent)}</GIVEN>\n" for parent in local.parents)
    rows = "\n".join(map(numbers_text, local.rows))
    return (
        f"<DEFINITION>\n  <FOR>{_name(local.child.name)}</FOR>\n{given}"
        f"  <TABLE>\n{rows}\n  </TABLE>\n</DEFINITION>\n"
    )


def _decoded(element: Element) -> str:
    return decoded(element.word, is_plain=_is_plain)


def _name(name: str) -> str:
    return escaped(encoded(name, is_plain=_is_plain))


def _is_plain(name: str) -> bool:
    return _STRANGE.search(name) is None and name == name.strip(" ")
