"""XDSL, the XML format of GeNIe and SMILE.

::

    <smile version="1.0" id="asia"><nodes>
      <cpt id="xray"><state id="yes" /><state id="no" /><parents>either</parents>
        <probabilities>0.98 0.02 0.05 0.95</probabilities></cpt>
      <equation id="dose"><parents>xray age</parents>
        <definition lower="-3" upper="9">dose=If(xray=&quot;yes&quot;,Normal(1.5+0.25*age,2),1)
        </definition></equation>
    </nodes></smile>

The numbers stand in the order of a table: first parent slowest, the child fastest.
``deterministic`` nodes name one state for each parent state and become tables of 0 and 1.
Continuous nodes are equations (:mod:`consilience.files.equations`); GeNIe wants to know where they
lie, so the bounds are six sd to both sides of the mean. Other kinds of node cannot be read, and a
discrete node with a continuous parent cannot be written. Identifiers are letters, digits and
underscores; any other name is escaped (:mod:`consilience.files.identifiers`), shown in GeNIe as the
name of the node, and for states in the user property ``consilience_states``. The user property
``consilience_source`` marks the source.

References
----------
BayesFusion LLC. SMILE programmer's manual, sections "Multidimensional arrays" and "XDSL file
format".
"""

from __future__ import annotations

import re

import numpy as np

from consilience import _check
from consilience.data.variable import Variable
from consilience.distributions import Categorical, Distribution, LinearGaussian, Logistic
from consilience.errors import ModelError
from consilience.files.draft import (
    Draft,
    Family,
    assemble,
    declare,
    family_of,
    fault,
    numbers_text,
)
from consilience.files.elements import Element, escaped, read_elements
from consilience.files.equations import equation_of, read_equation
from consilience.files.identifiers import decoded, encoded
from consilience.inference.queries import query
from consilience.network.mixture import Mixture
from consilience.network.network import Network

__all__ = ["parse", "write"]

SOURCE = "consilience_source"
STATES = "consilience_states"
EQUATION = "equation"
KINDS = ("cpt", "deterministic", EQUATION)
N_SD = 6.0  # to both sides of the mean of a continuous node
COLUMNS = 6  # nodes side by side on GeNIe's canvas

_UNSHOWN = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


def parse(text: str, name: str) -> Network:
    """The network of an XDSL text; ``name`` is the file that errors and the record speak of."""
    root = read_elements(text, name)
    if root.tag != "smile":
        raise fault(name, root.line, f"expected <smile>, found <{root.tag}>.")
    if any(root.all("dynamic")):
        raise fault(name, root.line, "dynamic networks cannot be read.")
    nodes = root.one("nodes", name).children
    variables: dict[str, Variable] = {}
    for node in nodes:
        _variable(node, variables, name)
    if not variables:
        raise fault(name, root.line, "expected a <cpt> inside <nodes>, found none.")
    drafts = [_draft(node, variables, name) for node in nodes if node.tag != EQUATION]
    others = [_equation(node, variables, name) for node in nodes if node.tag == EQUATION]
    return assemble(
        name, variables, drafts, others=others, source=_source(nodes), notes=_doubts(root)
    )


def write(net: Network) -> str:
    """An XDSL text with all digits, and a layout in a grid for GeNIe."""
    _refuse_logistic(net)
    nodes = [_node_text(net, local) for local in net.distributions.values()]
    boxes = [_box_text(name, place) for place, name in enumerate(net.distributions)]
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<smile version="1.0" id="consilience" numsamples="10000" discsamples="10000">\n'
        f"<nodes>\n{''.join(nodes)}</nodes>\n"
        '<extensions>\n<genie version="1.0" app="consilience" name="consilience">\n'
        f"{''.join(boxes)}</genie>\n</extensions>\n</smile>\n"
    )


def _variable(node: Element, variables: dict[str, Variable], file: str) -> None:
    if node.tag not in KINDS:
        raise fault(
            file,
            node.line,
            f"a node of kind {node.tag!r} cannot be read; {_check.listed(KINDS)} can.",
        )
    if node.tag == EQUATION:
        declare(variables, decoded(_id(node, file)), None, file, line=node.line)
        return
    states = [decoded(_id(state, file)) for state in node.all("state")]
    declare(variables, decoded(_id(node, file)), states, file, line=node.line)


def _draft(node: Element, variables: dict[str, Variable], file: str) -> Draft:
    family = family_of(
        variables, decoded(_id(node, file)), _parent_names(node), file, line=node.line
    )
    if node.tag == "deterministic":
        return _deterministic(node.one("resultingstates", file), family, file)
    return node.one("probabilities", file).table(family, file)


def _parent_names(node: Element) -> list[str]:
    return [decoded(word) for element in node.all("parents") for word in element.text.split()]


def _equation(node: Element, variables: dict[str, Variable], file: str) -> LinearGaussian:
    names = _parent_names(node)
    for name in names:
        if name not in variables:
            known = _check.listed(variables)
            raise fault(file, node.line, f"unknown parent {name!r}. Known: {known}.")
    definition = node.one("definition", file)
    given = [variables[name] for name in names]
    child = variables[decoded(_id(node, file))]
    try:
        return read_equation(definition.text, child, given, file, line=definition.line)
    except ModelError as problem:
        raise fault(file, definition.line, str(problem)) from problem


def _deterministic(results: Element, family: Family, file: str) -> Draft:
    words = [decoded(word) for word in results.text.split()]
    if len(words) != family.n_rows:
        text = f"{family.name!r} needs {family.n_rows} resulting states, found {len(words)}."
        raise fault(file, results.line, text)
    code = {state: i for i, state in enumerate(family.child.discrete_states)}
    for word in words:
        if word not in code:
            text = f"unknown state {word!r} of {family.name!r}. Known: {_check.listed(code)}."
            raise fault(file, results.line, text)
    rows = np.zeros((family.n_rows, family.shape[-1]))
    rows[np.arange(family.n_rows), [code[word] for word in words]] = 1.0
    return Draft(family, rows, lambda _: results.line)


def _id(element: Element, file: str) -> str:
    if "id" not in element.attributes:
        raise fault(file, element.line, f"expected an id in <{element.tag}>, found none.")
    return element.attributes["id"]


def _source(nodes: list[Element]) -> str | None:
    for node in nodes:
        if any(element.attributes.get("id") == SOURCE for element in node.all("property")):
            return decoded(node.attributes["id"])
    return None


def _doubts(root: Element) -> list[str]:
    writers = [
        genie.attributes.get("app", "")
        for extensions in root.all("extensions")
        for genie in extensions.all("genie")
    ]
    if not any(writer.startswith("aGrUM") for writer in writers):
        return []
    return [
        "The file was written by aGrUM, which has been seen to list the first parent fastest; it "
        "was read by GeNIe's rule, first parent slowest. Compare the tables of nodes with two "
        "parents."
    ]


def _node_text(net: Network, local: Distribution) -> str:
    if isinstance(local, Categorical):
        return _table_text(local, local.child.name == net.source)
    assert isinstance(local, LinearGaussian)  # logistic nodes were refused
    return _equation_text(net, local)


def _refuse_logistic(net: Network) -> None:
    for name, local in net.distributions.items():
        if isinstance(local, Logistic):
            raise ModelError(
                f"XDSL: {name!r} is discrete and has a continuous parent, which GeNIe has no node "
                "for. Save the network as JSON.",
                variable=name,
            )


def _equation_text(net: Network, local: LinearGaussian) -> str:
    name = encoded(local.child.name)
    belief = query(net, local.child.name)
    assert isinstance(belief, Mixture)  # the node is continuous
    low, high = belief.mean - N_SD * belief.sd, belief.mean + N_SD * belief.sd
    lines = [f'<equation id="{name}">']
    if local.given:
        lines.append(f"  <parents>{' '.join(map(encoded, local.parents))}</parents>")
    text = escaped(equation_of(local))
    lines.append(f'  <definition lower="{low!r}" upper="{high!r}">{text}</definition>')
    return "\n".join([*lines, "</equation>\n"])


def _table_text(local: Categorical, is_source: bool) -> str:
    states = local.child.discrete_states
    lines = [f'<cpt id="{encoded(local.child.name)}">']
    lines += [f'  <state id="{encoded(state)}" />' for state in states]
    if local.given:
        lines.append(f"  <parents>{' '.join(map(encoded, local.parents))}</parents>")
    lines.append(f"  <probabilities>{numbers_text(local.table)}</probabilities>")
    if any(encoded(state) != state for state in states):
        shown = ", ".join(map(_shown, states))
        lines.append(f'  <property id="{STATES}">{shown}</property>')
    if is_source:
        lines.append(f'  <property id="{SOURCE}">true</property>')
    return "\n".join([*lines, "</cpt>\n"])


def _box_text(name: str, place: int) -> str:
    left, top = 40 + 150 * (place % COLUMNS), 40 + 90 * (place // COLUMNS)
    return (
        f'<node id="{encoded(name)}">\n  <name>{_shown(name)}</name>\n'
        '  <interior color="e5f6f7" />\n  <outline color="000080" />\n'
        '  <font color="000000" name="Arial" size="8" />\n'
        f"  <position>{left} {top} {left + 120} {top + 50}</position>\n</node>\n"
    )


def _shown(name: str) -> str:
    return escaped(_UNSHOWN.sub("\N{REPLACEMENT CHARACTER}", name))
