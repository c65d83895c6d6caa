"""What the library advises in Python, said in the options of the command that is running.

A choice becomes the option that names it, and an argument the option of its name. A sentence of
advice that is left with something in Python, or with an option that the command lacks, is not said:
advice must work where it is given.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from functools import cache
from typing import Final

import click

from consilience.cli.read_arguments import arguments_as_options

__all__ = ["as_options"]

PHRASES: Final = {
    "gaps=cs.AvailableCases()": "--gaps available",
    "gaps=cs.EM()": "--gaps em",
    "cs.gaps.VariationalBayes()": "--gaps vb",
    "cs.scores.BySource(cs.BIC())": "--score by-source:bic",
    "threshold=cs.fusion.Majority() or a number": "--threshold majority or a number",
    "logistic=True": "--logistic",
    "learn from table.pooled()": "learn from rows that name none",
    "Name the column of the sources when the table is read: source=.": (
        "Name the column of the sources with --source."
    ),
    "Read it with source=..., or give a dict": "Name their column with --source, or give a file",
    "estimate the answer (by=cs.inference.Best()), or raise memory_limit (of a query: "
    "by=cs.inference.Exact(memory_limit=...))": "or draw rows and count (consilience sample). "
    "Estimate the answer with --by best",
    ", or raise memory_limit (of a query: by=cs.inference.Exact(memory_limit=...))": "",
    ", or raise memory_limit": "",
    " Raise memory_limit, or use": " Use",
    " Raise memory_limit.": " Use fewer parents or states.",
}
"""Phrases that are not made by the rules below."""

ARGUMENTS: Final = re.compile(
    r"(?<![-\w])(discrete|continuous|discretize|missing|source|weight|seconds|max_parents|columns|"
    r"drop|require)(?:=(?:\.\.\.)?(?=[\s.,;)])|(?<=max_parents))"
)

ESTIMATORS: Final = ("Dirichlet", "MLE", "Shrinkage", "HDC", "HDMCS", "HDMJS", "HDS", "Adaptive")

_PYTHON = re.compile(
    r"\bcs\.\w|\b(?:net|table|frame)\.\w|memory_limit|\b\w+=(?=[\s.,;)\[]|\.\.\.|net)|"
    r"\bHardCompletion\(\)"
)
_OPTION = re.compile(r"(?<!\S)--[a-z][a-z-]*")
_SENTENCES = re.compile(r"(?<=[.?!]) (?=[A-Z])")


def as_options(message: str) -> str:
    """What the library says, with its advice in options of the command that is running."""
    message = arguments_as_options(message)
    for python, option in PHRASES.items():
        message = message.replace(python, option)
    for choice, option in _choices():
        message = choice.sub(option, message)
    message = ARGUMENTS.sub(lambda found: f"--{found[1].replace('_', '-')}", message)
    fact, *advice = _SENTENCES.split(message)
    known = _options_here()
    return " ".join([fact, *(one for one in advice if _can_be_followed(one, known))])


def _can_be_followed(sentence: str, known: Collection[str] | None) -> bool:
    lacks = known is not None and any(one not in known for one in _OPTION.findall(sentence))
    return not lacks and _PYTHON.search(sentence) is None


def _options_here() -> Collection[str] | None:
    """The options of the command that is running; None if none is."""
    context = click.get_current_context(silent=True)
    if context is None:
        return None
    return [name for one in context.command.params for name in (*one.opts, *one.secondary_opts)]


@cache
def _choices() -> tuple[tuple[re.Pattern[str], str], ...]:
    return tuple((re.compile(python), option) for python, option in _written())


def _written() -> Iterator[tuple[str, str]]:
    """How each choice is written in Python, and its option."""
    from consilience.cli.fuse import PARAMETERS, THRESHOLDS, WEIGHTS
    from consilience.cli.scores import SCORES
    from consilience.cli.structures import SEARCHES
    from consilience.cli.ways import WAYS

    for name, (choice, _) in SCORES.items():
        yield rf"\bcs\.(?:scores\.)?{choice}\([^()]*\)", f"--score {name}"
    for name, fact in [*SEARCHES.items()][::-1]:
        yield rf"\bcs\.(?:searches\.)?{fact.choice}\([^()]*\)", f"--structure {name}"
    for choice in ESTIMATORS:
        yield rf"\bcs\.(?:estimators\.)?{choice}\([^()]*\)", f"--parameters {choice.lower()}"
    for name, choice in WAYS.items():
        yield rf"\bby=cs\.inference\.{choice}\([^()]*\)", f"--by {name}"
    fusion = {"parameters": PARAMETERS, "threshold": THRESHOLDS, "weights": WEIGHTS}
    for option, choices in fusion.items():
        for name, choice in choices.items():
            yield rf"\bcs\.fusion\.{choice}\([^()]*\)", f"--{option} {name}"
