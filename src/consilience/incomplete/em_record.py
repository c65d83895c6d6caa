"""What the record of a fit by EM says: how gaps were filled, on which condition, how it ended."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from consilience.incomplete.ascent import How
from consilience.incomplete.climbing import Climb
from consilience.incomplete.restarts import note_on_hidden
from consilience.parameters.fit_record import GapReport, Statistics

__all__ = ["report_of", "with_rounds"]


def report_of(
    choice: How,
    best: Climb,
    n_starts: int,
    seen: Statistics,
    *,
    hidden: tuple[str, ...],
    continuous: tuple[str, ...] = (),
) -> GapReport:
    """What the record says: how the gaps were filled, on which condition, and how it ended.

    Nothing is said of hidden nodes that are ``continuous``.
    """
    notes = []
    n_incomplete = [*(c.n_incomplete for c in seen.counts), *(m.n_incomplete for m in seen.moments)]
    if any(one.sum() > 0 for one in n_incomplete) and not _is_only_hidden(seen, hidden):
        notes.append(
            "All rows were used; gaps were filled in expectation by EM, which is sound if values "
            "are missing at random. The posteriors take the expected counts for counts of rows, so "
            "they are too narrow where much is missing (cs.gaps.augment draws honest ones, for "
            "sources "
            "that are pooled or kept apart)."
        )
    notes += note_on_hidden([name for name in hidden if name not in continuous])
    steps = len(best.objective)
    if best.stopped_by == "iterations":
        notes.append(f"EM did not converge in {choice.iterations} steps; raise EM(iterations=...).")
    elif best.stopped_by == "interrupt":
        notes.append(f"EM was interrupted after {steps} steps.")
    if best.has_fallen:
        notes.append(
            "Rounding made the objective of EM fall, so it ended there, maybe a little below the "
            "highest point: columns are nearly functions of each other."
        )
    starts = f", the best of {n_starts} starts" if n_starts > 1 else ""
    notes.append(f"EM took {steps} steps{starts}.")
    return GapReport(f"{choice!r} with {{}}", tuple(notes))


def with_rounds(told: GapReport, rounds: Climb) -> GapReport:
    """What the record says of estimators whose steps maximize no objective."""
    note = (
        "EM climbed with priors worth one row of each parent state, around what all sources say, "
        "since the estimators have no objective; then they were fitted to the expected counts, "
        f"{len(rounds.objective)} rounds until the parameters "
        f"{'rested' if rounds.stopped_by == 'tolerance' else 'had to stop: ' + rounds.stopped_by}."
    )
    return replace(told, notes=(*(told.notes or ()), note))


def _is_only_hidden(seen: Statistics, hidden: Collection[str]) -> bool:
    """Whether nothing is missing but what nobody recorded."""
    families = [
        *((c.family.variables, c.n_incomplete.sum()) for c in seen.counts),
        *(((*(v.name for v in m.given), *m.names), m.n_incomplete.sum()) for m in seen.moments),
    ]
    return not any(n > 0 and not set(names) & set(hidden) for names, n in families)
