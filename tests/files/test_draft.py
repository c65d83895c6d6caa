from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from consilience.errors import FormatError
from consilience.files import bif, xdsl
from consilience.files.draft import line_of_number, numbers, numbers_text

values = st.floats(allow_nan=False, allow_infinity=False)


@given(st.lists(values, max_size=30), st.integers(1, 5), st.sampled_from([" ", "\n", " \t\r\n "]))
def test_numbers_are_read_as_python_reads_them(few, repeats, blank):
    words = list(map(repr, few)) * repeats
    found = numbers(blank.join(words))
    assert found.tobytes() == np.array(list(map(float, words))).tobytes()


@given(st.lists(values, max_size=5))
def test_numbers_come_back_from_their_text(few):
    assert numbers(numbers_text(np.array(few))).tolist() == few


@pytest.mark.parametrize("word", ["1", "1.", ".5", "+1", "-0", "1e5", "1E-05", "007", "1.e+3"])
@pytest.mark.parametrize("repeats", [1, 9])
def test_numbers_may_be_written_in_many_ways(word, repeats):
    assert numbers(f" {word}\n" * repeats).tolist() == [float(word)] * repeats


@pytest.mark.parametrize(
    "word", ["nan", "inf", "1_0", "0x1", "e5", ".", "1e", "1.2.3", "--1", "1,2", "٣", "1\x852", "½"]
)
@pytest.mark.parametrize("repeats", [1, 9])
def test_what_is_not_a_number_is_not_read(word, repeats):
    assert numbers(f"{word} " * repeats) is None
    assert numbers(f"{'1 ' * 9}{word}") is None


def test_no_text_holds_no_numbers():
    assert numbers("").size == numbers(" \n ").size == 0


def test_the_line_of_a_number_is_found():
    text = "(0.1\n0.9) %\n\n(.2 1e-3)"
    assert [line_of_number(text, 10, nth) for nth in range(5)] == [10, 11, 13, 13, 13]


def test_nodes_without_tables_are_named():
    with pytest.raises(FormatError, match=r"^net: the node 'A' has no table"):
        bif.parse("variable A { type discrete [ 1 ] { a }; }", "net")
    with pytest.raises(FormatError, match="a <cpt>"):
        xdsl.parse("<smile><nodes/></smile>", "net")
