from __future__ import annotations

import pickle
from html.parser import HTMLParser

import numpy as np
import pytest

import consilience as cs
from consilience.errors import InputError, UnknownNameError

RAIN = cs.Variable("rain", ("yes", "no"))
GRADE = cs.Variable("grade", ("1", "2", "3"))


def pair() -> cs.Factor:
    return cs.Factor((RAIN, GRADE), np.array([[0.1, 0.2, 0.3], [0.4, 0.0, 0.0]]))


def test_an_entry_goes_by_the_names_of_states_in_the_order_of_the_axes():
    assert pair()["yes", "3"] == 0.3
    assert cs.Factor((RAIN,), np.array([0.25, 0.75]))["no"] == 0.75
    assert cs.Factor((RAIN,), np.array([0.25, 0.75]))[("no",)] == 0.75


def test_an_entry_is_a_plain_float():
    assert type(pair()["no", "1"]) is float


@pytest.mark.parametrize("state", [2, 2.0, "2", "2.0", np.int64(2)])
def test_numbers_stand_for_states_and_not_for_positions(state):
    assert pair()["yes", state] == 0.2


@pytest.mark.parametrize("states", ["yes", ("yes",), ("yes", "1", "1"), ()])
def test_a_state_for_each_variable_is_needed(states):
    with pytest.raises(InputError, match="one state for each of 'rain', 'grade'; got"):
        pair()[states]


def test_an_unknown_state_is_named():
    with pytest.raises(UnknownNameError, match="'grade' has no state '0'") as caught:
        pair()["yes", 0]
    assert caught.value.culprits == {"variable": "grade", "state": "0"}
    with pytest.raises(UnknownNameError, match=r"'rain' has no state 'maybe'.*'yes', 'no'"):
        pair()["maybe", 1]


def test_names_and_states_follow_the_axes():
    assert pair().names == ("rain", "grade")
    assert pair().states == {"rain": ("yes", "no"), "grade": ("1", "2", "3")}
    assert list(pair().states) == ["rain", "grade"]


@pytest.mark.parametrize("shape", [(3, 2), (6,), (2, 3, 1), ()])
def test_values_of_another_shape_are_refused(shape):
    with pytest.raises(InputError, match=r"'rain', 'grade' must have shape \(2, 3\), got \("):
        cs.Factor((RAIN, GRADE), np.zeros(shape))


def test_a_continuous_variable_has_no_axis():
    with pytest.raises(InputError, match="'age' is continuous"):
        cs.Factor((cs.Variable("age"),), np.zeros(3))


def test_a_factor_over_nothing_is_one_number():
    number = cs.Factor((), np.array(0.5))
    assert number[()] == 0.5
    assert str(number) == "probability\n0.5"


def test_nothing_of_a_factor_can_be_changed():
    factor = pair()
    with pytest.raises(AttributeError):
        factor.values = np.zeros((2, 3))
    with pytest.raises(ValueError, match="read-only"):
        factor.values[0, 0] = 1.0
    with pytest.raises(TypeError):
        factor.states["rain"] = ("wet",)


def test_lists_are_taken_for_variables_and_values():
    factor = cs.Factor([RAIN], [1, 0])
    assert factor["yes"] == 1.0
    assert factor.values.dtype == np.float64


def test_a_factor_prints_as_a_small_table():
    assert str(pair()).splitlines() == [
        "rain  grade  probability",
        "yes   1      0.1",
        "yes   2      0.2",
        "yes   3      0.3",
        "no    1      0.4",
        "no    2      0",
        "no    3      0",
    ]
    assert repr(pair()) == f"Factor over 'rain', 'grade'\n{pair()}"


def large() -> cs.Factor:
    many = cs.Variable("many", tuple(f"s{i}" for i in range(1000)))
    return cs.Factor((RAIN, many), np.full((2, 1000), 0.0005))


def test_a_long_table_is_cut_and_says_so():
    lines = str(large()).splitlines()
    assert len(lines) == 42
    assert lines[-1] == "... and 1,960 more"
    assert "... and 1,960 more" in large()._repr_html_()


class Cells(HTMLParser):
    """The texts of table cells, and every tag."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.cells: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.add(tag)

    def handle_data(self, data: str) -> None:
        self.cells.append(data)


def test_html_shows_names_and_states_as_they_are():
    odd = cs.Variable("<b>x</b>", ("a & b", '<script>alert("1")</script>'))
    page = Cells()
    page.feed(cs.Factor((odd,), np.array([0.25, 0.75]))._repr_html_())
    assert "script" not in page.tags
    assert [cell.strip() for cell in page.cells] == [
        "P(<b>x</b>)",
        "<b>x</b>",
        "probability",
        *[odd.states[0], "0.25"],
        odd.states[1],
        "0.75",
    ]


def test_a_frame_has_a_row_for_each_combination_of_states():
    frame = pair().to_frame()
    assert list(frame.columns) == ["rain", "grade", "probability"]
    assert len(frame) == 6
    for rain, grade, probability in frame.itertuples(index=False):
        assert probability == pair()[rain, grade]


def test_a_factor_can_be_pickled():
    again = pickle.loads(pickle.dumps(pair()))
    assert again.variables == pair().variables
    np.testing.assert_array_equal(again.values, pair().values)
