from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, strategies as st

import consilience as cs
from consilience.errors import InputError

LABELS = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=30)


@given(pairs=LABELS)
def test_agreement_is_that_of_the_best_renaming(pairs):
    found, truth = np.array(pairs).T
    best = max(np.mean(np.array(names)[found] == truth) for names in permutations(range(3)))
    assert cs.latent.label_agreement(found, truth) == pytest.approx(best)


def test_more_labels_than_truths_leave_some_unmatched():
    assert cs.latent.label_agreement([0, 1, 2, 3], ["a", "a", "b", "b"]) == 0.5


@pytest.mark.parametrize("truth", [[], [1, 2, 3]], ids=["none", "too many"])
def test_labels_of_other_rows_are_refused(truth):
    with pytest.raises(InputError, match="same rows"):
        cs.latent.label_agreement([1, 2][: len(truth)], truth)


@pytest.mark.parametrize(
    ("found", "row"), [([None, 1], 1), ([1.0, np.nan], 2), (["a", None], 2)], ids=str
)
def test_a_row_without_a_label_is_refused(found, row):
    with pytest.raises(InputError, match=f"found has no label in row {row}, got") as caught:
        cs.latent.label_agreement(found, [1, 2])
    assert caught.value.culprits == {"parameter": "found", "row": row}
    with pytest.raises(InputError, match="truth has no label"):
        cs.latent.label_agreement([1, 2], found)


def test_labels_may_be_of_several_kinds():
    assert cs.latent.label_agreement(np.array([1, "a", 1], object), [0, 1, 0]) == 1.0
