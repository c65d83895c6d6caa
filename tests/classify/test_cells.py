from __future__ import annotations

import json
from functools import partial
from types import ModuleType

import numpy as np
import pytest
from classifier_data import patients

import consilience as cs
from consilience.classify.cells import identity_of, table_digest
from consilience.errors import FormatError, InputError

FRAME = patients(60)
TABLE = cs.read(FRAME, source="hospital")
CHOICES = {
    "structures": {"naive Bayes": cs.naive_bayes},
    "estimators": {"pooled": cs.Pooled(cs.Dirichlet()), "MLE": cs.MLE()},
    "splits": cs.classify.StratifiedFolds(2),
}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "cells.jsonl"


def evaluated(path, table=TABLE, **options):
    return cs.cross_evaluate(table, "ill", resume=path, **{**CHOICES, **options})


def same(found, other):
    assert found.results == other.results
    for mine, theirs in zip(found.cells, other.cells, strict=True):
        np.testing.assert_array_equal(mine.curve.observed, theirs.curve.observed)


def test_finished_cells_are_not_computed_again(path):
    first = evaluated(path)
    text = path.read_text()
    again = evaluated(path)
    assert (first.n_resumed, again.n_resumed) == (0, 8)
    same(first, again)
    assert path.read_text() == text
    assert any(result.value == float("inf") for result in again.results)


def test_after_an_interrupt_the_work_goes_on(path):
    def interrupt(share, words):
        if share > 0.45:
            raise KeyboardInterrupt

    assert len(evaluated(path, progress=interrupt).cells) == 4
    whole = evaluated(path)
    assert (whole.n_resumed, whole.stopped_by) == (4, "end")
    same(whole, cs.cross_evaluate(TABLE, "ill", **CHOICES))


def test_a_line_that_was_cut_off_is_computed_again(path):
    whole = evaluated(path)
    path.write_bytes(path.read_bytes()[:-30])
    again = evaluated(path)
    assert again.n_resumed == 7
    same(whole, again)
    assert len(path.read_text().splitlines()) == 9


@pytest.mark.parametrize("kept", [0, 10])
def test_a_file_with_less_than_a_heading_is_begun_anew(path, kept):
    evaluated(path)
    heading = path.read_text().splitlines()[0]
    path.write_text(heading if kept else "")
    assert evaluated(path).n_resumed == 0
    assert evaluated(path).n_resumed == 8


CHANGES = {
    "another row": {"table": cs.read(FRAME.iloc[::-1].reset_index(drop=True), source="hospital")},
    "a declared state": {
        "table": cs.read(FRAME, source="hospital", states={"rash": ["s0", "s1", "s2"]})
    },
    "weights": {"table": cs.read(FRAME.assign(n=2), source="hospital", weight="n")},
    "no source": {"table": cs.read(FRAME.drop(columns="hospital"))},
    "another seed": {"seed": 1},
    "another number of folds": {"splits": cs.classify.StratifiedFolds(3)},
    "another positive state": {"positive": "s0"},
    "other bins": {"n_bins": 5},
    "another prior": {
        "estimators": {"pooled": cs.Pooled(cs.Dirichlet(ess=5)), "MLE": cs.MLE()},
    },
    "another structure of the same name": {"structures": {"naive Bayes": cs.tan}},
    "cut columns": {"discretize": {"x": cs.Quantiles(2)}, "table": None},
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_was_computed_from_anything_else_is_not_used(path, change):
    options = dict(CHANGES[change])
    if "table" in options and options["table"] is None:
        numbers = FRAME.assign(x=np.arange(60) + 0.5)
        options["table"] = cs.read(numbers, source="hospital")
        evaluated(path, options["table"], discretize={"x": cs.Quantiles(3)})
    else:
        evaluated(path)
    again = evaluated(path, **options)
    shared = {"another prior": 6, "another structure of the same name": 4}
    assert again.n_resumed == shared.get(change, 0)
    same(again, cs.cross_evaluate(options.pop("table", TABLE), "ill", **{**CHOICES, **options}))


def test_a_file_of_something_else_is_left_alone(path):
    for text in ("a,b\n1,2\n", "{}\n", "no newline", '{"consilience": "cross-evaluation"}\n'):
        path.write_text(text)
        with pytest.raises(
            FormatError, match=r"is no file of a cross-evaluation of this version; it was left"
        ):
            evaluated(path)
        assert path.read_text() == text


def test_a_broken_line_is_named(path):
    evaluated(path)
    lines = path.read_text().splitlines()
    for broken in ("{", '{"key": "x"}', "[1]"):
        path.write_text("\n".join([*lines[:2], broken, *lines[2:]]) + "\n")
        with pytest.raises(FormatError, match="line 3: this is no cell of a cross-evaluation"):
            evaluated(path)


def test_a_folder_is_no_file(tmp_path):
    with pytest.raises(InputError, match="is not a file"):
        evaluated(tmp_path)


def test_lines_are_plain_data(path):
    evaluated(path)
    heading, *cells = map(json.loads, path.read_text().splitlines())
    assert heading == {"consilience": "cross-evaluation", "format": 2}
    assert {cell["estimator"] for cell in cells} == {
        *("class prior", "class prior by source", "pooled", "MLE")
    }


def made(depth):
    return lambda table, target: depth


def test_functions_are_known_by_what_they_do():
    assert identity_of(cs.tan) == identity_of(cs.tan)
    assert identity_of(cs.tan) != identity_of(cs.naive_bayes)
    assert identity_of(made(1)) == identity_of(made(1))
    assert identity_of(made(1)) != identity_of(made(2))
    assert identity_of(partial(cs.tan, root="a")) == identity_of(partial(cs.tan, root="a"))
    assert identity_of(partial(cs.tan, root="a")) != identity_of(partial(cs.tan, root="b"))
    assert identity_of(cs.DAG([("a", "b")])) != identity_of(cs.DAG([("b", "a")]))
    assert identity_of(lambda t, c, n=1: n) != identity_of(lambda t, c, n=2: n)


LIMIT = [1]


def helper():
    return LIMIT


def by_global(table, target):
    return cs.naive_bayes(table, target) if helper()[0] == 1 else cs.tan(table, target)


def test_functions_are_known_by_the_global_values_they_name(path, monkeypatch):
    structures = {"mine": by_global}
    evaluated(path, structures=structures)
    assert evaluated(path, structures=structures).n_resumed == 8
    monkeypatch.setitem(by_global.__globals__, "LIMIT", [2])
    again = evaluated(path, structures=structures)
    assert again.n_resumed == 4
    same(again, cs.cross_evaluate(TABLE, "ill", **{**CHOICES, "structures": structures}))


settings = ModuleType("settings")


def by_module(table, target):
    return settings.depth


def test_values_of_modules_are_known_by_their_content(monkeypatch):
    module = ModuleType("settings_of_mine")
    monkeypatch.setitem(by_module.__globals__, "settings", module)
    module.depth = 1
    before = identity_of(by_module)
    module.depth = 2
    assert identity_of(by_module) != before


def net_of(rows):
    return cs.fit(cs.naive_bayes(rows, "ill"), rows, cs.Dirichlet())


@pytest.mark.parametrize(
    ("one", "same", "other"),
    [
        (TABLE.take(slice(0, 30)), TABLE.take(slice(0, 30)), TABLE.take(slice(30, 60))),
        (net_of(TABLE.take(slice(0, 30))), net_of(TABLE.take(slice(0, 30))), net_of(TABLE)),
        (np.arange(5000), np.arange(5000), np.where(np.arange(5000) == 2000, 0, np.arange(5000))),
        ({"a", "b"}, {"b", "a"}, {"a", "c"}),
        (cs.HillClimb(), cs.HillClimb(), cs.GES()),
    ],
    ids=["table", "network", "array", "set", "choice"],
)
def test_enclosed_values_are_known_by_their_content(one, same, other):
    assert identity_of(made(one)) == identity_of(made(same))
    assert identity_of(made(one)) != identity_of(made(other))


class Learner:
    def __init__(self, root):
        self.root = root

    def __call__(self, table, target):
        return self.root


def test_objects_are_known_by_their_attributes():
    assert identity_of(Learner("a")) == identity_of(Learner("a"))
    assert identity_of(Learner("a")) != identity_of(Learner("b"))
    assert identity_of(Learner("a").__call__) != identity_of(Learner("b").__call__)


def test_what_has_no_content_to_compare_is_refused_before_any_work(path):
    rng = np.random.default_rng(1)

    def random(table, target):
        return cs.naive_bayes(table, target) if rng.random() else None

    with pytest.raises(InputError, match="resume: the structure 'mine' depends on Generator"):
        evaluated(path, structures={"mine": random})
    assert not path.exists()
    assert cs.cross_evaluate(TABLE, "ill", **{**CHOICES, "structures": {"mine": random}}).cells


def test_tables_are_known_by_all_that_is_in_them():
    assert table_digest(TABLE) == table_digest(cs.read(FRAME, source="hospital"))
    assert table_digest(TABLE) != table_digest(TABLE.take(slice(0, 59)))
    assert table_digest(TABLE) != table_digest(TABLE.select(["ill", "rash", "fever", "smoke"]))
