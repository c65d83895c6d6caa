from __future__ import annotations

import csv
import math

import numpy as np
import pytest
from classifier_data import patients, with_gaps

import consilience as cs
from consilience.classify.cells import Cell, Part
from consilience.classify.evaluation import CalibrationCurve
from consilience.classify.results import CrossEvaluation
from consilience.classify.seen_sources import with_seen_sources
from consilience.classify.trial import Trial
from consilience.errors import DataError, InputError, UnknownNameError

TABLE = cs.read(patients(120), source="hospital", states={"ill": ["s0", "s1"]})
NAIVE = {"naive Bayes": cs.naive_bayes}
TWO = {"pooled": cs.Pooled(cs.Dirichlet()), "HDMCS": cs.HDMCS()}
CURVE = CalibrationCurve(np.array([0.5]), np.array([0.5]), np.array([1.0]))


def evaluated(table=TABLE, **options):
    chosen = {
        "structures": NAIVE,
        "estimators": TWO,
        "splits": cs.classify.StratifiedFolds(3),
        **options,
    }
    return cs.cross_evaluate(table, "ill", **chosen)


def record(values, *, measure="log_loss", by_source=None, by_size=False, **options):
    """A record from {(estimator, split, size): value}, and values by source for each of these."""
    cells = [
        Cell(
            "" if estimator == "class prior" else "net",
            estimator,
            split,
            size,
            (
                Part(None, 10.0, {measure: value}),
                *(
                    Part(source, n_rows, {measure: mine})
                    for source, (mine, n_rows) in (by_source or {}).get(key, {}).items()
                ),
            ),
            CURVE,
            0.0,
        )
        for key, value in values.items()
        for estimator, split, size in [key]
    ]
    return CrossEvaluation("ill", "yes", "splits", by_size, tuple(cells), len(cells), 0, **options)


def test_a_cell_is_what_fitting_and_predicting_by_hand_gives():
    found = evaluated()
    split = cs.classify.StratifiedFolds(3).split(TABLE, "ill", 0)[1]
    train, test = TABLE.take(split.train), TABLE.take(split.test)
    net = cs.fit(cs.naive_bayes(train, "ill"), train, cs.HDMCS())
    expected = cs.classify.evaluate_network(net, test, "ill")
    [cell] = [c for c in found.cells if (c.estimator, c.split) == ("HDMCS", "fold 2")]
    for part in cell.parts:
        mine = expected.by_source[part.source] if part.source else expected.overall
        for name in ("accuracy", "recall", "f1", "brier", "log_loss", "calibration_error"):
            assert part.measures[name] == pytest.approx(getattr(mine, name))
        assert part.n_rows == mine.n_rows
    assert cell.size == split.size


def test_the_joint_log_likelihood_is_that_of_a_row_given_its_source():
    found = evaluated(estimators={"pooled": TWO["pooled"]}, splits=cs.classify.LeaveOneSourceOut())
    cell = found.cells[-1]
    test = TABLE.take(TABLE.source_codes == 2)
    train = TABLE.take(TABLE.source_codes != 2)
    rows = cs.Table(cs.Schema(train.variables), train.columns)
    net = cs.fit(cs.naive_bayes(rows, "ill"), rows, cs.Dirichlet())
    expected = net.log_likelihood(cs.Table(cs.Schema(test.variables), test.columns)).mean()
    assert cell.parts[0].measures["log_likelihood"] == pytest.approx(expected)


def test_the_class_prior_is_always_there_and_is_that_of_the_training_rows():
    found = evaluated()
    assert found.contestants[:2] == (("", "class prior"), ("", "class prior by source"))
    split = cs.classify.StratifiedFolds(3).split(TABLE, "ill", 0)[0]
    ill = TABLE.column("ill")
    share = (ill[split.train].sum() + 0.5) / (split.size + 1)
    test = ill[split.test]
    expected = -np.where(test == 1, np.log(share), np.log(1 - share)).mean()
    assert found.cells[0].parts[0].measures["log_loss"] == pytest.approx(expected)
    assert "log_likelihood" not in found.cells[0].parts[0].measures


def test_the_class_prior_by_source_has_the_shares_of_each_source_and_the_overall_ones_of_others():
    rows = {"ill": ["a", "a", "b", "b", "b", "b"], "ward": ["x", "x", "x", "y", "y", "z"]}
    table = cs.read(rows, source="ward")
    train = with_seen_sources(table.take(slice(0, 5)))
    cell = Trial(train, table, "ill", None, 10).of_source_prior("split")
    overall = (3 + 0.5) / 6
    losses = {part.source: part.measures["log_loss"] for part in cell.parts}
    assert losses["y"] == pytest.approx(-math.log((2 + overall) / 3))
    assert losses["z"] == pytest.approx(-math.log(overall))
    shares = (2 + 1 - overall) / 4, (1 + overall) / 4
    assert losses["x"] == pytest.approx(-(2 * math.log(shares[0]) + math.log(shares[1])) / 3)
    assert "class prior by source" not in str(evaluated(cs.read({"ill": rows["ill"] * 4})))


def test_the_joint_log_likelihood_is_compared_only_between_graphs_of_the_same_nodes():
    graphs = {"small": cs.DAG([("ill", "rash")]), **NAIVE}
    found = evaluated(structures=graphs, estimators={"pooled": TWO["pooled"]})
    assert "log_likelihood" not in found.measures
    assert found.summary("log_likelihood") == ()
    text = str(found)
    assert "log-likelihood  " not in text
    assert text.endswith("so their joint log-likelihoods are not compared.")
    alone = evaluated(structures={"small": graphs["small"]}, estimators={"MLE": cs.MLE()})
    assert "log_likelihood" in alone.measures
    assert alone.notes == ()


def test_after_an_interrupt_only_splits_that_all_finished_are_compared():
    values = {("a", "1", 5): 1.0, ("b", "1", 5): 2.0, ("a", "2", 5): 9.0}
    cells = record(values).cells
    found = CrossEvaluation("ill", "yes", "splits", False, cells, 4, 0)
    assert [(line.mean, line.n_splits) for line in found.summary("log_loss")] == [(1, 1), (2, 1)]
    assert found.notes == ("Compared on 1 split, those that every contestant finished.",)


def test_the_calibration_error_is_that_of_all_predictions_together():
    curves = [
        CalibrationCurve(np.array([0.5]), np.array([share]), np.array([10.0]))
        for share in (0.3, 0.7)
    ]
    cells = tuple(
        Cell("net", "a", str(k), 5, (Part(None, 10.0, {"calibration_error": 0.2}),), curve, 0.0)
        for k, curve in enumerate(curves)
    )
    [line] = CrossEvaluation("ill", "yes", "s", False, cells, 2, 0, n_bins=1).summary(
        "calibration_error"
    )
    assert line.mean == pytest.approx(0.0, abs=1e-12)
    assert (line.error, line.behind, line.n_splits) == (None, 0.0, 2)
    found = evaluated()
    for line in found.summary("calibration_error"):
        who = line.structure, line.estimator
        assert line.mean == found.curve(who).error
        assert line.worst_value == found.by_source(who, "calibration_error")[line.worst]


def test_a_source_left_out_is_a_new_source_to_a_hierarchy_and_unknown_to_others():
    choices = {**TWO, "separate": cs.Separate(cs.Dirichlet())}
    found = evaluated(estimators=choices, splits=cs.classify.LeaveOneSourceOut())
    held_out = TABLE.source_codes == 1
    train, test = TABLE.take(~held_out), TABLE.take(held_out)
    source = cs.Variable("hospital", tuple(np.delete(TABLE.sources, 1)))
    codes = np.where(train.source_codes > 1, 1, 0).astype(np.int8)
    train = cs.Table(cs.Schema(train.variables, source), train.columns, codes)
    for estimator, state in (("HDMCS", "new_source"), ("separate", None)):
        net = cs.fit(cs.naive_bayes(train, "ill"), train, choices[estimator])
        given = test.to_frame().drop(columns=["hospital"]).assign(hospital=state)
        rows = cs.read(given, schema=net.variables)
        expected = cs.evaluate(
            net.posteriors(rows, "ill"), test.column("ill"), states=("s0", "s1")
        ).overall
        [cell] = [c for c in found.cells if (c.estimator, c.split) == (estimator, TABLE.sources[1])]
        assert cell.parts[0].measures["log_loss"] == pytest.approx(expected.log_loss)


def test_states_are_those_of_the_table_not_of_the_training_rows():
    table = cs.read(
        {"ill": ["a", "b", "c"] * 12, "x": ["p", "q", "r"] * 12},
        states={"x": ["p", "q", "r", "never"]},
    )
    found = evaluated(
        table, estimators={"Dirichlet": cs.Dirichlet()}, splits=cs.classify.LearningCurve((2,))
    )
    assert all(math.isfinite(result.value) for result in found.results)
    assert "f1" not in found.measures


def test_missing_features_are_summed_out():
    frame = patients(120)
    gappy = with_gaps(frame).assign(hospital=frame["hospital"], ill=frame["ill"])
    found = evaluated(cs.read(gappy, source="hospital"))
    assert all(math.isfinite(line.mean) for line in found.summary("log_likelihood"))


def test_rows_that_are_impossible_are_predicted_by_the_classes_alone():
    table = cs.read({"ill": ["a"] * 30 + ["b"] * 10, "x": ["p"] * 39 + ["q"]})
    found = evaluated(
        table, estimators={"MLE": cs.MLE()}, splits=cs.classify.LearningCurve((3,), repeats=3)
    )
    values = {cell.parts[0].measures["accuracy"] for cell in found.cells if cell.estimator == "MLE"}
    assert min(values) >= 0.7


def test_a_structure_sees_the_training_rows_only():
    seen = []

    def remember(table, target):
        seen.append(table.n_rows)
        return cs.naive_bayes(table, target)

    evaluated(structures={"mine": remember})
    assert seen == [80, 80, 80]


def test_a_graph_may_leave_columns_out():
    found = evaluated(structures={"graph": cs.DAG([("ill", "rash")])})
    assert len(found.cells) == 12


def test_cut_points_are_found_in_each_training_set():
    rng = np.random.default_rng(1)
    ill = rng.integers(0, 2, 60)
    table = cs.read({"ill": ill.astype(str), "x": rng.normal(ill)})
    cuts = []

    def remember(rows, target):
        cuts.append(rows.variables["x"].cuts)
        return cs.naive_bayes(rows, target)

    found = evaluated(
        table,
        structures={"mine": remember},
        estimators={"Dirichlet": cs.Dirichlet()},
        discretize={"x": cs.data.MDLP("ill")},
    )
    assert len(set(cuts)) == 3
    assert len(found.cells) == 6


def test_by_default_naive_bayes_and_trees_meet_what_suits_the_number_of_sources():
    many = cs.cross_evaluate(TABLE, "ill", splits=cs.classify.LearningCurve((30,), repeats=1))
    assert [estimator for structure, estimator in many.contestants if structure == "TAN"] == [
        *("pooled", "separate", "HDMCS", "HDC", "Calibrated")
    ]
    one = cs.read(patients(60).drop(columns="hospital"))
    found = cs.cross_evaluate(one, "ill", splits=cs.classify.LearningCurve((30,), repeats=1))
    assert found.contestants[1:3] == (("naive Bayes", "Dirichlet"), ("naive Bayes", "HDC"))
    assert found.sources == ()


def test_a_calibrated_chain_is_a_contestant():
    found = evaluated(
        estimators={"LOO": cs.classify.Calibrated()},
        splits=cs.classify.LearningCurve((60,), repeats=1),
    )
    split = cs.classify.LearningCurve((60,), repeats=1).split(TABLE, "ill", 0)[0]
    train = TABLE.take(split.train)
    net = cs.classify.calibrated_chain(cs.naive_bayes(train, "ill"), train, "ill")
    expected = cs.classify.evaluate_network(net, TABLE.take(split.test), "ill")
    assert found.cells[2].parts[0].measures["brier"] == pytest.approx(expected.overall.brier)


def test_means_and_errors_are_over_splits():
    values = {("a", "1", 5): 1.0, ("a", "2", 5): 3.0, ("b", "1", 5): 2.0, ("b", "2", 5): 5.0}
    a, b = record(values).summary("log_loss")
    assert (a.mean, a.error, a.n_splits, a.size) == (2.0, pytest.approx(1.0), 2, None)
    assert (a.behind, a.behind_error) == (0.0, 0.0)
    assert (b.behind, b.behind_error) == (1.5, pytest.approx(0.5))


def test_errors_of_folds_are_corrected_for_overlap_and_repeats_are_no_new_rows():
    once = {("a", "1", 8): 1.0, ("a", "2", 8): 3.0, ("b", "1", 8): 2.0, ("b", "2", 8): 5.0}
    a, b = record(once, overlap=0.25).summary("log_loss")
    assert a.error == pytest.approx(math.sqrt(2 * (1 / 2 + 0.25)))
    assert b.behind_error == pytest.approx(math.sqrt(0.5 * (1 / 2 + 0.25)))
    again = {(who, f"{k}, {split}", 8): v for (who, split, _), v in once.items() for k in range(50)}
    a, b = record(again, overlap=0.25).summary("log_loss")
    assert a.error == pytest.approx(math.sqrt(100 / 99 * (1 / 100 + 0.25)))
    assert b.behind_error > 0.25
    assert evaluated(estimators={"MLE": cs.MLE()}).overlap == 0.5


def test_the_best_has_the_highest_accuracy_and_the_lowest_loss():
    values = {("a", "1", 5): 0.9, ("b", "1", 5): 0.7}
    a, b = record(values, measure="accuracy").summary("accuracy")
    assert (a.behind, b.behind) == (0.0, pytest.approx(0.2))
    assert a.error is None


def test_what_is_infinite_has_no_error_and_is_infinitely_behind():
    values = {("a", "1", 5): 1.0, ("a", "2", 5): 1.5, ("b", "1", 5): math.inf, ("b", "2", 5): 1.0}
    _, b = record(values).summary("log_loss")
    assert (b.mean, b.error, b.behind, b.behind_error) == (math.inf, None, math.inf, None)


def test_sizes_of_a_curve_are_told_apart():
    values = {("a", "1", 5): 1.0, ("a", "1", 9): 0.5, ("b", "1", 5): 0.8, ("b", "1", 9): 0.7}
    found = record(values, by_size=True)
    assert found.sizes == (5, 9)
    assert [(line.estimator, line.size, line.behind) for line in found.summary("log_loss")] == [
        ("a", 5, pytest.approx(0.2)),
        ("b", 5, 0.0),
        ("a", 9, 0.0),
        ("b", 9, pytest.approx(0.2)),
    ]


def test_a_source_counts_by_its_rows_in_each_split():
    by_source = {
        ("a", "1", 5): {"north": (1.0, 3.0), "south": (0.5, 1.0)},
        ("a", "2", 5): {"north": (2.0, 1.0)},
    }
    found = record({("a", "1", 5): 1.0, ("a", "2", 5): 2.0}, by_source=by_source)
    assert found.by_source(("net", "a"), "log_loss") == {"north": 1.25, "south": 0.5}
    [line] = found.summary("log_loss")
    assert (line.worst, line.worst_value, line.gap) == ("north", 1.25, 0.75)


def test_results_are_tidy(tmp_path):
    found = evaluated()
    frame = found.to_frame()
    names = ["structure", "estimator", "split", "size", "source", "measure", "value"]
    assert list(frame.columns) == names
    found.to_csv(tmp_path / "results.csv")
    with (tmp_path / "results.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == names
    assert len(rows) == len(frame) == len(found.results)
    assert [float(row["value"]) for row in rows] == frame["value"].tolist()
    assert rows[0]["source"] == ""
    found.summary_to_csv(tmp_path / "summary.csv")
    with (tmp_path / "summary.csv").open() as file:
        lines = list(csv.DictReader(file))
    of_likelihood = [line for line in lines if line["measure"] == "log_likelihood"]
    assert [line["estimator"] for line in of_likelihood] == ["pooled", "HDMCS"]
    assert {line["measure"] for line in lines} == set(found.measures)


def test_the_calibration_curve_joins_those_of_the_splits():
    found = evaluated()
    curve = found.curve(("naive Bayes", "pooled"))
    assert curve.n_rows.sum() == pytest.approx(120)
    assert (np.diff(curve.predicted) > 0).all()
    assert len(curve.predicted) <= 10


def test_the_text_has_means_and_details():
    text = str(evaluated())
    assert text.startswith("'ill' (positive: 's1'), 3 folds\n\nstructure    estimator  ")
    assert "behind the best" in text
    assert "worst source" in text
    assert " best  " in text
    assert repr(evaluated()) == "CrossEvaluation(4 contestants, 3 folds, 12 cells)"


def test_the_text_of_a_curve_has_sizes():
    text = str(evaluated(splits=cs.classify.LearningCurve((20, 60), repeats=2)))
    assert "accuracy by rows to learn from\nstructure    estimator" in text
    assert "  20  " in text.replace("            ", "  ")


def test_the_same_seed_gives_the_same_numbers_and_another_others():
    first, again, other = evaluated(), evaluated(), evaluated(seed=1)
    assert first.results == again.results
    assert first.results != other.results


def test_progress_is_told_after_each_cell():
    told = []
    evaluated(progress=lambda share, words: told.append((share, words)))
    assert told[0] == (1 / 12, "fold 1, 80 rows: class prior")
    assert told[-1] == (1.0, "fold 3, 80 rows: naive Bayes HDMCS")


def test_an_interrupt_keeps_what_is_finished():
    def interrupt(share, words):
        if share > 0.5:
            raise KeyboardInterrupt

    found = evaluated(progress=interrupt)
    assert (len(found.cells), found.n_cells, found.stopped_by) == (7, 12, "interrupt")
    assert "interrupted after 7 of 12 cells" in str(found)
    assert repr(found).endswith("7 of 12 cells)")
    assert evaluated().stopped_by == "end"


def test_an_interrupt_before_anything_is_finished_is_an_interrupt():
    def never(table, target):
        raise KeyboardInterrupt

    numbers = cs.read({"ill": ["a", "b"] * 5, "x": np.arange(10.5, 20.5)})
    with pytest.raises(KeyboardInterrupt):
        evaluated(numbers, discretize={"x": Stopper()})
    assert len(evaluated(structures={"never": never}).cells) == 2


class Stopper:
    """A choice of cut points during which somebody presses Ctrl-C."""

    def cut_points(self, values, weights, target):
        raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"estimators": {}}, "estimators must not be empty"),
        ({"structures": {}}, "structures must not be empty"),
        (
            {"estimators": {"x": cs.HDMCS}},
            r"cross_evaluate: the estimator 'x' must be a choice such as cs\.Dirichlet\(\) or",
        ),
        (
            {"estimators": {"x": cs.classify.Calibrated}},
            "the estimator 'x' must be a choice such as",
        ),
        ({"estimators": {"class prior": cs.MLE()}}, "'class prior' is evaluated anyway"),
        ({"estimators": [cs.MLE()]}, "estimators must be a mapping from names to choices"),
        ({"structures": cs.naive_bayes}, "structures must be a mapping from names to choices"),
        ({"discretize": cs.Quantiles(2)}, "discretize must be a mapping from names to choices"),
        ({"structures": {"x": "tan"}}, "structure must be a DAG, or a function"),
        ({"structures": {"x": cs.DAG([("rash", "fever")])}}, "a DAG in which 'ill' is a node"),
        ({"splits": 5}, "splits must be StratifiedFolds"),
        ({"splits": cs.classify.LeaveOneSourceOut}, "splits must be StratifiedFolds"),
        ({"n_bins": 0}, "n_bins must be a whole number of at least 1"),
        ({"discretize": {"rash": 3}}, "'rash' needs EqualWidth, Quantiles, Cuts or MDLP"),
    ],
)
def test_mistakes_are_named_before_any_work(options, message):
    with pytest.raises(InputError, match=message):
        evaluated(**options)


def test_unknown_names_are_named():
    with pytest.raises(UnknownNameError, match="unknown variable 'well'"):
        cs.cross_evaluate(TABLE, "well")
    with pytest.raises(UnknownNameError, match="unknown state 'yes'"):
        evaluated(positive="yes")
    with pytest.raises(UnknownNameError, match="unknown measure 'loss'"):
        evaluated().summary("loss")


def test_a_contestant_that_refuses_the_rows_is_left_out_with_a_note():
    rows = {"ill": ["yes", "no"] * 20, "fever": [36.5 + 0.1 * k for k in range(40)]}
    rows["hospital"] = ["a"] * 30 + ["b"] * 10
    rows["fever"][31:] = [None] * 9  # one value is too little for a regression of b's own
    table = cs.read(rows, source="hospital", continuous=["fever"])
    chosen = {"separate": cs.Separate(cs.Dirichlet()), "pooled": cs.Pooled(cs.Dirichlet())}
    structures = {"naive Bayes": cs.naive_bayes}
    found = cs.cross_evaluate(table, "ill", structures=structures, estimators=chosen)
    assert ("naive Bayes", "pooled") in found.contestants
    assert list(found.refused) == [("naive Bayes", "separate")]
    assert "naive Bayes with separate is left out" in found.notes[0]
    assert (found.stopped_by, len(found.finished)) == ("end", 5)
    del chosen["pooled"]
    with pytest.raises(DataError, match="source 'b'"):
        cs.cross_evaluate(table, "ill", structures=structures, estimators=chosen)


def test_a_value_that_a_class_had_only_in_the_fold_left_out_is_not_impossible():
    gain = np.concatenate([np.zeros(39), [3.0], np.linspace(0.0, 10.0, 40)])
    table = cs.read({"ill": ["no"] * 40 + ["yes"] * 40, "gain": gain}, continuous=["gain"])
    found = cs.cross_evaluate(table, "ill", structures={"naive Bayes": cs.naive_bayes})
    assert all(np.isfinite(line.mean) for line in found.summary("log_loss"))


def test_a_row_too_improbable_for_a_float_has_a_finite_loss():
    x = np.append(np.tile([0.0, 0.01, -0.01, 0.02], 20), np.tile([5.0, 5.01, 4.99, 5.02], 20))
    ill = np.repeat(["no", "yes"], 80)
    x[80] = 0.0  # one of the ill has the number of a healthy one
    found = cs.cross_evaluate(
        cs.read({"ill": ill, "x": x}),
        "ill",
        structures={"naive Bayes": cs.naive_bayes},
        estimators={"Dirichlet": cs.Dirichlet()},
    )
    losses = [cell.parts[0].measures["log_loss"] for cell in found.cells]
    assert np.isfinite(losses).all()
    assert max(losses) > 100
