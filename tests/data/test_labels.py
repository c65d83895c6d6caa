"""How values become states."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given, strategies as st

from consilience.data.labels import is_plain_number, label, labels


@pytest.mark.parametrize(
    "value", [1, 1.0, np.int8(1), np.float32(1), np.uint64(1), Decimal("1.00"), "1"]
)
def test_one_is_one_state_whatever_its_type(value):
    assert label(value) == "1"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.1, "0.1"),
        (np.float32(0.1), "0.1"),
        (-0.0, "0"),
        (True, "True"),
        (np.False_, "False"),
        (2**70, str(2**70)),
        (1e16, "10000000000000000"),
        (-(2.0**70), str(-(2**70))),
        (Decimal(10**16 + 1), "10000000000000001"),
        (1e22, "1e+22"),
        (1e300, "1e+300"),
        ("01", "01"),
    ],
)
def test_numbers_are_written_in_their_shortest_form(value, text):
    assert label(value) == text


def test_texts_that_are_all_numbers_are_written_as_numbers():
    assert labels(["1.0", "1", "2.50", "-0", "1e2"]) == ["1", "1", "2.5", "0", "100"]
    assert labels(["1e16", "10000000000000000"]) == ["10000000000000000"] * 2


def test_one_text_that_is_no_number_keeps_all_as_they_are():
    assert labels(["1.0", "1", "x"]) == ["1.0", "1", "x"]


def test_leading_zeros_make_codes_not_numbers():
    assert labels(["01", "1"]) == ["01", "1"]


def test_long_integers_keep_their_digits():
    assert labels(["123456789012345678901", "1.0"]) == ["123456789012345678901", "1"]


def test_a_number_too_large_for_a_float_stays_text():
    assert labels(["1e400"]) == ["1e400"]


@pytest.mark.parametrize(
    "text", ["", "+1", ".5", "5.", " 1", "1 ", "1_0", "inf", "nan", "0x1", "\u0661"]
)
def test_what_is_no_plain_number(text):
    assert not is_plain_number(text)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_the_label_of_a_float_reads_back_to_it(number):
    assert float(label(number)) == number
    assert labels([repr(number)]) == [label(number)]
