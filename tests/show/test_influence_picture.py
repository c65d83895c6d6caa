from __future__ import annotations

import xml.etree.ElementTree as ET

import matplotlib as mpl
import numpy as np
from matplotlib.bezier import BezierSegment
from matplotlib.patches import FancyBboxPatch, PathPatch, Polygon

import consilience as cs

mpl.use("Agg")

GROUPS = {"heart": ["pulse", "pressure"], "lung <&>": [f"sound {i}" for i in range(12)]}


def influence_of(arcs):
    dag = cs.DAG(arcs, nodes=list(GROUPS))
    whole = cs.DAG([*arcs, *((group, one) for group, names in GROUPS.items() for one in names)])
    net = cs.random_network(whole, n_states=2, seed=1)
    groups = {name: tuple(names) for name, names in GROUPS.items()}
    return cs.latent.Influence(net, dag, groups, 0.0, 0.0, (), "given graph")


FOUND = influence_of([("heart", "lung <&>")])


def test_each_model_is_a_box_that_lists_its_variables():
    drawn = ET.fromstring(cs.svg(FOUND, title="two models"))
    texts = [element.text for element in drawn.iter() if element.tag.endswith("}text")]
    assert texts[0] == "two models"
    assert {"heart", "pulse", "pressure", "lung <&>", "sound 0", "and 5 more"} <= set(texts)
    assert "sound 11" not in texts
    rectangles = [element for element in drawn.iter() if element.tag.endswith("}rect")]
    assert len(rectangles) == 2


def test_lines_stay_inside_their_box_and_boxes_apart():
    drawn = ET.fromstring(cs.svg(FOUND))
    for model in (one for one in drawn.iter() if one.get("class") == "model"):
        [box] = [one for one in model if one.tag.endswith("}rect")]
        top, height = float(box.get("y")), float(box.get("height"))
        lines = [float(one.get("y")) for one in model if one.tag.endswith("}text")]
        assert all(top < y < top + height for y in lines)
        assert np.diff(lines).min() >= 15


def test_matplotlib_draws_the_same_boxes_and_arcs():
    ax = cs.plot(FOUND)
    heads = [patch for patch in ax.patches if isinstance(patch, Polygon)]
    filled = [
        patch
        for patch in ax.patches
        if isinstance(patch, FancyBboxPatch) and patch.get_facecolor()[3] > 0
    ]
    assert (len(heads), len(filled)) == (1, 2)
    assert cs.plot(influence_of([]), ax=ax) is ax


def test_names_are_written_in_full_where_there_is_room():
    name = "a name of forty letters, or almost forty"
    net = cs.random_network(cs.DAG([("heart", name)]), n_states=2, seed=1)
    found = cs.latent.Influence(
        net, cs.DAG(nodes=["heart"]), {"heart": (name,)}, 0.0, 0.0, (), "given"
    )
    assert f">{name}</text>" in cs.svg(found)


def test_letters_stay_inside_their_box():
    ax = cs.plot(FOUND)
    boxes = [patch for patch in ax.patches if isinstance(patch, FancyBboxPatch)]
    words = [patch for patch in ax.patches if type(patch) is PathPatch and patch.get_fill()]
    assert len(words) == 1 + 2 + 1 + 8
    for patch in words:
        points = patch.get_path().vertices
        assert any(
            box.get_x() < points[:, 0].min()
            and points[:, 0].max() < box.get_x() + box.get_width()
            and box.get_y() < points[:, 1].min()
            and points[:, 1].max() < box.get_y() + box.get_height()
            for box in boxes
        )


def test_the_curves_of_letters_are_not_searched_for_their_extremes(monkeypatch):
    searched, plain = [], BezierSegment.axis_aligned_extrema
    monkeypatch.setattr(
        BezierSegment,
        "axis_aligned_extrema",
        lambda curve: searched.append(curve) or plain(curve),
    )
    cs.plot(FOUND)
    assert len(searched) < 50  # the corners of two boxes, not hundreds of curves of letters
