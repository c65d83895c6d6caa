"""How counts become tables: the options of ``learn``, and the estimator they name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import click

from consilience import ConsilienceError
from consilience.cli.bundles import bundled

if TYPE_CHECKING:
    from consilience.classify.shrinking import Calibrated
    from consilience.parameters.estimator import Estimator
    from consilience.parameters.strength import Strength

__all__ = ["CALIBRATED", "HIERARCHICAL", "Tables", "estimator_of", "table_options"]

CALIBRATED = "calibrated"
HIERARCHICAL = ("hdmcs", "hdmjs", "hds", "adaptive")


@dataclass(frozen=True, slots=True)
class Tables:
    """What the options say about the tables."""

    by_source: bool
    parameters: str | None
    strength: str | None


table_options: Final = bundled(
    "tables",
    Tables,
    [
        click.option("--by-source", is_flag=True, help="Give every source its own tables."),
        click.option(
            "--parameters",
            type=click.Choice(["dirichlet", "mle", "shrinkage", "hdc", CALIBRATED, *HIERARCHICAL]),
            help="How counts become probabilities; regressions of continuous variables do with the "
            "sources what it does. calibrated is hdc made to predict the --target.  "
            "[default: hdc]",
        ),
        click.option(
            "--strength",
            metavar="S",
            help="How strongly a hierarchy ties its groups: a number, per-state, or "
            "gamma:SHAPE,RATE to learn it.  [default: learned]",
        ),
    ],
)


def estimator_of(tables: Tables, ess: float | None) -> Estimator | Calibrated | None:
    """The estimator that was asked for; None leaves the choice to the library."""
    import consilience as cs

    parameters = tables.parameters
    if ess is not None and parameters not in (None, "dirichlet"):
        raise click.UsageError(
            "--ess goes with --parameters dirichlet, or with a --score that has a prior."
        )
    if tables.strength is not None and parameters not in HIERARCHICAL:
        raise click.UsageError(f"--strength goes with --parameters {', '.join(HIERARCHICAL)}.")
    if parameters is None and ess is None:
        return None
    if parameters in HIERARCHICAL:
        choices = {
            "hdmcs": cs.HDMCS,
            "hdmjs": cs.HDMJS,
            "hds": cs.HDS,
            "adaptive": cs.estimators.Adaptive,
        }
        choice = choices[parameters]
        return choice() if tables.strength is None else choice(s=_strength(tables.strength))
    plain: dict[str, Callable[[], Estimator | Calibrated]]
    plain = {
        "mle": cs.MLE,
        "shrinkage": cs.estimators.Shrinkage,
        "hdc": cs.HDC,
        CALIBRATED: cs.classify.Calibrated,
    }
    return plain[parameters]() if parameters in plain else cs.Dirichlet(ess=ess)


def _strength(text: str) -> Strength:
    import consilience as cs

    kind, _, value = text.partition(":")
    try:
        if kind == "per-state":
            return cs.PerState(float(value or 1))
        if kind == "gamma":
            shape, rate = map(float, value.split(","))
            return cs.Gamma(shape, rate)
        return float(kind)
    except ConsilienceError:
        raise
    except ValueError:
        raise click.UsageError(
            f"--strength {text!r}: expected a number, per-state or gamma:4,0.1."
        ) from None
