"""What a notebook shows of a study over sites: who took part, and what went to and fro."""

from __future__ import annotations

from consilience.show.html import N_LINES, grid, heading, notes, number
from consilience.show.notebook_graphs import counted
from consilience.sites.study_record import StudyRecord

__all__ = ["study"]


def study(record: StudyRecord) -> str:
    """Sites with their rows and policies, then the rounds, what was withheld and refused."""
    about = f"mode {record.mode}, {counted(len(record.sites), 'site')}, " + counted(
        len(record.rounds), "round"
    )
    sites = [
        (name, number(f"{record.n_rows[name]:g}"), policy[:12])
        for name, policy in record.policies.items()
    ]
    rounds = [
        (
            number(str(one.number)),
            one.kind,
            number(f"{one.n_families:,}"),
            number(f"{one.bytes_answered:,}"),
            number(f"{one.seconds:.3g}"),
        )
        for one in record.rounds
    ]
    withheld = [(", ".join(names), why) for names, why in record.withheld.items()]
    parts = [
        heading(record.study, about),
        grid(("site", "rows", "policy"), sites, n=N_LINES),
        grid(("round", "kind", "families", "bytes", "seconds"), rounds, n=N_LINES),
        grid(("withheld", "why"), withheld, n=N_LINES) if withheld else "",
        notes((*record.refusals, *record.notes)),
    ]
    return "".join(parts)
