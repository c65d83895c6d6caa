"""``consilience identify``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from consilience.cli.causal_options import (
    Hidden,
    Moved,
    causal_graph,
    experiments_of,
    hidden_options,
    moved_options,
    print_assumptions,
)
from consilience.cli.common import print_facts, screen, spoken
from consilience.cli.outputs import check_inputs
from consilience.cli.terminal import echo

if TYPE_CHECKING:
    import consilience as cs

__all__ = ["identify"]


@click.command()
@click.argument("graph")
@click.argument("names", nargs=-1, required=True, metavar="NODE...")
@click.option("--do", "do", multiple=True, required=True, metavar="NODE", help="Node that is set.")
@click.option(
    "--given", multiple=True, metavar="NODE", help="Node that is seen after it; repeatable."
)
@hidden_options
@click.option("--source", metavar="NODE", help="Node of the sources, for an effect that is moved.")
@moved_options
@click.option("--json", "as_json", is_flag=True, help="Print the answer as JSON.")
@spoken
def identify(
    graph: str,
    names: tuple[str, ...],
    do: tuple[str, ...],
    given: tuple[str, ...],
    *,
    unseen: Hidden,
    source: str | None,
    moved: Moved,
    as_json: bool,
) -> None:
    """Whether a causal effect can be computed from what was recorded.

    GRAPH is a model string such as '[x][y|x]' or a model file. The answer is a formula and the
    families whose counts it needs; or what stands in the way, and what to randomise or measure
    instead. It is complete: what is refused, no method can compute without further assumptions.

    \b
    Examples:
      consilience identify '[x][m|x][y|m]' y --do x --latent x:y
      consilience identify model.json cancer --do smoking --hidden gene
      consilience identify '[place][age|place][dose][cured|age:dose]' cured --do dose \\
        --source place --to city --experiment trial=dose
    """
    import consilience as cs

    check_inputs([graph])
    whole = causal_graph(graph, unseen)
    found = cs.causal.identify(
        whole,
        names,
        do=do,
        given=given,
        source=source,
        to=moved.to,
        experiments=experiments_of(moved.experiment),
    )
    sets = None if given or moved.to else cs.causal.adjustment_sets(whole, names, do=do)
    if as_json:
        echo(json.dumps(_plain(found, sets), indent=1))
        return
    print_facts(screen(), _facts(found, sets))
    print_assumptions(found.assumptions)


def _plain(found: cs.causal.Estimand, sets: cs.causal.AdjustmentSets | None) -> dict[str, Any]:
    hedge = found.hedge
    return {
        "question": found.question,
        "identified": found.is_identified,
        "formula": str(found) if found.is_identified else None,
        "latex": found.latex if found.is_identified else None,
        "families": [{"child": f.child, "parents": list(f.parents)} for f in found.families],
        "hedge": None if hedge is None else [sorted(hedge.outer), sorted(hedge.inner)],
        "differs": list(found.differs),
        "advice": found.advice,
        "adjustment_sets": None if sets is None else [sorted(one) for one in sets],
        "front_door": [] if sets is None else list(sets.front_door),
        "instruments": [] if sets is None else list(sets.instruments),
        "assumptions": list(found.assumptions),
    }


def _facts(found: cs.causal.Estimand, sets: cs.causal.AdjustmentSets | None) -> dict[str, str]:
    facts = {"identified": "yes" if found.is_identified else "no"}
    if found.is_identified:
        facts["formula"] = str(found)
        facts["needs counts of"] = "; ".join(_family(one) for one in found.families)
    else:
        why = found.differs or (str(found.hedge),)
        facts["differs between sources" if found.differs else "hedge"] = ", ".join(why)
        facts["instead"] = found.advice
    if sets is not None:
        if len(sets):
            facts["adjust for"] = " or ".join(_set(one) for one in sets)
        if sets.front_door:
            facts["front door"] = ", ".join(sets.front_door)
        if sets.instruments:
            facts["instruments"] = ", ".join(sets.instruments)
    return facts


def _family(family: cs.Family) -> str:
    given = f" | {', '.join(family.parents)}" if family.parents else ""
    return f"{family.child}{given}"


def _set(names: frozenset[str]) -> str:
    return f"{{{', '.join(sorted(names))}}}" if names else "nothing"
