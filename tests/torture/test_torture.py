"""One trial of every topic of ``make torture``, and the harness that counts them."""

from __future__ import annotations

import pytest
from torture.harness import Skipped, Topic, run, story, table
from torture.topics import TOPICS

SEED = 1
ELSEWHERE = {"killed", "stdout", "one_cache"}
"""What test_whole_files, test_outputs and test_kernel_cache claim with fewer processes."""

TRIED = [topic for topic in TOPICS if topic.name not in ELSEWHERE]


@pytest.mark.parametrize("topic", TRIED, ids=[topic.name for topic in TRIED])
def test_one_trial_of_every_topic_finds_no_failure(topic):
    rows = list(run([topic], seed=SEED, budget=0))
    assert not [story(row, failure) for row in rows for failure in row.failures]


def fails_on_even(case):
    if case % 2 == 0:
        raise ValueError("an even seed")
    return 3


def skips(case):
    raise Skipped("there is no such machine here")


def test_a_failure_names_its_seed_and_hides_no_other_claim():
    claims = {"odd": fails_on_even, "never": skips, "always": lambda case: 1}
    rows = list(run([Topic("toy", lambda seed, folder: seed, claims, 4)], seed=1, budget=1.0))
    assert [(row.n_inputs, [f.seed for f in row.failures]) for row in rows] == [
        (8, [2, 4]),
        (0, []),
        (4, []),
    ]
    assert rows[1].skipped == "there is no such machine here"
    assert "python -m torture --only toy:odd --seed 2 --budget 0" in story(
        rows[0], rows[0].failures[0]
    )
    assert "skipped: there is no such machine here" in table(rows)


def test_a_claim_can_be_asked_for_alone():
    topics = [Topic("toy", lambda seed, folder: seed, {"a": lambda c: 1, "b": lambda c: 1}, 4)]
    assert [row.claim for row in run(topics, seed=1, budget=0, only=["toy:b"])] == ["b"]
    assert [row.claim for row in run(topics, seed=1, budget=0, only=["toy"])] == ["a", "b"]
    assert not list(run(topics, seed=1, budget=0, only=["other"]))
