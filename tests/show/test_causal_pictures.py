from __future__ import annotations

import xml.etree.ElementTree as ET
from itertools import pairwise

import matplotlib as mpl
import pytest
from show_things import ODD, THINGS

import consilience as cs
from consilience.errors import InputError
from consilience.show.bows import extent, placed_bows
from consilience.show.picture import picture
from consilience.show.worlds import worlds_of

mpl.use("Agg")


def dashed(text):
    return [one for one in ET.fromstring(text).iter() if one.get("stroke-dasharray")]


def test_a_hidden_cause_is_a_dashed_curve_with_two_heads():
    plain, with_pair = (cs.causal.ADMG([("x", "y")], latent) for latent in ([], [("x", "y")]))
    assert not dashed(cs.svg(plain))
    assert "x ↔ y" in cs.svg(with_pair)
    heads = cs.svg(with_pair).count("<polygon") - cs.svg(plain).count("<polygon")
    assert heads == 4  # two of the curve, two of the legend
    drawn = [p for p in cs.plot(with_pair).patches if type(p).__name__ == "Polygon"]
    assert len(drawn) == 3


def test_curves_lie_in_the_picture_and_avoid_other_boxes():
    names = [f"v{i}" for i in range(6)]
    chain = list(pairwise(names))
    graph = cs.causal.ADMG(chain, [("v0", "v3"), ("v1", "v5"), ("v0", "v5")])
    drawn = picture(graph)
    left, top, right, bottom = extent(drawn.bows.values())
    assert left >= 0
    assert top >= 0
    assert right <= drawn.layout.width + 1e-9
    assert bottom <= drawn.layout.height + 1e-9
    again = placed_bows(graph.latent, drawn.layout.boxes, graph.arcs)
    assert set(again) == set(graph.latent)


def test_the_three_worlds():
    dag = cs.DAG([("S", "R"), ("R", "GPA"), ("K", "GPA"), ("GPA", "FYA"), ("K", "FYA")])
    before, after, both = worlds_of(dag, {"R": "0"})
    assert before.graph == dag
    assert ("S", "R") not in after.graph.arcs
    assert ("K", "GPA*") in both.graph.arcs
    assert ("R*", "GPA*") in both.graph.arcs
    assert ("S", "R*") not in both.graph.arcs
    assert both.graph.latent == (("GPA", "GPA*"), ("FYA", "FYA*"))
    text = cs.svg(dag, do={"R": "0"})
    assert "do(R=0)" in text
    assert len(cs.plot(dag, "worlds", do={"R": "0"})) == 3
    with pytest.raises(InputError, match="without beliefs"):
        cs.svg(dag, do={"R": "0"}, highlight=["R"])


def test_the_hedge_of_a_refusal_is_set_off():
    found = cs.causal.identify(cs.causal.ADMG([("x", "y"), ("y", "z")], [("x", "y")]), "z", do="x")
    assert cs.svg(found).count("#2f6fe4") > cs.svg(found.graph).count("#2f6fe4")


def test_the_page_of_an_audit_has_no_script_and_escapes_names():
    rows = {
        "<b>sex</b>": ["F", "<script>x</script>"] * 20,
        "y": ["no", "yes", "yes", "no"] * 10,
    }
    table = cs.read(rows)
    net = cs.fit(cs.DAG([("<b>sex</b>", "y")]), table, cs.Dirichlet(per_cell=1))
    report = cs.causal.fairness(
        net, table, protected="<b>sex</b>", target="y", positive="yes", model=net
    )
    page = report.to_html()
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert page.index("Assumptions") > page.index("Gaps")


def test_parts_of_an_effect_and_reports_have_svg_pictures():
    for kind in ("PathEffects", "FairnessReport"):
        ET.fromstring(cs.svg(THINGS[kind](), title=ODD))


def test_a_single_number_has_no_picture():
    x, y = (cs.Variable(name, ("0", "1")) for name in "xy")
    net = cs.Network.of(
        [cs.Categorical(x, (), [0.5, 0.5]), cs.Categorical(y, (x,), [[0.5, 0.5], [0.1, 0.9]])]
    )
    with pytest.raises(InputError, match="one number"):
        cs.svg(cs.causal.effect(net, "y", do={"x": "1"}, state="1"))
