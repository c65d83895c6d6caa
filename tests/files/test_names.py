from __future__ import annotations

import pytest
from file_networks import NASTY, names
from hypothesis import given, strategies as st

from consilience.files.identifiers import decoded, encoded, is_identifier


@given(names())
def test_every_name_comes_back(name):
    assert is_identifier(encoded(name))
    assert decoded(encoded(name)) == name


@given(st.text(alphabet="cs_20ax", max_size=12))
def test_reading_undoes_only_what_was_written(identifier):
    name = decoded(identifier)
    assert name == identifier or encoded(name) == identifier


def test_no_two_names_meet():
    assert len(set(map(encoded, NASTY))) == len(set(NASTY))


@pytest.mark.parametrize("name", ["a", "A_1", "x_1", "cs_", "csx__a"])
def test_identifiers_are_kept(name):
    assert encoded(name) == decoded(name) == name


@pytest.mark.parametrize("identifier", ["cs__", "cs__a", "cs__a_ffffff_", "cs__a_020_b", "cs___"])
def test_identifiers_of_others_are_kept(identifier):
    assert decoded(identifier) == identifier


def test_the_documented_examples():
    assert encoded("light on") == "cs__light_20_on"
    assert encoded("<5") == "cs___3c_5"
