"""All topics, in the order of the table."""

from __future__ import annotations

from torture import behind, damaged, discrete, in_time, kept, learned, logistic, mixed, processes

BRUTE_FORCE = [
    discrete.TOPIC,
    mixed.TOPIC,
    logistic.TOPIC,
    learned.TOPIC,
    behind.TOPIC,
    kept.TOPIC,
    in_time.TOPIC,
]
TOPICS = [*BRUTE_FORCE, damaged.TOPIC, *processes.TOPICS]
