from __future__ import annotations

import io

import matplotlib as mpl
import numpy as np
import pytest
from show_graphs import ASIA, network, with_source

from consilience.errors import InputError, UnknownNameError
from consilience.graph.dag import DAG
from consilience.show.plot import plot_graph, plot_sources

mpl.use("Agg")
import matplotlib.pyplot as plt

HEART = DAG([("sex", "pain")])


def by_hospital(n_states=2, with_posterior=True, dag=HEART):
    return network(
        with_source(dag, ["pain"]),
        n_states=n_states,
        source="hospital",
        sources=("north", "south", "west"),
        with_posterior=with_posterior,
    )


def panels(axes):
    return [ax for ax in axes.flat if ax.axison]


def save(figure):
    figure.savefig(io.BytesIO(), format="png")


def test_a_graph_is_drawn_with_two_patches_for_each_node_and_each_arc():
    ax = plot_graph(ASIA)
    assert len(ax.patches) == 2 * (len(ASIA.nodes) + len(ASIA.arcs))
    save(ax.figure)


def test_a_graph_is_drawn_into_given_axes_which_it_fills():
    _, axes = plt.subplots(1, 2)
    assert plot_graph(network(with_source(ASIA, ["dysp"]), source="hospital"), axes[1]) is axes[1]
    assert axes[0].patches[:] == []
    assert axes[1].yaxis_inverted()
    low, high = sorted(axes[1].get_ylim())
    for patch in axes[1].patches:
        box = patch.get_path().transformed(patch.get_patch_transform()).get_extents()
        assert low <= box.y0 <= box.y1 <= high


def test_names_with_dollars_are_not_taken_for_mathematics():
    save(plot_graph(DAG([("$a$", r"b$\frac$")])).figure)


def test_an_empty_graph_and_a_large_one_can_be_drawn():
    save(plot_graph(DAG([], nodes=["only"])).figure)
    figure = plot_graph(DAG([(f"n{i}", f"n{i + 1}") for i in range(100)])).figure
    assert max(figure.get_size_inches()) <= 40.01


def test_sources_are_compared_in_one_panel_for_each_state_of_the_other_parents():
    axes = plot_sources(by_hospital(), "pain")
    assert [ax.get_title() for ax in panels(axes)] == ["sex=a", "sex=b"]
    labels = [label.get_text() for label in axes[0, 0].get_yticklabels()]
    assert labels == ["north", "south", "west"]
    save(axes[0, 0].figure)


def test_dots_are_the_probabilities_and_lines_the_intervals():
    net = by_hospital()
    table = net["pain"].table  # (hospital, sex, pain)
    low, high = net["pain"].posterior.interval(0.9)
    for sex, ax in enumerate(panels(plot_sources(net, "pain", level=0.9))):
        (dots,) = ax.lines
        np.testing.assert_array_equal(dots.get_xdata(), table[:, sex, 1])
        ends = [segment[:, 0] for segment in ax.collections[0].get_segments()]
        np.testing.assert_allclose(ends, np.stack([low, high], axis=-1)[:, sex, 1])


def test_without_a_posterior_there_are_dots_only():
    (ax, _) = panels(plot_sources(by_hospital(with_posterior=False), "pain"))
    assert (len(ax.lines), len(ax.collections)) == (1, 0)


def test_several_states_have_their_colours_and_a_legend():
    first = plot_sources(by_hospital(n_states=3), "pain")[0, 0]
    assert [text.get_text() for text in first.figure.legends[0].get_texts()] == ["a", "b", "c"]
    assert len({line.get_color() for line in first.lines}) == 3
    save(first.figure)


def test_the_states_shown_can_be_chosen():
    first = plot_sources(by_hospital(), "pain", states=["a"])[0, 0]
    assert first.figure.get_supxlabel() == "P(pain = a)"


def test_a_node_with_the_source_as_its_only_parent_has_one_panel_without_title():
    axes = plot_sources(by_hospital(dag=DAG([], nodes=["pain"])), "pain")
    assert [ax.get_title() for ax in panels(axes)] == [""]
    save(axes[0, 0].figure)


def test_of_many_panels_those_that_differ_most_are_shown_in_their_order():
    net = by_hospital(dag=DAG([("sex", "pain"), ("age", "pain")]))
    spread = np.ptp(net["pain"].table[..., 1], axis=0).ravel()
    titles = ["sex=a, age=a", "sex=a, age=b", "sex=b, age=a", "sex=b, age=b"]
    wanted = [titles[i] for i in sorted(np.argsort(-spread)[:3])]
    axes = plot_sources(net, "pain", max_panels=3)
    assert [ax.get_title() for ax in panels(axes)] == wanted
    assert "3 of 4" in axes[0, 0].figure.get_suptitle()
    save(axes[0, 0].figure)


def test_a_network_without_source_is_refused():
    with pytest.raises(InputError, match="has no source"):
        plot_sources(network(ASIA), "dysp")


def test_a_node_that_does_not_depend_on_the_source_is_refused():
    with pytest.raises(
        InputError, match=r"'sex' does not depend on the source 'hospital'\..*'pain'"
    ):
        plot_sources(by_hospital(), "sex")


@pytest.mark.parametrize("wrong", [{"level": 1.0}, {"max_panels": 0}, {"states": []}])
def test_senseless_arguments_are_refused(wrong):
    with pytest.raises(InputError, match=r"plot: .*(level|max_panels|states)"):
        plot_sources(by_hospital(), "pain", **wrong)


def test_an_unknown_state_is_refused():
    with pytest.raises(UnknownNameError, match="has no state 'z'"):
        plot_sources(by_hospital(), "pain", states=["z"])
