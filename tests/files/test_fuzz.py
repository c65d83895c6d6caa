"""Every reader survives broken input with nothing but our own errors.

CONSILIENCE_FUZZ is the number of broken inputs for each reader.
"""

from __future__ import annotations

import copy
import gzip
import json
import os
import random

import numpy as np
import pytest
from file_networks import NASTY, chain, family

import consilience as cs
from consilience.data.variable import Variable
from consilience.distributions.categorical import Categorical
from consilience.distributions.dirichlet import DirichletPosterior
from consilience.errors import ConsilienceError
from consilience.files.registry import FORMATS, load
from consilience.network.network import Network

BUDGET = int(os.environ.get("CONSILIENCE_FUZZ", "300"))
PIECES = [
    *[
        "0",
        "1",
        "-1",
        ".",
        "e",
        "9" * 400,
        "9" * 5000,
        "1e999",
        "-1e-999",
        "nan",
        "inf",
        "1_0",
        "٣",
    ],
    *[
        "(" * 50,
        ")" * 50,
        "{" * 50,
        "[" * 50,
        "((((",
        "))",
        "{}",
        "[]",
        "()",
        '"',
        "'",
        "\\",
        "/*",
        "*/",
    ],
    *[
        "//",
        "%",
        ";",
        ",",
        "|",
        "=",
        ":",
        "\n",
        "\r",
        "\t",
        "\x00",
        "\ufeff",
        "\u2028",
        "\ud800",
        "é",
    ],
    *[
        "<",
        ">",
        "</",
        "/>",
        "&",
        "&lt;",
        "&x;",
        "&#0;",
        "&#55296;",
        "<!--",
        "-->",
        "<![CDATA[",
        "]]>",
    ],
    *['<!DOCTYPE a [<!ENTITY b "c">]>', '<?xml version="1.0" encoding="utf-16"?>', "<a>" * 200],
    *["[ 999999999 ]", "[ 1000000000000000000000 ]", "default 0.5, 0.5;", "table 1;", "default ;"],
    *['"parents": ["A", "A"]', '"shape": [99999999, 99999999]', "null", "true", "1" + "0" * 30],
    *[
        "<parents>A A B B</parents>",
        "<state id='a' />",
        "<deterministic id='D'>",
        "<GIVEN>A</GIVEN>",
    ],
    *["variable Z { type discrete [ 1 ] { z }; }", "node Z { states = (z); }", "potential (A | A)"],
    *[" cs__a_ffffff_ ", " cs___d800_ ", *NASTY],
]


VALUES = [
    *[None, True, "x", "joint states", 0, 1, -1, 4.0, 2.5, 1e-99, 1e-300, 1e15, 2**53, 1e99, 1e300],
    *[[], {}, [1, 2, 3], [2.0], [1e-99, 1e99], [1e99, 1e-99], {"s": [1e99]}, {"s": [1e-99]}],
    *[{"gamma": [1e-99, 1e-99]}, {"gamma": [1e50, 1e50]}, {"per_state": [1e99]}],
]


def strange():
    """A network of several nodes with strange names and a posterior."""
    a, b = (
        Variable('a "b"', ("<5", "é", "%")),
        Variable("2", ("//", "y"), ordered=True, cuts=(1.5,)),
    )
    table = np.array([[0.5, 0.5], [0.0, 1.0], [0.125, 0.875]])
    locals_ = [Categorical(a, (), [0.25, 0.25, 0.5]), Categorical(b, (a,), table)]
    locals_[1] = Categorical(b, (a,), table, DirichletPosterior(table + 1))
    return Network.of(locals_, source='a "b"')


def tied(estimator):
    """A network of three sources whose tables have hierarchical posteriors."""
    rows = {"p": list("abbba"), "x": list("01220"), "f": list("nnsse")}
    return cs.fit(cs.DAG([("p", "x")]), cs.read(rows, source="f"), estimator)


def broken(text, rng):
    """The text after a few random accidents."""
    for _ in range(rng.randint(1, 4)):
        text = rng.choice(ACCIDENTS)(text, rng)
    return text


def span(text, rng):
    start = rng.randint(0, len(text))
    return start, min(len(text), start + rng.choice([1, 2, 5, 20, 100]))


def delete(text, rng):
    start, end = span(text, rng)
    return text[:start] + text[end:]


def duplicate(text, rng):
    start, end = span(text, rng)
    return text[:end] + text[start:end] * rng.choice([1, 1, 2, 30]) + text[end:]


def insert(text, rng):
    place = rng.randint(0, len(text))
    return text[:place] + rng.choice(PIECES) + text[place:]


def replace(text, rng):
    start, end = span(text, rng)
    return text[:start] + rng.choice(PIECES) + text[end:]


def change(text, rng):
    place = rng.randint(0, len(text))
    return (
        text[:place]
        + chr(rng.choice([rng.randint(0, 127), rng.randint(0, 0x2FFF)]))
        + text[place + 1 :]
    )


def number(text, rng):
    places = [i for i, letter in enumerate(text) if letter.isdigit()] or [0]
    place = rng.choice(places)
    return text[:place] + rng.choice(PIECES[:13]) + text[place + 1 :]


def truncate(text, rng):
    return text[: rng.randint(0, len(text))]


def move(text, rng):
    start, end = span(text, rng)
    place = rng.randint(0, len(text))
    return text[:place] + text[start:end] + text[place:]


def swap_lines(text, rng):
    lines = text.split("\n")
    i, j = rng.randrange(len(lines)), rng.randrange(len(lines))
    lines[i], lines[j] = lines[j], lines[i]
    return "\n".join(lines)


def swap_words(text, rng):
    words = text.split(" ")
    i, j = rng.randrange(len(words)), rng.randrange(len(words))
    words[i], words[j] = words[j], words[i]
    return " ".join(words)


ACCIDENTS = [
    *[delete, duplicate, insert, replace, change, number, truncate, move, swap_lines, swap_words]
]


@pytest.mark.parametrize("extension", sorted(FORMATS.keys() - {".xml"}))
def test_broken_text_gives_only_our_errors(extension):
    form, rng = FORMATS[extension], random.Random(1)
    nets = [chain(), family(), strange(), tied(cs.HDMCS(s=2.0))]
    nets += [tied(cs.HDMJS(s=cs.Gamma(2, 0.5))), tied(cs.HDS())] * (extension == ".json")
    texts = [form.write(net) for net in nets]
    for _ in range(BUDGET):
        text = broken(rng.choice(texts), rng)
        try:
            net = form.parse(text, "broken")
        except ConsilienceError:
            continue
        form.parse(form.write(net), "again")


def test_broken_values_in_json_give_only_our_errors():
    form, rng = FORMATS[".json"], random.Random(3)
    strengths = [2.0, cs.PerState(0.1), cs.Gamma(2, 0.5), cs.Gamma(0.01, 0.001)]
    nets = [
        strange(),
        *[tied(kind(s=s)) for kind in (cs.HDS, cs.HDMJS, cs.HDMCS) for s in strengths],
    ]
    texts = [form.write(net) for net in nets]
    for _ in range(BUDGET):
        content = json.loads(rng.choice(texts))
        for _ in range(rng.randint(1, 3)):
            spoil(content, rng)
        try:
            net = form.parse(json.dumps(content), "broken")
        except ConsilienceError:
            continue
        form.parse(form.write(net), "again")
        for local in net.distributions.values():
            if local.posterior is not None:
                assert np.isfinite(local.posterior.variance()).all()


def spoil(content, rng):
    """Replace one value somewhere inside by another."""
    while True:
        key = rng.choice(list(content) if isinstance(content, dict) else range(len(content)))
        if not isinstance(content[key], dict | list) or not content[key] or rng.random() < 0.1:
            break
        content = content[key]
    content[key] = copy.deepcopy(rng.choice(VALUES))


@pytest.mark.parametrize("extension", sorted(FORMATS.keys() - {".xml"}))
@pytest.mark.parametrize("packed", [False, True])
def test_broken_bytes_give_only_our_errors(tmp_path, extension, packed):
    rng = random.Random(2)
    path = tmp_path / f"broken{extension}{'.gz' if packed else ''}"
    texts = [FORMATS[extension].write(net).encode() for net in (chain(), strange())]
    for _ in range(BUDGET // 3):
        data = gzip.compress(rng.choice(texts)) if packed else rng.choice(texts)
        for _ in range(rng.randint(1, 3)):
            start = rng.randint(0, len(data))
            end = start + rng.choice([0, 1, 1, 8])
            data = data[:start] + rng.randbytes(rng.choice([0, 1, 1, 8])) + data[end:]
        path.write_bytes(data)
        try:
            load(path)
        except ConsilienceError:
            continue


@pytest.mark.parametrize("extension", sorted(FORMATS.keys() - {".xml"}))
@pytest.mark.parametrize(
    "piece", ["(", "{", "[", "<a>", '"', "/*", '\\"', "%\n", "property ", "//\n"]
)
def test_long_runs_of_brackets_and_quotes_end_quickly(extension, piece):
    form = FORMATS[extension]
    text = form.write(chain())
    for place in (0, len(text) // 3, len(text) // 2, len(text)):
        try:
            form.parse(text[:place] + piece * 20_000 + text[place:], "deep")
        except ConsilienceError:
            continue
