from __future__ import annotations

from itertools import pairwise

import matplotlib as mpl
import numpy as np
import pytest

import consilience as cs
from consilience.show.many import MOST_NAMED

mpl.use("Agg")

SOURCES = tuple(f"source {i} of many that have long names" for i in range(160))
SITE = cs.Variable("site", (*SOURCES, "new_source"))
ILL, DOSE = cs.Variable("ill", ("no", "yes")), cs.Variable("dose")


def net():
    rng = np.random.default_rng(1)
    share = rng.uniform(0.1, 0.9, 161)
    start = rng.normal(0, 1, 161)
    return cs.Network.of(
        [
            cs.Categorical(SITE, (), np.append(np.full(160, 1 / 160), 0.0)),
            cs.Categorical(ILL, (SITE,), np.stack([1 - share, share], axis=1)),
            cs.LinearGaussian(DOSE, (SITE,), start, np.zeros((161, 0)), np.ones(161)),
        ],
        source="site",
    )


@pytest.mark.parametrize("node", ["ill", "dose"])
def test_many_sources_are_sorted_and_the_new_one_stands_last(node):
    first = cs.plot(net(), "sources", node=node)[0, 0]
    values = first.lines[0].get_xdata()
    assert (np.diff(values[:-1]) >= 0).all()
    assert values[-1] == net()[node].parameters[-1, 1 if node == "ill" else 0]
    assert "160 sources by value" in first.figure.get_suptitle()


@pytest.mark.parametrize("node", ["ill", "dose"])
def test_names_of_many_sources_are_thinned_and_do_not_overlap(node):
    first = cs.plot(net(), "sources", node=node)[0, 0]
    first.figure.canvas.draw()
    labels = [label for label in first.get_yticklabels() if label.get_text()]
    assert len(labels) == MOST_NAMED
    assert labels[-1].get_text() == "new_source"
    places = [label.get_window_extent() for label in labels]
    tops = sorted((place.y0, place.y1) for place in places)
    assert all(low[1] < high[0] + 1 for low, high in pairwise(tops))
    assert min(place.x0 for place in places) >= 0


def test_of_many_sources_those_that_lack_most_are_shown():
    rows = {f"s{k}": {"x": [None] * k + ["a"] * (40 - k), "y": ["u", "v"] * 20} for k in range(40)}
    above, _ = cs.plot(cs.read(rows, source="F"))
    labels = [text.get_text() for text in above.get_yticklabels()]
    assert labels[:2] == ["s39", "s38"]
    assert labels[-1] == "mean of 10 more"
    assert above.get_title("left").endswith("sources that lack most first")


def test_of_many_graphs_those_that_differ_most_are_drawn():
    same = cs.DAG([("a", "b"), ("b", "c")])
    dags = {f"s{k}": same for k in range(20)} | {"odd": cs.DAG([("c", "a")], nodes=["b"])}
    axes = cs.plot(cs.fuse(dags), max_panels=2)
    assert "odd: 1 arc" in [ax.get_title("left") for ax in axes.flat]
