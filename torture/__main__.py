"""``python -m torture``: run the topics, print the table, exit with 1 if something failed."""

from __future__ import annotations

import argparse
import sys

from torture.harness import run, story, table
from torture.topics import TOPICS

SHOWN = 5


def main(arguments: list[str] | None = None) -> int:
    """The exit code: 1 if a claim failed."""
    options = _options(arguments)
    rows = []
    for row in run(TOPICS, seed=options.seed, budget=options.budget, only=options.only):
        rows.append(row)
        for failure in row.failures[:SHOWN]:
            print(story(row, failure), flush=True)
            if not options.budget:
                print(failure.trace, flush=True)
        if len(row.failures) > SHOWN:
            print(f"    and {len(row.failures) - SHOWN} more", flush=True)
    if not rows:
        print(f"no such topic; there are {', '.join(topic.name for topic in TOPICS)}.")
        return 2
    print(table(rows))
    return int(any(row.failures for row in rows))


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m torture", description=__doc__)
    parser.add_argument("--seed", type=int, default=1, help="of the first trial of each topic")
    parser.add_argument(
        "--budget", type=float, default=1.0, help="share of the nightly size; 0 is one trial each"
    )
    parser.add_argument(
        "--only", nargs="+", default=[], metavar="TOPIC[:CLAIM]", help="these topics or claims"
    )
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
