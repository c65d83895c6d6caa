"""Bayesian network classifiers for scikit-learn: naive Bayes, tree-augmented, and any graph.

They differ in their graph only. What they share stands once, in
:mod:`consilience.classify.methods`, and becomes a method of each; scikit-learn reads the parameters
of an estimator off its own ``__init__``, so that is written out three times.

References: Friedman, Geiger and Goldszmidt (1997) for the tree; Azzimonti, Corani and Zaffalon
(2019) for the hierarchical estimators.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal, TypeAlias

from consilience.classify import methods
from consilience.classify.methods import fit_classifier
from consilience.classify.scikit import BaseEstimator, ClassifierMixin
from consilience.classify.shrinking import Calibrated
from consilience.classify.structures import Structure
from consilience.data.discretize import Discretizer
from consilience.learning import Gaps
from consilience.parameters.estimator import Estimator
from consilience.structure.naive_bayes import naive_bayes
from consilience.structure.tan import tan

__all__ = ["NaiveBayesClassifier", "NetworkClassifier", "TANClassifier"]

Cutting: TypeAlias = (
    Discretizer | Mapping[str, Discretizer | Literal[False]] | Literal[False] | None
)
Choice: TypeAlias = Estimator | Calibrated | None

WITH_WEIGHT = {"source": True, "sample_weight": True}
WITHOUT_WEIGHT = {"source": True}
"""What scikit-learn's metadata routing hands on by default."""


class NaiveBayesClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Naive Bayes: given the class, the features are independent.

    Parameters
    ----------
    estimator
        How rows become tables and regressions: by default ``Calibrated()``, for one source and for
        several: shrinkage is learned, and made to suit the prediction of the class by leaving out
        one row at a time, which costs joint likelihood; ``report`` tells what was found. Or any
        choice that :func:`fit` takes: ``HDC()``, ``HDMCS(s=10)``, ``Dirichlet(ess=10)``,
        ``Pooled(MLE())`` and so on.
    source
        The column of X that names the source of each row; it is not a feature. Without it sources
        may be given to ``fit`` and ``predict`` as ``source=``, beside X.
    discretize
        How continuous columns are cut into states: one choice for all, by default
        ``Quantiles(4)``; or one by column, which then holds for that column even if it is discrete,
        and the default for the others. False keeps numbers as they are, all or those of a column
        (``{"age": False}``): they have regressions. ``MDLP`` takes the name of the target, see
        ``target_``.
    states
        For a column the states it can take, also those that no row of a training set has.
    missing
        The texts that stand for a missing value; None and NaN always do.
    gaps
        What to do about gaps in training, as in :func:`consilience.fit`: by default
        ``AvailableCases()``, each family by the rows complete for it, which for naive Bayes is what
        EM ends in too; ``EM()``, with an estimator other than ``Calibrated()``, for structures in
        which features depend on features.

    Attributes
    ----------
    network_
        The :class:`Network`; the target, the source and the features are nodes.
    classes_
        The classes in ascending order, of the type of y.
    target_, source_
        Names of the target and of the source among the nodes; ``source_`` is None without sources.
        They are the names of y and of ``source`` if these are named series, else ``"target"`` and
        ``"source"``.
    story_
        The numbers behind :meth:`report`.
    n_features_in_, feature_names_in_
        Number and names of the columns of X, the source among them.

    Examples
    --------
    >>> import consilience as cs
    >>> X = [["yes", "high"], ["yes", "low"], ["no", "low"], ["no", "low"]]
    >>> y = ["ill", "ill", "well", "well"]
    >>> classifier = cs.NaiveBayesClassifier(cs.Dirichlet(per_cell=1)).fit(X, y)
    >>> classifier.predict_proba([["yes", "high"], ["yes", None]]).round(3).tolist()
    [[0.857, 0.143], [0.75, 0.25]]
    """

    __metadata_request__fit = WITH_WEIGHT
    __metadata_request__predict = WITHOUT_WEIGHT
    __metadata_request__predict_proba = WITHOUT_WEIGHT
    __metadata_request__predict_log_proba = WITHOUT_WEIGHT
    __metadata_request__score = WITH_WEIGHT

    def __init__(
        self,
        estimator: Choice = None,
        *,
        source: str | None = None,
        discretize: Cutting = None,
        states: Mapping[str, Iterable[Any]] | None = None,
        missing: Iterable[Any] = ("", "?"),
        gaps: Gaps | None = None,
    ) -> None:
        self.estimator = estimator
        self.source = source
        self.discretize = discretize
        self.states = states
        self.missing = missing
        self.gaps = gaps

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, *, source: Any = None
    ) -> NaiveBayesClassifier:
        """Learn from rows, their classes, their weights and their sources.

        Parameters
        ----------
        X
            A data frame, or anything that is an array of rows and columns; text, numbers and
            categories, gaps allowed.
        y
            The class of each row; none may be missing.
        sample_weight
            How many rows each row stands for: whole or fractional, zero for none.
        source
            The source of each row, unless it is a column of X.
        """
        fit_classifier(self, naive_bayes, X, y, sample_weight=sample_weight, source=source)
        return self

    predict_proba = methods.predict_proba
    predict_log_proba = methods.predict_log_proba
    predict = methods.predict
    score = methods.score
    unseen = methods.unseen
    report = methods.report

    def __sklearn_tags__(self) -> Any:
        """What the classifier accepts, for scikit-learn."""
        return methods.tagged(super().__sklearn_tags__())


class TANClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Tree-augmented naive Bayes: given the class, the features form a tree, learned in ``fit``.

    Parameters and attributes are those of :class:`NaiveBayesClassifier`. The tree is learned within
    the sources, and of rows with gaps from what each pair of features shows (see :func:`tan`); the
    record of ``network_`` and ``report`` say so.

    Examples
    --------
    >>> import consilience as cs
    >>> X = [["yes", "high"], ["yes", "low"], ["no", "low"], ["no", "low"]]
    >>> y = ["ill", "ill", "well", "well"]
    >>> cs.TANClassifier().fit(X, y).network_.dag.arcs
    (('target', 'x0'), ('target', 'x1'), ('x0', 'x1'))
    """

    __metadata_request__fit = WITH_WEIGHT
    __metadata_request__predict = WITHOUT_WEIGHT
    __metadata_request__predict_proba = WITHOUT_WEIGHT
    __metadata_request__predict_log_proba = WITHOUT_WEIGHT
    __metadata_request__score = WITH_WEIGHT

    def __init__(
        self,
        estimator: Choice = None,
        *,
        source: str | None = None,
        discretize: Cutting = None,
        states: Mapping[str, Iterable[Any]] | None = None,
        missing: Iterable[Any] = ("", "?"),
        gaps: Gaps | None = None,
    ) -> None:
        self.estimator = estimator
        self.source = source
        self.discretize = discretize
        self.states = states
        self.missing = missing
        self.gaps = gaps

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, *, source: Any = None
    ) -> TANClassifier:
        """Learn tree and tables; arguments as for :meth:`NaiveBayesClassifier.fit`."""
        fit_classifier(self, tan, X, y, sample_weight=sample_weight, source=source)
        return self

    predict_proba = methods.predict_proba
    predict_log_proba = methods.predict_log_proba
    predict = methods.predict
    score = methods.score
    unseen = methods.unseen
    report = methods.report

    def __sklearn_tags__(self) -> Any:
        """What the classifier accepts, for scikit-learn."""
        return methods.tagged(super().__sklearn_tags__())


class NetworkClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier of any graph.

    Parameters
    ----------
    structure
        A :class:`DAG` of columns of X and one node more, the target (the source may be a node too);
        or a function of a table and the name of its target that gives a DAG, such as ``tan``, the
        default. Columns that are no nodes have no say.
    estimator, source, discretize, states, missing, gaps
        As for :class:`NaiveBayesClassifier`; so are the attributes.

    Examples
    --------
    >>> import consilience as cs
    >>> X = [["yes", "high"], ["yes", "low"], ["no", "low"], ["no", "low"]]
    >>> y = ["ill", "ill", "well", "well"]
    >>> dag = cs.DAG([("x0", "illness"), ("illness", "x1")])
    >>> classifier = cs.NetworkClassifier(dag, cs.MLE()).fit(X, y)
    >>> classifier.predict([[None, "high"], ["no", None]]).tolist()
    ['ill', 'well']
    """

    __metadata_request__fit = WITH_WEIGHT
    __metadata_request__predict = WITHOUT_WEIGHT
    __metadata_request__predict_proba = WITHOUT_WEIGHT
    __metadata_request__predict_log_proba = WITHOUT_WEIGHT
    __metadata_request__score = WITH_WEIGHT

    def __init__(
        self,
        structure: Structure = tan,
        estimator: Choice = None,
        *,
        source: str | None = None,
        discretize: Cutting = None,
        states: Mapping[str, Iterable[Any]] | None = None,
        missing: Iterable[Any] = ("", "?"),
        gaps: Gaps | None = None,
    ) -> None:
        self.structure = structure
        self.estimator = estimator
        self.source = source
        self.discretize = discretize
        self.states = states
        self.missing = missing
        self.gaps = gaps

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, *, source: Any = None
    ) -> NetworkClassifier:
        """Learn graph and tables; arguments as for :meth:`NaiveBayesClassifier.fit`."""
        fit_classifier(self, self.structure, X, y, sample_weight=sample_weight, source=source)
        return self

    predict_proba = methods.predict_proba
    predict_log_proba = methods.predict_log_proba
    predict = methods.predict
    score = methods.score
    unseen = methods.unseen
    report = methods.report

    def __sklearn_tags__(self) -> Any:
        """What the classifier accepts, for scikit-learn."""
        return methods.tagged(super().__sklearn_tags__())
