from __future__ import annotations

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from classifier_data import FEATURES, patients
from sklearn.exceptions import NotFittedError

import consilience as cs
from consilience.classify.classifiers import NaiveBayesClassifier, NetworkClassifier
from consilience.errors import DataError, GraphError, InputError, UnknownNameError

PATIENTS = patients(30)
X, Y, HOSPITAL = PATIENTS[FEATURES], PATIENTS["ill"], PATIENTS["hospital"]

MISTAKES = {
    "no such source column": (
        lambda: NaiveBayesClassifier(source="hospital").fit(X, Y),
        InputError,
        "X has no column 'hospital', which names the source of each row. "
        "Columns: 'fever', 'rash', 'smoke'.",
    ),
    "nothing but the source": (
        lambda: NaiveBayesClassifier(source="hospital").fit(PATIENTS[["hospital"]], Y),
        InputError,
        "no column beside the source 'hospital'",
    ),
    "a row without a source": (
        lambda: NaiveBayesClassifier(source="hospital").fit(
            X.assign(hospital=HOSPITAL.where(HOSPITAL.index != 4)), Y
        ),
        DataError,
        "column 'hospital', row 5: the row has no source",
    ),
    "a source twice": (
        lambda: NaiveBayesClassifier(source="fever").fit(X, Y, source=HOSPITAL),
        InputError,
        "the sources are the column 'fever' of X",
    ),
    "a name for sources": (
        lambda: NaiveBayesClassifier().fit(X, Y, source="hospital"),
        InputError,
        "got the text 'hospital'",
    ),
    "too few sources": (
        lambda: NaiveBayesClassifier().fit(X, Y, source=["a", "b"]),
        InputError,
        "source has 2 values for 30 rows of X",
    ),
    "too few sources to predict": (
        lambda: NaiveBayesClassifier().fit(X, Y, source=HOSPITAL).predict(X, source=["a"]),
        InputError,
        "source has 1 values for 30 rows of X",
    ),
    "sources that fit never saw": (
        lambda: NaiveBayesClassifier().fit(X, Y).predict(X, source=HOSPITAL),
        InputError,
        "this classifier knows no sources",
    ),
    "too few classes": (
        lambda: NaiveBayesClassifier().fit(X, Y[:-1]),
        InputError,
        "y has 29 values for 30 rows of X",
    ),
    "a class that is missing": (
        lambda: NaiveBayesClassifier().fit(X, Y.where(Y.index != 2)),
        DataError,
        "row 3 of y has no class, but nan",
    ),
    "a class that is missing in a list": (
        lambda: NaiveBayesClassifier().fit([["a"], ["b"]], ["yes", float("nan")]),
        DataError,
        "row 2 of y has no class, but nan",
    ),
    "an empty class": (
        lambda: NaiveBayesClassifier().fit([["a"], ["b"]], ["yes", ""]),
        DataError,
        "the empty text as a class",
    ),
    "y with the name of a feature": (
        lambda: NaiveBayesClassifier().fit(X, Y.rename("rash")),
        InputError,
        "y is named 'rash', and so is a column of X",
    ),
    "too few weights": (
        lambda: NaiveBayesClassifier().fit(X, Y, sample_weight=[1, 2]),
        InputError,
        "sample_weight has 2 values for 30 rows of X",
    ),
    "a negative weight": (
        lambda: NaiveBayesClassifier().fit(X, Y, sample_weight=-np.ones(30)),
        InputError,
        "sample_weight of row 1 must be a number of at least zero, got -1.0",
    ),
    "no rows": (
        lambda: NaiveBayesClassifier().fit(X.head(0), Y.head(0)),
        InputError,
        "X has no row",
    ),
    "no columns": (
        lambda: NaiveBayesClassifier().fit(X[[]], Y),
        InputError,
        "X has no column",
    ),
    "an estimator that is none": (
        lambda: NaiveBayesClassifier(cs.HDMCS).fit(X, Y),
        InputError,
        "estimator must be a choice such as cs.Dirichlet() or cs.MLE(), got <class",
    ),
    "a structure that is none": (
        lambda: NetworkClassifier("tan").fit(X, Y),
        InputError,
        "structure must be a DAG",
    ),
    "a structure without the target": (
        lambda: NetworkClassifier(lambda table, target: cs.DAG([("fever", "rash")])).fit(X, Y),
        InputError,
        "a DAG in which 'ill' is a node",
    ),
    "a graph of strange nodes": (
        lambda: NetworkClassifier(cs.DAG([("ill", "fever"), ("ill", "cough")])).fit(X, Y),
        GraphError,
        "nodes that are neither: 'ill', 'cough'",
    ),
    "a cut target": (
        lambda: NaiveBayesClassifier(discretize={"ill": cs.Quantiles(2)}).fit(X, Y),
        InputError,
        "the target 'ill' cannot be discretised",
    ),
    "a cut column that is not there": (
        lambda: NaiveBayesClassifier(discretize={"age": cs.Quantiles(2)}).fit(X, Y),
        UnknownNameError,
        "unknown variable 'age'",
    ),
    "another column": (
        lambda: NaiveBayesClassifier().fit(X, Y).predict(X.rename(columns={"rash": "itch"})),
        ValueError,
        "itch",
    ),
    "an infinite number": (
        lambda: NaiveBayesClassifier().fit(pd.DataFrame({"a": [1.5, np.inf]}), [0, 1]),
        DataError,
        "column 'a', row 2: a number must be finite",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_named(mistake):
    act, error, message = MISTAKES[mistake]
    with pytest.raises(error) as raised:
        act()
    assert message in str(raised.value)


@pytest.mark.parametrize("method", ["predict", "predict_proba", "report", "unseen"])
def test_a_classifier_must_be_fitted_first(method):
    with pytest.raises(NotFittedError):
        getattr(NaiveBayesClassifier(), method)(X)


def test_without_scikit_learn_the_error_says_what_to_install():
    code = (
        "import sys; sys.modules['sklearn'] = None\n"
        "from consilience.errors import MissingExtraError\n"
        "try:\n    import consilience.classify.classifiers\n"
        "except MissingExtraError as error:\n    print(error)"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install 'consilience[sklearn]'" in shown.stdout
