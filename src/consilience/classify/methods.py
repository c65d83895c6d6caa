"""The methods that all classifiers share, each a function of the classifier.

A fitted classifier is a network (``network_``), the name of its target (``target_``) and the
classes (``classes_``); everything else follows from these. Prediction is one call of
``network.posteriors``: missing values are summed out, never filled in.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from consilience._typing import Floats
from consilience.classify import scikit
from consilience.classify.predictions import class_probabilities, log_of_classes
from consilience.classify.report import Story, fit_text, prediction_text, story_of
from consilience.classify.scikit_rows import Unseen, known_rows, training_table
from consilience.classify.shrinking import Calibrated, calibrated_chain
from consilience.classify.structures import Structure, check_structure, dag_of
from consilience.errors import InputError
from consilience.graph.dag import DAG
from consilience.learning import AvailableCases, fit as fit_network
from consilience.network.network import Network
from consilience.parameters.pooling import check_estimator
from consilience.structure.tan import note_on_gaps, tan

__all__ = [
    "fit_classifier",
    "predict",
    "predict_log_proba",
    "predict_proba",
    "report",
    "score",
    "tagged",
    "unseen",
]


def fit_classifier(
    classifier: Any, structure: Structure, X: Any, y: Any, *, sample_weight: Any, source: Any
) -> None:
    """Learn the network of a classifier and set all that ends in an underscore."""
    estimator = Calibrated() if classifier.estimator is None else classifier.estimator
    _check_choices(estimator, classifier.gaps)
    check_structure(structure)
    given = structure if isinstance(structure, DAG) else None
    table, classes = training_table(classifier, X, y, sample_weight, source=source, dag=given)
    network: Network
    if isinstance(estimator, Calibrated):
        network = calibrated_chain(structure, table, classes.name, estimator)
    else:
        dag = dag_of(structure, table, classes.name)
        network = fit_network(dag, table, estimator, gaps=classifier.gaps or AvailableCases())
    if structure is tan and (note := note_on_gaps(table)):
        network = _with_note(network, note)
    story: Story = story_of(network, table, classes.name)
    classifier.classes_ = classes.values
    classifier.target_ = classes.name
    classifier.source_ = table.source
    classifier.network_ = network
    classifier.story_ = story


def predict_proba(self: Any, X: Any, *, source: Any = None) -> Floats:
    """Probability of each class for each row.

    Parameters
    ----------
    X
        Rows with the columns of ``fit``. Missing values are summed out; so are values that no row
        had in ``fit``.
    source
        The source of each row, if ``fit`` was given the sources in this way; None or NaN where it
        is not known, and then it is summed out. A source that ``fit`` has not seen is the state
        ``new_source`` of estimators that have it, and unknown to the others; if ``fit`` has seen
        one source only, all rows are predicted like its own. ``unseen`` and ``report`` count them.

    Returns
    -------
    Shape (rows, classes), the classes in the order of ``classes_``. A row that the network holds
    impossible (its tables may have zeros if they have no prior) gets the probabilities of the
    classes given its source alone.
    """
    scikit.check_is_fitted(self)
    table, found = known_rows(self, X, source)
    return class_probabilities(self.network_, self.target_, table, found.n_rows)[0]


def predict_log_proba(self: Any, X: Any, *, source: Any = None) -> Floats:
    """Logarithm of ``predict_proba``; minus infinity for a class that is excluded."""
    scikit.check_is_fitted(self)
    table, found = known_rows(self, X, source)
    net, target = self.network_, self.target_
    each, _ = class_probabilities(net, target, table, found.n_rows)
    classes = [np.full(found.n_rows, code) for code in range(each.shape[1])]
    logs = [log_of_classes(net, target, table, one, probabilities=each) for one in classes]
    return np.stack(logs, axis=1)


def predict(self: Any, X: Any, *, source: Any = None) -> npt.NDArray[Any]:
    """The most probable class of each row, the first of several; arguments as above."""
    probabilities = self.predict_proba(X, source=source)
    return self.classes_[probabilities.argmax(axis=1)]


def score(self: Any, X: Any, y: Any, sample_weight: Any = None, *, source: Any = None) -> float:
    """Share of the rows, by their weight, whose class is predicted right."""
    predicted = self.predict(X, source=source)
    return float(scikit.accuracy_score(y, predicted, sample_weight=sample_weight))


def unseen(self: Any, X: Any, *, source: Any = None) -> Unseen:
    """What rows to be predicted hold that no row held in ``fit``; it counts as missing."""
    scikit.check_is_fitted(self)
    return known_rows(self, X, source)[1]


def report(self: Any, X: Any = None, *, source: Any = None) -> str:
    """What was learned, in words; with rows to be predicted also what is odd about them.

    For each source: its rows, how far its tables went from the pooled ones to its own, and its
    class shares in the data and in the network. For each family: whether the sources differ in it.
    """
    scikit.check_is_fitted(self)
    text = fit_text(type(self).__name__, self.network_, self.story_)
    if X is None:
        return text
    table, found = known_rows(self, X, source)
    _, n_impossible = class_probabilities(self.network_, self.target_, table, found.n_rows)
    return f"{text}\n\n{prediction_text(self.network_, found, n_impossible)}"


def tagged(tags: Any) -> Any:
    """The tags of a classifier that takes text, categories and gaps."""
    tags.input_tags.allow_nan = True
    tags.input_tags.categorical = True
    tags.input_tags.string = True
    return tags


def _check_choices(estimator: Any, gaps: Any) -> None:
    """Refuse what is no estimator, and gaps that calibration cannot leave rows out of."""
    if not isinstance(estimator, Calibrated):
        check_estimator(estimator)
    elif gaps is not None and not isinstance(gaps, AvailableCases):
        raise InputError(
            f"Calibrated() leaves out rows one at a time and takes gaps=AvailableCases(), the "
            f"default, got {gaps!r}. Use another estimator, such as HDC().",
            parameter="gaps",
        )


def _with_note(network: Network, note: str) -> Network:
    """The network whose record begins with a note."""
    record = replace(network.record, notes=(note, *network.record.notes))
    return Network(network.distributions, network.source, record)
