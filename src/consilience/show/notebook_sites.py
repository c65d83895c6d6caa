"""What a notebook shows of a study over sites: who took part, and what went to and fro."""

from __future__ import annotations

from consilience.show.html import Line, grid, heading, notes, number
from consilience.show.notebook_graphs import counted
from consilience.sites.confusion import SiteMeasures
from consilience.sites.study_record import StudyRecord

__all__ = ["measured", "study"]


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
        grid(("site", "rows", "policy"), sites),
        grid(("round", "kind", "families", "bytes", "seconds"), rounds),
        grid(("withheld", "why"), withheld) if withheld else "",
        notes((*record.refusals, *record.notes)),
    ]
    return "".join(parts)


def measured(found: SiteMeasures) -> str:
    """Accuracy and rates of each site and group."""
    rates, accuracy = found.rates, found.accuracy
    lines: list[Line] = [
        (
            site,
            group,
            number(f"{found.confusion[s, g].sum():,}"),
            number(f"{accuracy[s, g]:.3f}"),
            *(number(f"{rate:.3f}") for rate in rates[s, g]),
        )
        for s, site in enumerate(found.sites)
        for g, group in enumerate(found.groups)
    ]
    head = ("site", "group", "rows", "accuracy", *(f"predicted {state}" for state in found.states))
    return heading(found.target, "predicted at the sites") + grid(head, lines) + notes(found.notes)
