from __future__ import annotations

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import consilience as cs
from consilience.classify.classifiers import NaiveBayesClassifier, NetworkClassifier, TANClassifier

CLASSIFIERS = [
    NaiveBayesClassifier(),
    TANClassifier(cs.HDMCS()),
    NetworkClassifier(),
]


class NumbersOnly(NaiveBayesClassifier):
    """Without the tag for categories the checks pass continuous columns."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = False
        return tags


@pytest.mark.filterwarnings("ignore::UserWarning")  # the checks themselves warn
@parametrize_with_checks([*CLASSIFIERS, NumbersOnly()], expected_failed_checks=lambda _: {})
def test_scikit_learn_finds_nothing_to_object_to(estimator, check):
    check(estimator)
