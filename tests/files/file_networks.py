"""Networks for the tests of the file formats, tame and nasty."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from consilience.data.variable import Variable
from consilience.distributions.categorical import Categorical
from consilience.network.network import Network

NASTY = [
    *["table", "default", "probability", "network", "variable", "property", "type", "discrete"],
    *["net", "node", "potential", "data", "states", "label", "cpt", "smile", "BIF", "NAME"],
    *["1", "007", "1.0", "1e-5", "-1", ".5", "nan", "inf", "<5", ">=10", "0-10%", "Asy/Patch"],
    *[
        "a b",
        " a",
        "a ",
        "\t",
        "a\nb",
        "a\r\nb",
        "\r",
        "\x00",
        "\x0b",
        "\x1f",
        "\x7f",
        "\x85",
        "\xa0",
    ],
    *[
        '"',
        '""',
        "'",
        "\\",
        '\\"',
        '"\\',
        "\\\\",
        "\\n",
        "//",
        "/*",
        "*/",
        "%",
        "%x",
        "a//b",
        "a/*b",
    ],
    *[
        "{",
        "}",
        "(",
        ")",
        "[",
        "]",
        ";",
        ",",
        "|",
        "=",
        "a=b",
        "a,b",
        "a|b",
        "{}",
        "-->",
        "]]>",
        "&",
    ],
    *["<", ">", "&amp;", "&lt;", "<!--", "<a>", "cs__", "cs__a", "cs__a_20_b", "x_1", "_", "__"],
    *["ä", "ß", "日本", "\u2028", "\ufeff", "\ufffd", "\U0001f600", "e\u0301", "é", "A", "a"],
]


def names():
    return st.sampled_from(NASTY) | st.text(min_size=1, max_size=5)


@st.composite
def networks(draw, name=None, max_nodes=4):
    name = names() if name is None else name
    called = draw(st.lists(name, min_size=1, max_size=max_nodes, unique=True))
    nodes = [
        Variable(node, tuple(draw(st.lists(name, min_size=1, max_size=5, unique=True))))
        for node in called
    ]
    locals_ = []
    for i, child in enumerate(nodes):
        given = draw(st.permutations(nodes[:i]))[: draw(st.integers(0, min(i, 3)))]
        locals_.append(Categorical(child, tuple(given), draw(tables(given, child))))
    source = draw(st.none() | st.sampled_from([one.child.name for one in locals_ if not one.given]))
    return Network.of(draw(st.permutations(locals_)), source=source)


@st.composite
def tables(draw, given, child):
    shape = tuple(variable.n_states for variable in (*given, child))
    weight = np.random.default_rng(draw(st.integers(0, 2**32))).random(shape) ** 3
    weight[weight < draw(st.sampled_from([0.0, 0.1]))] = 0.0
    weight[..., draw(st.integers(0, shape[-1] - 1))] += 0.5
    return weight / weight.sum(axis=-1, keepdims=True)


def assert_same(found, expected):
    assert found.source == expected.source
    assert list(found.distributions) == list(expected.distributions)
    for name, local in expected.distributions.items():
        assert found[name].child.states == local.child.states
        assert found[name].parents == local.parents
        assert np.array_equal(found[name].table, local.table)


def chain(**tables_):
    """A network A -> B of two states each."""
    a, b = Variable("A", ("x", "y")), Variable("B", ("u", "v"))
    top = tables_.get("a", [0.25, 0.75])
    rows = tables_.get("b", [[0.1, 0.9], [0.6, 0.4]])
    return Network.of([Categorical(a, (), np.array(top)), Categorical(b, (a,), np.array(rows))])


def family(child_last=True):
    """C with parents A (2 states) and B (3 states); no two rows are alike."""
    a, b = Variable("A", ("a0", "a1")), Variable("B", ("b0", "b1", "b2"))
    c = Variable("C", ("c0", "c1"))
    first = np.array([[0.01, 0.02, 0.03], [0.11, 0.12, 0.13]])
    table = np.stack([first, 1 - first], axis=-1)
    tables_ = [Categorical(a, (), [0.1, 0.9]), Categorical(b, (), [0.2, 0.3, 0.5])]
    local = Categorical(c, (a, b), table)
    return Network.of([*tables_, local] if child_last else [local, *tables_])
