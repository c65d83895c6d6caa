"""``consilience query``."""

from __future__ import annotations

import json

import click

from consilience.cli.beliefs import facts_of_given, plain_belief, plain_given, print_belief
from consilience.cli.common import print_facts, screen, spoken
from consilience.cli.given import given_of, given_option
from consilience.cli.outputs import check_inputs
from consilience.cli.sequences import static_model
from consilience.cli.terminal import echo
from consilience.cli.ways import way_of, way_options

__all__ = ["query"]


@click.command()
@click.argument("model")
@click.argument("names", nargs=-1, required=True, metavar="NODE...")
@given_option
@click.option(
    "--event",
    multiple=True,
    metavar="EVENT",
    help="What is known as well, such as 'age >= 60 or not (smoke = yes and cp in {a, b})'; "
    "repeatable.",
)
@way_options
@click.option("--json", "as_json", is_flag=True, help="Print the numbers as JSON.")
@spoken
def query(
    model: str,
    names: tuple[str, ...],
    *,
    given: tuple[str, ...],
    event: tuple[str, ...],
    by: str,
    draws: int | None,
    error: float | None,
    seed: int | None,
    as_json: bool,
) -> None:
    """Probability of each state of a node, given others.

    For several nodes it is the probability of their states together. The probability of what is
    given is printed too.

    Of a continuous node there are mean, sd and quantiles; of several also their correlations; of
    both kinds together those of the continuous ones in each state. What cannot be computed exactly
    is estimated from draws, with standard errors; --by estimates anything.

    NODE=A|B is the state 'A|B' if the node has one of that name, and otherwise the state A or B.

    \b
    Examples:
      consilience query model.json disease --given chest_pain=typical --given hospital=island
      consilience query model.json disease smoking --given 'age=50-69|70+' --json
      consilience query model.json blood_pressure --given age=62.5 --given sex=F
      consilience query model.json disease --given '"dose=mg"=10|20'
      consilience query model.json disease --given age=70+ --by best --error 0.001
      consilience query model.json disease --event 'age >= 60 or not smoking = never'
    """
    import consilience as cs

    check_inputs([model])
    net = static_model(model)
    known = given_of(net, given)
    everything = [known, *map(cs.Event.parse, event)]
    way = way_of(by, draws=draws, error=error, seed=seed)
    belief = net.query(names, given=everything, by=way)
    of_given = way if by == "exact" else cs.inference.Best()
    log_given = cs.log_probability(net, everything, by=of_given) if known or event else 0.0
    if as_json:
        plain = plain_belief(belief) | plain_given(net, known, log_given)
        plain |= {"events": list(event)} if event else {}
        echo(json.dumps(plain, indent=1, allow_nan=False))
        return
    print_belief(belief)
    if known or event:
        echo()
        print_facts(screen(), facts_of_given(net, known, log_given))
