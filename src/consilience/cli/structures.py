"""Where the graph of ``learn`` comes from: given, read, or learned; the options and the facts.

A search is known by its name on the command line; the table says which public choice it is and
which options are its parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import click

from consilience.cli.bundles import bundled
from consilience.cli.common import model_of
from consilience.cli.progress import watched
from consilience.cli.quoting import QUOTES, names_between, parts_of
from consilience.cli.scores import score_of, score_option

if TYPE_CHECKING:
    import consilience as cs
    from consilience.graph.names import Arc
    from consilience.structure.independence.statements import IndependenceTest
    from consilience.structure.searches.task import Search

__all__ = ["SEARCHES", "Found", "Structure", "find_graph", "structure_options"]


@dataclass(frozen=True, slots=True)
class Structure:
    """What the options say about the graph."""

    target: str | None
    structure: str | None
    score: str | None
    max_parents: int | None
    restarts: int | None
    order: str | None
    alpha: float | None
    test: str | None
    max_given: int | None
    orientation: str | None
    require: tuple[str, ...]
    forbid: tuple[str, ...]
    tier: tuple[str, ...]
    seconds: float | None
    seed: int | None
    logistic: bool


@dataclass(frozen=True, slots=True)
class Fact:
    """A search: its public name, which options are its parameters, and parameters that are set."""

    choice: str
    takes: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    fixed: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Found:
    """The graph, and notes; if it was searched, the record of that and its score in words."""

    dag: cs.DAG
    result: cs.searches.SearchResult | None = None
    score: str = ""
    notes: tuple[str, ...] = ()

    @property
    def is_interrupted(self) -> bool:
        """Whether a search was cut short by an interrupt."""
        return self.result is not None and self.result.stopped_by == "interrupt"


SIGNS_OF_ARCS = ("->", ":")

NAIVE_BAYES, TAN, SWEEP = "naive-bayes", "tan", "sweep"

BY_TESTS: Final = ("alpha", "test", "max_given")
"""Options of the searches by tests of independence."""

SEARCHES: Final[Mapping[str, Fact]] = {
    SWEEP: Fact("Sweep", ("max_parents", "restarts")),
    "hc": Fact("HillClimb", ("max_parents", "restarts")),
    "tabu": Fact("HillClimb", ("max_parents", "restarts"), fixed={"tabu": 10}),
    "ges": Fact("GES", ("max_parents",)),
    "exact": Fact("Exact", ("max_parents",)),
    "astar": Fact("AStar", ("max_parents",)),
    "order": Fact("OrderSearch", ("max_parents", "restarts")),
    "annealing": Fact("SimulatedAnnealing", ("max_parents",)),
    "best-first": Fact("BestFirst", ("max_parents",)),
    "k2": Fact("K2Search", ("max_parents", "order"), needs=("order",)),
    "chow-liu": Fact("ChowLiu"),
    "pc": Fact("PC", (*BY_TESTS, "orientation")),
    "gs": Fact("GrowShrink", (*BY_TESTS, "orientation")),
    "iamb": Fact("IAMB", (*BY_TESTS, "orientation")),
    "inter-iamb": Fact("InterIAMB", (*BY_TESTS, "orientation")),
    "mmpc": Fact("MMPC", (*BY_TESTS, "orientation")),
    "mmhc": Fact("MMHC", (*BY_TESTS, "max_parents")),
}

TESTS: Final[Mapping[str, tuple[str, Mapping[str, Any]]]] = {
    "g2": ("GSquare", {}),
    "g2-adjusted": ("GSquare", {"adjusted": True}),
    "g2-corrected": ("GSquare", {"adjusted": True, "corrected": True}),
    "x2": ("PearsonX2", {}),
    "x2-adjusted": ("PearsonX2", {"adjusted": True}),
    "x2-corrected": ("PearsonX2", {"adjusted": True, "corrected": True}),
    "shrunk": ("ShrunkInformation", {}),
    "t": ("ExactT", {}),
    "z": ("FisherZ", {}),
    "lr": ("LikelihoodRatio", {}),
}
"""Tests of independence: name on the command line, public name, and parameters that are set."""


def _named_by_tests() -> str:
    return ", ".join(name for name, fact in SEARCHES.items() if "alpha" in fact.takes)


OF_SEARCH: Final = (
    "score",
    "max_parents",
    "restarts",
    "order",
    "alpha",
    "test",
    "max_given",
    "orientation",
    "require",
    "forbid",
    "tier",
    "seconds",
    "seed",
    "logistic",
)
"""Options that mean something to a search only."""

OF_SOME: Final = ("max_parents", "restarts", "order", *BY_TESTS, "orientation")
"""Those among them that only some searches have."""

structure_options: Final = bundled(
    "wanted",
    Structure,
    [
        click.option(
            "--target", metavar="COL", help="The variable that naive Bayes or TAN predicts."
        ),
        click.option(
            "--structure",
            metavar="GRAPH",
            help="A model file, a model string such as '[A][B|A]', naive-bayes (the default if "
            f"--target is given), tan, or a search: {', '.join(SEARCHES)} (by default exact where "
            "that is quick, else sweep).",
        ),
        score_option(
            "How graphs are judged: by default bic, and by-source:bic if there are several "
            "sources. Rows with gaps are completed by structural EM, except with pnal and nal, "
            "which judge each family by its complete rows"
        ),
        click.option(
            "--max-parents", type=click.IntRange(min=0), help="Most parents that a node may have."
        ),
        click.option(
            "--restarts",
            type=click.IntRange(min=0),
            help="How many restarts in a row may find nothing better.",
        ),
        click.option(
            "--order",
            metavar="A,B,... or N",
            help="All variables, parents before children; of sequences in time (--sequence, "
            "--time) how many steps back arcs may reach.",
        ),
        click.option(
            "--alpha",
            type=click.FloatRange(0, 1, min_open=True, max_open=True),
            help="P-value up to which variables are taken for dependent, by searches by tests "
            f"({_named_by_tests()}).  [default: 0.05]",
        ),
        click.option(
            "--test",
            type=click.Choice(list(TESTS)),
            help="The test of independence, made within each source if there are several; by "
            "default x2-adjusted, t or lr, by the kinds of the columns.",
        ),
        click.option(
            "--max-given",
            type=click.IntRange(min=0),
            help="Most variables that a test of independence is given.",
        ),
        click.option(
            "--orientation",
            type=click.Choice(["standard", "conservative", "majority"]),
            help="When two variables are parents of one that joins them.  [default: standard]",
        ),
        click.option(
            "--require",
            multiple=True,
            metavar="FROM:TO",
            help="An arc that the graph must have; repeatable. 'FROM->TO' is understood too. "
            + QUOTES,
        ),
        click.option(
            "--forbid",
            multiple=True,
            metavar="FROM:TO",
            help="An arc that the graph must not have; repeatable.",
        ),
        click.option(
            "--tier",
            multiple=True,
            metavar="A,B,...",
            help="Variables of one tier; repeatable, the earliest first. No arc leads back to an "
            "earlier tier.",
        ),
        click.option("--seconds", type=float, help="Time for the search; the best graph is kept."),
        click.option("--seed", type=click.IntRange(min=0), help="Of what is random in the search."),
        click.option(
            "--logistic",
            is_flag=True,
            help="Let continuous variables have discrete children, by logistic regression.",
        ),
    ],
)


def find_graph(wanted: Structure, ess: float | None, table: cs.Table | cs.engines.Scan) -> Found:
    """The graph that the options ask for; ``ess`` is that of the score."""
    import consilience as cs

    structure, target = wanted.structure, wanted.target
    if structure in SEARCHES or (structure is None and target is None):
        return _search(wanted, ess, table)
    _refuse_search_options(wanted)
    if structure in (None, NAIVE_BAYES, TAN):
        if target is None:
            raise click.UsageError(f"--structure {structure} needs --target.")
        return _tree(table, target) if structure == TAN else Found(cs.naive_bayes(table, target))
    if target is not None:
        raise click.UsageError(f"--target goes with --structure {NAIVE_BAYES} or {TAN} only.")
    known = ", ".join(map(repr, (NAIVE_BAYES, TAN, *SEARCHES)))
    model = model_of(structure, f"--structure {structure!r}", f", nor {known}")
    return Found(model if isinstance(model, cs.DAG) else model.dag)


def _tree(table: cs.Table | cs.engines.Scan, target: str) -> Found:
    import consilience as cs

    notes = tuple(cs.searches.tree_notes(table))
    return Found(cs.tan(table, target), notes=notes)


def _search(wanted: Structure, ess: float | None, table: cs.Table | cs.engines.Scan) -> Found:
    import consilience as cs

    if wanted.target is not None:
        raise click.UsageError(f"--target goes with --structure {NAIVE_BAYES} or {TAN} only.")
    search = _search_of(wanted, table)
    score = None
    if wanted.score is not None:
        score = score_of(wanted.score, ess, n_variables=len(table.variables))
    arcs = {
        option: [_arc(f"--{option}", text, table) for text in getattr(wanted, option)]
        for option in ("require", "forbid")
    }
    with watched("Searching") as progress:
        result = cs.search(
            table,
            score=score,
            search=search,
            require=arcs["require"],
            forbid=arcs["forbid"],
            tiers=[_names("--tier", text, table) for text in wanted.tier],
            seconds=wanted.seconds,
            seed=wanted.seed or 0,
            progress=progress,
            logistic=wanted.logistic,
        )
    return Found(result.dag, result, result.judged_by, result.notes)


def _search_of(wanted: Structure, table: cs.Table | cs.engines.Scan) -> Search | None:
    """The search that was asked for; None is what the library does by itself."""
    import consilience as cs

    name = wanted.structure or SWEEP
    fact = SEARCHES[name]
    for option in OF_SOME:
        if getattr(wanted, option) is not None and option not in fact.takes:
            having = [each for each, other in SEARCHES.items() if option in other.takes]
            raise click.UsageError(f"{_dashed(option)} goes with --structure {', '.join(having)}.")
    for option in fact.needs:
        if getattr(wanted, option) is None:
            raise click.UsageError(f"--structure {name} needs {_dashed(option)}.")
    given = {option: getattr(wanted, option) for option in fact.takes}
    values = {option: value for option, value in given.items() if value is not None}
    if "order" in values:
        values["order"] = _names("--order", values["order"], table)
    if "alpha" in fact.takes:
        values["test"] = _test_of(values.get("test"), values.pop("alpha", 0.05), table)
    if wanted.structure is None and not values:
        return None
    choice: Callable[..., Search] = getattr(cs.searches, fact.choice)
    return choice(**fact.fixed, **values)


def _test_of(name: str | None, alpha: float, table: cs.Table | cs.engines.Scan) -> IndependenceTest:
    """The test of that name, within sources if there are several."""
    import consilience as cs

    if name is None:
        return cs.independence.usual_test(table, alpha=alpha)
    public, fixed = TESTS[name]
    test = getattr(cs.independence, public)(alpha=alpha, **fixed)
    return cs.independence.Stratified(of=test) if len(table.sources) > 1 else test


def _refuse_search_options(wanted: Structure) -> None:
    for option in OF_SEARCH:
        if getattr(wanted, option) not in (None, (), False):
            raise click.UsageError(
                f"{_dashed(option)} goes with a search: --structure {', '.join(SEARCHES)}."
            )


def _arc(option: str, text: str, table: cs.Table | cs.engines.Scan) -> Arc:
    """The two ends of an arc; a name may hold the sign between them if that leaves no doubt."""
    parts = parts_of(f"{option} {text!r}", text, SIGNS_OF_ARCS)
    splits = [(text[: part.end], text[part.end + len(part.sign) :]) for part in parts[:-1]]
    if not splits:
        raise click.UsageError(f"{option} {text!r}: expected FROM:TO.")
    if len(splits) == 1 or any(part.is_quoted for part in parts):
        if len(splits) > 1:
            raise click.UsageError(f"{option} {text!r}: expected FROM:TO. {QUOTES}")
        return parts[0].name, parts[1].name
    known = [pair for pair in splits if set(pair) <= set(table.variables)]
    start, end = (known or splits)[0]
    return start.strip(), end.strip()


def _names(option: str, text: str, table: cs.Table | cs.engines.Scan) -> list[str]:
    """Names with commas between them, unless the text is itself the name of a variable."""
    return [text] if text in table.variables else names_between(f"{option} {text!r}", text, ",")


def _dashed(option: str) -> str:
    return f"--{option.replace('_', '-')}"
