from __future__ import annotations

import io
import xml.etree.ElementTree as ET

import matplotlib as mpl
import numpy as np
import pytest
from show_things import ODD, THINGS, by_tests, discrete, net, tables

import consilience as cs
from consilience.errors import InputError
from consilience.show.views import PICTURES, VIEWS

mpl.use("Agg")
from matplotlib.axes import Axes

OPTIONS = {
    ("Network", "worlds"): {"do": {"sex": "F"}},
    ("DAG", "worlds"): {"do": {"sex": "F"}},
    ("Network", "sources"): {"node": "pressure"},
    ("Network", "classes"): {"node": "sex", "features": ["pressure"]},
    ("CrossEvaluation", "estimators"): {"measure": "log_loss"},
    ("CrossEvaluation", "sources"): {"measure": "log_loss"},
    ("CrossEvaluation", "curve"): {"measure": "log_loss", "structure": "naive Bayes"},
    ("CrossEvaluation", "calibration"): {"structure": "naive Bayes"},
}


def learning_curve():
    part = discrete().select(["sex", "age", "ill"])
    return cs.cross_evaluate(part, "ill", splits=cs.classify.LearningCurve((60, 120)), seed=1)


def thing_for(kind, view):
    if (kind, view) == ("SearchResult", "tests"):
        return by_tests()
    if kind == "FairnessReport":
        return THINGS[kind]()
    if kind == "CounterfactualFairness":
        return THINGS["FairnessReport"]().counterfactual
    return learning_curve() if view in ("curve", "curves") else THINGS[kind]()


@pytest.mark.parametrize(
    ("kind", "view"), [(kind.__name__, view) for kind, views in VIEWS.items() for view in views]
)
def test_every_view_draws_and_returns_axes(kind, view):
    drawn = cs.plot(thing_for(kind, view), view, **OPTIONS.get((kind, view), {}))
    axes = [drawn] if isinstance(drawn, Axes) else list(drawn.flat)
    assert axes
    assert all(isinstance(ax, Axes) for ax in axes)
    axes[0].figure.savefig(io.BytesIO(), format="png")


@pytest.mark.parametrize("kind", [kind.__name__ for kind in PICTURES])
def test_every_picture_is_well_formed_and_takes_a_title(kind):
    root = ET.fromstring(cs.svg(THINGS[kind](), title="a <title>"))
    assert root.tag.endswith("svg")
    assert "a <title>" in root.get("aria-label")


def test_the_usual_view_is_the_first():
    assert cs.plot(THINGS["Fusion"]()).flat[0].get_title("left") == "a: 7 arcs"


def test_what_has_no_picture_is_refused_with_what_has_one():
    with pytest.raises(
        InputError, match=r"^plot: there is no picture of type 'dict'. What has one"
    ):
        cs.plot({"yes": 0.5})
    with pytest.raises(
        InputError, match=r"^svg: there is no picture of type 'Table'. What has one"
    ):
        cs.svg(discrete())


def test_an_unknown_view_is_refused_with_the_views():
    with pytest.raises(InputError, match=r"a Network has no view 'table'. Its views: 'graph', "):
        cs.plot(net(), "table")


def test_an_unknown_option_is_refused_with_the_options():
    with pytest.raises(InputError, match=r"view 'gaps': unknown option 'n'. Options: 'n_patterns'"):
        cs.plot(discrete(), n=3)
    with pytest.raises(InputError, match="svg: unknown option 'names'"):
        cs.svg(net(), names=("a", "b"))


def test_an_option_that_is_needed_is_named():
    with pytest.raises(InputError, match="plot, view 'sources': node= must be given"):
        cs.plot(net(), "sources")


def test_edges_without_direction_have_no_heads():
    both = cs.CPDAG([("a", "c"), ("b", "c")], [("c", "d")])
    drawn = ET.fromstring(cs.svg(both))
    assert sum(one.tag.endswith("}polygon") for one in drawn.iter()) == 2
    assert sum(one.tag.endswith("}path") for one in drawn.iter()) == 3
    titles = [one.text for one in drawn.iter() if one.tag.endswith("}title")]
    assert {"a → c", "b → c", "c - d"} <= set(titles)
    heads = [patch for patch in cs.plot(both).patches if type(patch).__name__ == "Polygon"]
    assert len(heads) == 2


def test_a_part_of_a_class_that_no_graph_extends_is_drawn_all_the_same():
    square = cs.CPDAG([], [("a", "b"), ("b", "c"), ("c", "d"), ("a", "d")])
    assert "<polygon" not in cs.svg(square)


def test_beliefs_are_drawn_as_marginals_gives_them():
    given = {"sex": "F", "age": 50.0}
    picture = cs.svg(net(), beliefs={**net().marginals(given), **given})
    belief = net().query("pressure", given)
    assert f"{belief.mean:.4g} ± {belief.sd:.3g}" in picture
    assert "= 50<" in picture
    assert "100.0%" in picture
    share = net().query(ODD, given)["none"]
    assert f"{100 * share:.1f}%" in picture


def test_the_votes_stand_at_the_arcs_of_a_fused_graph():
    fused = THINGS["Fusion"]()
    chips = [
        one
        for one in ET.fromstring(cs.svg(fused)).iter("{http://www.w3.org/2000/svg}g")
        if one.get("class") == "votes"
    ]
    assert len(chips) == len(fused.dag.arcs)
    assert {chip[1].text for chip in chips} == {"2"}


def test_a_table_of_a_node_is_a_heat_map_of_its_probabilities():
    local = tables()["ill"]
    ax = cs.plot(local)
    np.testing.assert_array_equal(ax.images[0].get_array(), local.rows)
    assert (
        ax.get_yticklabels()[0].get_text() == f"clinic=north, sex=F, age={local.given[2].states[0]}"
    )


def test_regressions_of_a_node_are_dots_with_intervals():
    local = net()["pressure"]
    axes = cs.plot(local, level=0.9)
    low, high = local.posterior.interval(0.9)
    np.testing.assert_array_equal(axes[0, 1].lines[0].get_xdata(), local.parameters[..., 1].ravel())
    ends = [segment[:, 0] for segment in axes[0, 1].collections[0].get_segments()]
    np.testing.assert_allclose(ends, np.stack([low, high], -1)[..., 1, :].reshape(-1, 2))
    assert len(axes[0, 2].collections[0].get_segments()) == 6  # not of new_source
    with pytest.raises(InputError, match="level must lie between 0 and 1"):
        cs.plot(local, level=2)


def test_a_record_without_rows_has_nothing_to_draw():
    with pytest.raises(InputError, match="does not tell numbers of rows"):
        cs.plot(cs.random_network(cs.DAG(nodes=["x"]), seed=1).record)


def test_only_columns_with_gaps_are_drawn_of_an_imputation():
    labels = [text.get_text() for text in cs.plot(THINGS["Imputation"]()).get_yticklabels()]
    assert labels == ["ill"]
    with pytest.raises(InputError, match="nothing was missing"):
        cs.plot(cs.impute(tables(), THINGS["Imputation"]().table))
