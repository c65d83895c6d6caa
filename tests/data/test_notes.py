"""What a table says about its columns: identifiers, stray labels, spikes, columns of the source."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

import consilience as cs
from consilience.data.notes import columns_of_source
from consilience.errors import UnknownNameError

N_ROWS = 60
RNG = np.random.default_rng(1)
SEX = ["F", "M", "M"] * 20


def wards(n_sources: int = 6, n_rows: int = 10) -> dict[str, list]:
    """Rows of hospitals of different regions; sex varies within them."""
    hospital = [f"h{k}" for k in range(n_sources) for _ in range(n_rows)]
    region = [("north", "south")[k % 2] for k in range(n_sources) for _ in range(n_rows)]
    beds = [100.5 + 50 * k for k in range(n_sources) for _ in range(n_rows)]
    return {"hospital": hospital, "region": region, "beds": beds, "sex": SEX[: len(hospital)]}


@pytest.mark.parametrize(
    "ids",
    [
        [f"p{k}" for k in range(N_ROWS)],
        list(range(1, N_ROWS + 1)),
        [f"p{max(k, 3)}" for k in range(N_ROWS)],
    ],
)
def test_nearly_as_many_states_as_rows_look_like_an_identifier(ids):
    [note] = cs.read({"patient": ids, "sex": SEX}).notes
    assert "'patient' looks like an identifier" in note
    assert 'drop=["patient"]' in note


def test_whole_numbers_that_floats_cannot_tell_apart_are_noted():
    numbers = RNG.permutation(2**53 + np.arange(N_ROWS) ** 2)
    [note] = cs.read({"stamp": numbers, "sex": SEX}).notes
    assert "'stamp' has whole numbers up to 9.007e+15" in note
    assert 'discrete=["stamp"]' in note
    assert not cs.read({"stamp": numbers - 2**53, "sex": SEX}).notes
    states = cs.read({"stamp": numbers, "sex": SEX}, discrete=["stamp"]).variables["stamp"].states
    assert len(states) == N_ROWS


def test_following_the_advice_silences_the_note():
    rows = {"patient": [f"p{k}" for k in range(N_ROWS)], "sex": SEX}
    table = cs.read(rows, drop=["patient"])
    assert table.notes == ()
    assert list(table.variables) == ["sex"]


@pytest.mark.parametrize(
    "column",
    [
        RNG.normal(50, 9, N_ROWS).round().tolist(),  # ages
        RNG.integers(20_000, 90_000, N_ROWS).tolist(),  # incomes, all different
        RNG.normal(0, 1, N_ROWS).tolist(),
        ["a", "b", "c"] * 20,
    ],
)
def test_ordinary_columns_have_no_note(column):
    assert cs.read({"x": column, "sex": SEX}).notes == ()


def test_numbers_with_a_stray_label_are_named_with_the_argument_that_helps():
    ages = [*RNG.normal(50, 9, N_ROWS - 2).round(1).tolist(), "NA", "NA"]
    table = cs.read({"age": [str(a) for a in ages], "sex": SEX})
    [note] = table.notes
    assert "'age' holds numbers except for 'NA' (2 rows)" in note
    assert 'missing=["NA"]' in note
    assert cs.read({"age": ages, "sex": SEX}, missing=["NA"]).variables["age"].is_continuous


def test_the_argument_keeps_the_usual_markers_where_values_are_missing():
    ages = ["", *(str(k / 10) for k in range(N_ROWS - 2)), "NA"]
    [note] = cs.read({"age": ages, "sex": SEX}).notes
    assert 'missing=["", "?", "NA"]' in note
    assert cs.read({"age": ages}, missing=["", "?", "NA"]).variables["age"].is_continuous


def test_a_usual_word_among_few_whole_numbers_is_named():
    [note] = cs.read({"stage": ["1", "2", "unknown"] * 20}).notes
    assert 'missing=["unknown"]' in note


def test_na_is_named_among_words_too_and_other_words_are_not():
    [note] = cs.read({"sex": ["F", "M", "NA"] * 20}).notes
    assert "'sex' has the state 'NA' (20 rows)" in note
    assert (
        cs.read({"answer": ["yes", "no", "unknown"] * 20, "n": ["0", "1", "3+"] * 20}).notes == ()
    )


def test_a_number_too_large_to_hold_is_read_among_labels():
    table = cs.read({"n": ["1e999", "1", "x", "2"] * 5})
    assert table.variables["n"].states == ("1e999", "1", "x", "2")


def test_a_label_that_was_declared_is_no_stray():
    assert cs.read({"s": ["F", "NA"] * 30}, states={"s": ["F", "NA"]}).notes == ()


@pytest.mark.parametrize(("value", "bound"), [(0, "at least"), (999, "at most")])
def test_a_value_far_from_all_others_is_named_with_the_argument_that_helps(value, bound):
    chol = [value] * 10 + RNG.integers(150, 300, N_ROWS - 10).tolist()
    [note] = cs.read({"chol": chol, "sex": SEX}).notes
    assert f"'chol' is {value} in 10 of 60 rows (17%) and {bound}" in note
    assert f'missing_in={{"chol": [{value}]}}' in note
    table = cs.read({"chol": chol, "sex": SEX}, missing_in={"chol": [value]})
    assert table.notes == ()
    assert table.missing["all"]["chol"] == 10 / 60


def test_markers_of_one_column_leave_the_others_and_the_usual_ones_alone():
    table = cs.read({"a": ["0", "?", "1"], "b": ["0", "1", "1"]}, missing_in={"a": [0]})
    assert table["a"].tolist() == [None, None, "1"]
    assert table["b"].tolist() == ["0", "1", "1"]
    with pytest.raises(UnknownNameError, match="unknown column 'c'"):
        cs.read({"a": ["0"]}, missing_in={"c": [0]})


def test_columns_with_one_value_within_each_source_are_of_the_source():
    table = cs.read(wards(), source="hospital")
    assert table.of_source == ("region", "beds")
    [note] = table.notes
    assert "'region', 'beds' have one value within each source of 'hospital'" in note
    lines = str(table.describe()).splitlines()
    assert "discrete, of the source" in next(line for line in lines if line.startswith("region"))
    assert "of the source" not in next(line for line in lines if line.startswith("sex"))
    assert "note: Columns 'region'" in str(table.describe())
    assert table.describe().to_frame()["of_source"].tolist() == [True, True, False]


def test_agreement_by_chance_is_no_column_of_the_source():
    rows = {"f": ["a", "a", "b", "b"], "x": ["u", "u", "v", "v"]}
    assert cs.read(rows, source="f").of_source == ()
    many = {"f": [k // 2 for k in range(100)], "x": ["rare", "rare", *["usual"] * 98]}
    assert cs.read(many, source="f").of_source == ()


def test_columns_of_the_source_can_be_given():
    assert cs.read(wards(), source="hospital", of_source=[]).of_source == ()
    assert cs.read(wards(), source="hospital", of_source=["sex"]).of_source == ("sex",)
    with pytest.raises(UnknownNameError):
        cs.read(wards(), source="hospital", of_source=["region", "size"])


@given(order=st.permutations(range(60)))
def test_the_order_of_rows_does_not_matter(order):
    table = cs.read(wards(), source="hospital")
    assert columns_of_source(table.take(list(order))) == columns_of_source(table)


def test_the_chance_of_agreement_is_that_of_dealing_values_to_rows():
    from consilience.data.notes import _log_chance

    n_rows, n_values = np.array([3, 2, 1]), np.array([3, 2, 1])
    shares = n_values / 6
    by_hand = np.prod([(shares**n).sum() for n in n_rows])
    assert np.isclose(_log_chance(n_rows, n_values), np.log(by_hand))


def test_notes_stay_with_the_rows_and_go_with_their_columns():
    table = cs.read({**wards(), "id": [f"p{k}" for k in range(60)]}, source="hospital")
    assert len(table.notes) == 2
    assert table.take(slice(30)).notes == table.head(3).notes == table.notes
    assert table.select(["sex", "region"]).of_source == ("region",)
    assert not any("'id'" in note for note in table.select(["sex", "region"]).notes)
    assert table.pooled().of_source == ()
    cut = cs.discretize(table, {"beds": cs.Quantiles(2)})
    assert cut.of_source == table.of_source
    assert cut.distinct().notes == table.notes


def with_effect() -> cs.Table:
    """Rows in which sex depends on the region of the hospital."""
    rows = wards(8, 30)
    sex = ["F" if (k % 4 == 0) == (r == "north") else "M" for k, r in enumerate(rows["region"])]
    return cs.read({**rows, "sex": sex}, source="hospital", drop=["beds"])


def test_a_search_makes_no_column_of_the_source_a_child_of_the_rows():
    table = with_effect()
    for arcs in ((), [("sex", "region")]):
        found = cs.search(table, score=cs.BIC(), require=arcs)
        assert found.dag.arcs == (tuple(arcs) or (("region", "sex"),))
        assert any("one value within each source" in note for note in found.notes)
    free = cs.read(with_effect().to_frame(), source="hospital", of_source=[])
    forced = cs.search(free, score=cs.BIC(), forbid=[("region", "sex")])
    assert forced.dag.arcs == (("sex", "region"),)
    bound = cs.search(table, score=cs.BIC(), forbid=[("region", "sex")])
    assert bound.dag.arcs == ()


def test_trees_take_columns_of_the_source_as_they_are():
    found = cs.search(with_effect(), search=cs.searches.ChowLiu())
    assert set(found.dag.nodes) == {"region", "sex"}


def test_records_of_fits_carry_the_notes_on_their_columns():
    chol = [0] * 6 + [200 + k for k in range(N_ROWS - 6)]
    rows = {"patient": [f"p{k}" for k in range(N_ROWS)], "sex": SEX, "chol": chol}
    table = cs.read(rows)
    net = cs.fit(cs.DAG(nodes=["chol", "sex"]), table)
    assert any("'chol' is 0" in note for note in net.record.notes)
    assert not any("'patient'" in note for note in net.record.notes)
    gaps = cs.read({**rows, "sex": [None, *SEX[1:]]})
    assert any("'chol' is 0" in n for n in cs.fit(cs.DAG(nodes=["chol", "sex"]), gaps).record.notes)


def test_rows_read_as_a_schema_have_no_notes_on_what_they_are():
    rows = {"patient": [f"p{k}" for k in range(N_ROWS)], "sex": SEX}
    assert cs.read(rows, schema=cs.read(rows).schema).notes == ()
