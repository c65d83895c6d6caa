from __future__ import annotations

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest

import consilience as cs
from consilience.errors import InputError, UnknownNameError

mpl.use("Agg")

DAG = cs.DAG([("class", "two"), ("class", "three"), ("two", "other")])
NET = cs.random_network(DAG, n_states={"class": 3, "two": 2, "three": 3, "other": 2}, seed=1)


def shown(ax):
    return [label.get_text() for label in ax.get_yticklabels()]


def test_the_profile_shows_what_each_class_is_like():
    ax = cs.plot(NET, "classes", node="class")
    assert shown(ax) == ["two = 1", "three = 0", "three = 1", "three = 2"]
    wanted = np.vstack([NET["two"].table[:, 1:].T, NET["three"].table.T])
    np.testing.assert_allclose(ax.images[0].get_array(), wanted)
    shares = [f"{k}\n{share:.0%}" for k, share in enumerate(NET["class"].table)]
    assert [label.get_text() for label in ax.get_xticklabels()] == shares


def test_features_need_not_be_children():
    ax = cs.plot(NET, "classes", node="class", features=["other"], ax=plt.figure().subplots())
    assert shown(ax) == ["other = 1"]
    belief = NET.query("other", given={"class": "2"})["1"]
    assert ax.images[0].get_array()[0, 2] == pytest.approx(belief)


def test_features_that_cannot_be_shown_are_refused():
    with pytest.raises(UnknownNameError, match="'klass'"):
        cs.plot(NET, "classes", node="klass")
    with pytest.raises(InputError, match="other nodes than 'class'"):
        cs.plot(NET, "classes", node="class", features=["class"])
    with pytest.raises(InputError, match="at least one"):
        cs.plot(NET, "classes", node="class", features=[])
    with pytest.raises(InputError, match="'other' has no children to show"):
        cs.plot(NET, "classes", node="other")


def test_the_number_that_was_chosen_is_marked():
    table = cs.read({name: ["no", "yes"] * 20 for name in ("x", "y", "z")})
    found = cs.latent_classes(table, [3, 1, 2], choice=cs.EM(restarts=1))
    ax = cs.plot(found)
    assert ax.lines[0].get_xdata().tolist() == [1, 2, 3]
    assert ax.lines[1].get_xdata().tolist() == [found.n_states]
    assert ax.get_ylabel() == "BIC"


def with_numbers():
    kind, sign = cs.Variable("kind", ("1", "2")), cs.Variable("s", ("n", "y"))
    age = cs.Variable("age")
    return cs.Network.of(
        [
            cs.Categorical(kind, (), [0.6, 0.4]),
            cs.LinearGaussian(age, (kind,), [30.0, 62.5], np.zeros((2, 0)), [5.0, 10.0]),
            cs.Categorical(sign, (kind,), [[0.9, 0.1], [0.2, 0.8]]),
        ]
    )


def test_continuous_children_are_rows_of_means_and_sds():
    ax = cs.plot(with_numbers(), "classes", node="kind")
    assert shown(ax) == ["age", "s = y"]
    assert [text.get_text() for text in ax.texts] == ["30 ± 5", "62.5 ± 10", "0.10", "0.80"]
    assert np.isnan(np.ma.filled(ax.images[0].get_array(), np.nan)[0]).all()
    assert ax.get_xlabel() == "cells: P(state | kind), mean ± sd given kind"
    ax.figure.canvas.draw()


def test_the_axis_says_what_the_cells_are():
    assert cs.plot(NET, "classes", node="class").get_xlabel() == "cells: P(state | class)"
    only = cs.plot(with_numbers(), "classes", node="kind", features=["age"])
    assert only.get_xlabel() == "cells: mean ± sd given kind"


def test_a_continuous_node_has_no_classes():
    with pytest.raises(InputError, match="'age' is continuous; classes are the states"):
        cs.plot(with_numbers(), "classes", node="age")
