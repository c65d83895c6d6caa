"""The nouns Variable and Schema."""

from __future__ import annotations

import pytest

from consilience.data.variable import Schema, Variable
from consilience.errors import InputError, UnknownNameError


def test_states_are_kept_in_order():
    assert Variable("sex", ["F", "M"]).states == ("F", "M")


@pytest.mark.parametrize("states", [[], [""], [1, 2], ["a", "a"], "ab"])
def test_states_must_be_different_texts(states):
    with pytest.raises(InputError, match="'x'") as caught:
        Variable("x", states)
    assert caught.value.culprits["variable"] == "x"


@pytest.mark.parametrize("cuts", [(), (2, 1), (float("nan"), 1), (1, 2, 3)])
def test_cuts_must_increase_and_fit_the_states(cuts):
    with pytest.raises(InputError, match="2 increasing"):
        Variable("x", ("a", "b", "c"), cuts=cuts)


def test_cuts_need_states():
    with pytest.raises(InputError, match="no states"):
        Variable("x", cuts=(1.0,))


@pytest.mark.parametrize("name", ["", 3, None])
def test_names_are_texts(name):
    with pytest.raises(InputError, match="must be text"):
        Variable(name)


@pytest.mark.parametrize("state", ["1", 1, 1.0, "1.0"])
def test_a_state_is_found_by_label_or_number(state):
    assert Variable("x", ("0", "1")).code(state) == 1


def test_an_unknown_state_is_named_with_the_known_ones():
    with pytest.raises(UnknownNameError, match=r"'z'.*'a', 'b'"):
        Variable("x", ("a", "b")).code("z")


def test_a_continuous_variable_has_no_states():
    with pytest.raises(InputError, match="'x' is continuous"):
        _ = Variable("x").n_states


def test_the_source_is_no_variable():
    source = Variable("f", ("a",))
    schema = Schema({"x": Variable("x")}, source)
    assert schema["f"] is source
    assert "f" in schema
    assert "f" not in schema.variables
    with pytest.raises(InputError, match="'f' is the source"):
        Schema({"f": source}, source)


def test_a_schema_files_variables_under_their_names():
    with pytest.raises(InputError, match="'x' is filed under 'y'"):
        Schema({"y": Variable("x")})
    with pytest.raises(UnknownNameError, match="'z'"):
        Schema({"x": Variable("x")})["z"]


@pytest.mark.parametrize("given", [{"states": 5}, {"states": ("a", "b"), "cuts": ("q",)}])
@pytest.mark.parametrize("cuts", [None, 5, "1"])
def test_states_and_cuts_of_the_wrong_type_are_refused(given, cuts):
    with pytest.raises(InputError, match="variable 'x': ") as caught:
        Variable("x", **{"cuts": cuts, **given})
    assert caught.value.culprits["variable"] == "x"
