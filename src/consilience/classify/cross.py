"""The verb :func:`cross_evaluate`: how good contestants are on rows they did not learn from."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from consilience import _check
from consilience._typing import Seed
from consilience.classify.cells import (
    Cell,
    CellFile,
    arrays_digest,
    digest,
    identity_of,
    table_digest,
)
from consilience.classify.results import CLASS_PRIOR, SOURCE_PRIOR, CrossEvaluation
from consilience.classify.seen_sources import with_seen_sources
from consilience.classify.shrinking import Calibrated
from consilience.classify.splits import Split, Splits, StratifiedFolds
from consilience.classify.structures import Structure, check_structure, dag_of
from consilience.classify.trial import Contestant, Trial
from consilience.data.discretize import Cuts, Discretizer, check_choices, discretize
from consilience.data.door import Rows, as_table
from consilience.data.table import Table
from consilience.errors import DataError, InputError
from consilience.graph.dag import DAG
from consilience.parameters.chain import HDC
from consilience.parameters.dirichlet import Dirichlet
from consilience.parameters.hierarchical import HDMCS
from consilience.parameters.pooling import Pooled, Separate, check_estimator
from consilience.structure.naive_bayes import naive_bayes
from consilience.structure.tan import tan

__all__ = ["cross_evaluate"]

Progress: TypeAlias = Callable[[float | None, str], None]
"""Called after each cell with the share that is done and the cell in words."""

STRUCTURES: Mapping[str, Structure] = {"naive Bayes": naive_bayes, "TAN": tan}
ONE_SOURCE: Mapping[str, Contestant] = {
    "Dirichlet": Dirichlet(),
    "HDC": HDC(),
    "Calibrated": Calibrated(),
}
MANY_SOURCES: Mapping[str, Contestant] = {
    "pooled": Pooled(Dirichlet()),
    "separate": Separate(Dirichlet()),
    "HDMCS": HDMCS(),
    "HDC": HDC(),
    "Calibrated": Calibrated(),
}


def cross_evaluate(
    table: Rows,
    target: str,
    *,
    structures: Mapping[str, Structure] | None = None,
    estimators: Mapping[str, Contestant] | None = None,
    splits: Splits | None = None,
    discretize: Mapping[str, Discretizer] | None = None,
    positive: str | None = None,
    n_bins: int = 10,
    seed: Seed = 0,
    progress: Progress | None = None,
    resume: str | Path | None = None,
) -> CrossEvaluation:
    """Every structure with every estimator, and the class priors, on splits of one table.

    Of several sources there are two of these: the shares of the classes overall, and by source.
    Standard errors of folds are corrected for training sets that overlap (Nadeau and Bengio 2003):
    the variance of values is multiplied by ``1 / n + n_test / n_train``, so that repeats of the
    same rows are not taken for new ones.

    States are those that the table declares, whatever rows a training set has; sources are those of
    the training rows, and a row of any other is predicted as one never seen. Missing features are
    summed out. Rows without a class are left out.

    Ctrl-C ends the work and gives what is finished, unless nothing is.

    Parameters
    ----------
    table
        Rows of one or many sources: a table, a frame or a path.
    target
        The class.
    structures
        By name, a DAG or a function of a table and its target that gives one, which then sees the
        training rows only; by default naive Bayes and TAN.
    estimators
        By name, a choice such as ``HDMCS()``, or ``Calibrated()``; by default pooled, separate,
        ``HDMCS()``, ``HDC()`` and ``Calibrated()``, or, for one source, ``Dirichlet()``, ``HDC()``
        and ``Calibrated()``.
    splits
        ``StratifiedFolds(5)``, the default, ``LeaveOneSourceOut()`` or ``LearningCurve(...)``.
    discretize
        By name, how continuous columns are cut; the cut points are found in each training set.
        Those that are not named stay numbers.
    positive, n_bins
        As for :func:`evaluate`.
    seed
        Of the splits.
    progress
        Called after each cell with the share that is done and what was done.
    resume
        A file that keeps finished cells. Those that it has are not computed again; a cell counts
        as the same if the rows, the split and all choices are, functions by their code and by the
        values they refer to. What has no content that can be compared is refused.

    Examples
    --------
    >>> import consilience as cs
    >>> rows = {"ill": ["no", "yes"] * 20, "fever": ["low", "high", "low", "low"] * 10}
    >>> found = cross_evaluate(cs.read(rows), "ill", structures={"naive Bayes": cs.naive_bayes})
    >>> for line in found.summary("accuracy"):
    ...     print(line.estimator, line.mean)
    class prior 0.5
    Dirichlet 0.75
    HDC 0.75
    Calibrated 0.75
    """
    table = as_table(table)
    choices = _Choices(
        structures=_by_name("structures", STRUCTURES if structures is None else structures),
        estimators=_by_name("estimators", _usual(table) if estimators is None else estimators),
        discretize=_by_name("discretize", {} if discretize is None else discretize),
        target=target,
        positive=positive,
        n_bins=n_bins,
        baselines=(CLASS_PRIOR, SOURCE_PRIOR) if len(table.sources) > 1 else (CLASS_PRIOR,),
    )
    _check_choices(choices, table)
    chosen = StratifiedFolds() if splits is None else splits
    _check_splits(chosen)
    found = chosen.split(table, target, seed)
    work = _Work(table, choices, CellFile(None if resume is None else Path(resume)))
    cells, n_resumed = work.run(found, progress)
    n_contestants = choices.n_contestants - len(work.refused)
    return CrossEvaluation(
        target=target,
        positive=_positive(table, target, positive),
        splits=str(chosen),
        by_size=chosen.by_size,
        cells=tuple(cells),
        n_cells=len(found) * n_contestants,
        n_resumed=n_resumed,
        overlap=chosen.overlap,
        n_bins=n_bins,
        has_gaps=any(share > 0 for shares in table.missing.values() for share in shares.values()),
        refused={pair: problem.message for pair, problem in work.refused.items()},
    )


@dataclass(frozen=True, slots=True)
class _Choices:
    """What is evaluated, and how."""

    structures: dict[str, Structure]
    estimators: dict[str, Contestant]
    discretize: dict[str, Discretizer]
    target: str
    positive: str | None
    n_bins: int
    baselines: tuple[str, ...]

    @property
    def n_contestants(self) -> int:
        """All pairs, and the class priors."""
        return len(self.structures) * len(self.estimators) + len(self.baselines)

    def contestants(self) -> Iterator[tuple[str, str]]:
        for baseline in self.baselines:
            yield "", baseline
        for structure in self.structures:
            for estimator in self.estimators:
                yield structure, estimator


class _Work:
    """All cells of a table, computed or found; and contestants that some rows are too few for."""

    def __init__(self, table: Table, choices: _Choices, file: CellFile) -> None:
        self._table = table
        self._choices = choices
        self._file = file
        self._key_parts = _key_parts(table, choices) if file.is_kept else None
        self.refused: dict[tuple[str, str], DataError] = {}

    def run(self, splits: list[Split], progress: Progress | None) -> tuple[list[Cell], int]:
        """The cells in order, as far as it came, and how many of them the file had."""
        cells: list[Cell] = []
        n_resumed, n_cells = 0, len(splits) * self._choices.n_contestants
        try:
            for split in splits:
                for cell, is_new in self._of_split(split):
                    cells.append(cell)
                    n_resumed += not is_new
                    if progress is not None:
                        progress(len(cells) / n_cells, _in_words(cell))
        except KeyboardInterrupt:
            if not cells:
                raise
        kept = [cell for cell in cells if (cell.structure, cell.estimator) not in self.refused]
        if self.refused and not any(cell.structure for cell in kept):
            raise next(iter(self.refused.values()))
        return kept, n_resumed

    def _of_split(self, split: Split) -> Iterator[tuple[Cell, bool]]:
        """The cells of all contestants; rows and graphs are made when first needed."""
        trial: Trial | None = None
        dags: dict[str, DAG] = {}
        rows = [split.name, arrays_digest(split.train, split.test)]
        for structure, estimator in self._choices.contestants():
            if (structure, estimator) in self.refused:
                continue
            key = self._key(structure, estimator, rows)
            known = None if key is None else self._file.find(key)
            if known is not None:
                yield known, False
                continue
            trial = trial or self._trial(split)
            if structure and structure not in dags:
                chosen = self._choices.structures[structure]
                dags[structure] = dag_of(chosen, trial.train, trial.target)
            names = (structure, estimator, split.name)
            try:
                cell = self._computed(trial, dags.get(structure), names)
            except DataError as problem:  # too few rows of a source, or numbers that do not vary
                self.refused[structure, estimator] = problem
                continue
            if key is not None:
                self._file.add(key, cell)
            yield cell, True

    def _computed(self, trial: Trial, dag: DAG | None, names: tuple[str, str, str]) -> Cell:
        if dag is None:
            is_by_source = names[1] == SOURCE_PRIOR
            of_prior = trial.of_source_prior if is_by_source else trial.of_class_prior
            return of_prior(names[2])
        structure = self._choices.structures[names[0]]
        return trial.of_network(dag, structure, self._choices.estimators[names[1]], names)

    def _trial(self, split: Split) -> Trial:
        choices = self._choices
        train = with_seen_sources(self._table.take(split.train))
        test = self._table.take(split.test)
        if choices.discretize:
            train = discretize(train, choices.discretize)
            cuts = {name: Cuts.from_variable(train.variables[name]) for name in choices.discretize}
            test = discretize(test, cuts)
        return Trial(train, test, choices.target, choices.positive, choices.n_bins)

    def _key(self, structure: str, estimator: str, split: list[str]) -> str | None:
        """The digest of a cell; None if nothing is kept."""
        if self._key_parts is None:
            return None
        settings, structures, estimators = self._key_parts
        return digest(
            settings=settings,
            split=split,
            structure=[structure, structures.get(structure)],
            estimator=[estimator, estimators.get(estimator)],
        )


def _key_parts(table: Table, choices: _Choices) -> tuple[str, dict[str, str], dict[str, str]]:
    """Digests of the settings that all cells share, of each structure and of each estimator."""

    def digests(kind: str, by_name: Mapping[str, Any]) -> dict[str, str]:
        return {
            name: digest(choice=identity_of(choice, f"{kind} {name!r}"))
            for name, choice in by_name.items()
        }

    settings = digest(
        rows=table_digest(table),
        target=choices.target,
        positive=choices.positive,
        n_bins=choices.n_bins,
        discretize=digests("discretizer of", choices.discretize),
    )
    structures = digests("structure", choices.structures)
    return settings, structures, digests("estimator", choices.estimators)


def _by_name(name: str, choices: Any) -> dict[str, Any]:
    """A copy of choices by name; anything else is refused."""
    if not isinstance(choices, Mapping) or not all(isinstance(key, str) for key in choices):
        examples = {
            "structures": '{"naive Bayes": naive_bayes}',
            "estimators": '{"HDMCS": HDMCS()}',
            "discretize": '{"age": Quantiles(4)}',
        }
        raise InputError(
            f"cross_evaluate: {name} must be a mapping from names to choices, such as "
            f"{examples[name]}, got {choices!r}.",
            parameter=name,
        )
    return dict(choices)


def _usual(table: Table) -> Mapping[str, Contestant]:
    return MANY_SOURCES if len(table.sources) > 1 else ONE_SOURCE


def _in_words(cell: Cell) -> str:
    who = " ".join(filter(None, (cell.structure, cell.estimator)))
    return f"{cell.split}, {cell.size:,} rows: {who}"


def _positive(table: Table, target: str, positive: str | None) -> str | None:
    states = table.variables[target].discrete_states
    return states[1] if positive is None and len(states) == 2 else positive


def _check_choices(choices: _Choices, table: Table) -> None:
    _check.known("variable", [choices.target], table.variables)
    states = table.variables[choices.target].discrete_states
    if choices.positive is not None:
        _check.known("state", [choices.positive], states)
    _check.whole("cross_evaluate", at_least=1, n_bins=choices.n_bins)
    check_choices(choices.discretize)
    for name in ("structures", "estimators"):
        if not getattr(choices, name):
            raise InputError(f"cross_evaluate: {name} must not be empty.", parameter=name)
    for structure in choices.structures.values():
        check_structure(structure)
    for name, estimator in choices.estimators.items():
        _check_contestant(name, estimator)


def _check_contestant(name: str, estimator: Any) -> None:
    if not isinstance(estimator, Calibrated):
        what = f"cross_evaluate: the estimator {name!r}"
        check_estimator(estimator, what, parameter="estimators")
    if name in (CLASS_PRIOR, SOURCE_PRIOR):
        raise InputError(
            f"cross_evaluate: {name!r} is evaluated anyway; choose another name.",
            parameter="estimators",
        )


def _check_splits(splits: Any) -> None:
    if isinstance(splits, type) or not hasattr(splits, "split"):
        raise InputError(
            "cross_evaluate: splits must be StratifiedFolds(), LeaveOneSourceOut() or "
            f"LearningCurve(), got {splits!r}.",
            parameter="splits",
        )
