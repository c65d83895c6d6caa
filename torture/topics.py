"""All topics, in the order of the table."""

from __future__ import annotations

from torture import damaged, discrete, kept, learned, logistic, mixed, processes

BRUTE_FORCE = [discrete.TOPIC, mixed.TOPIC, logistic.TOPIC, learned.TOPIC, kept.TOPIC]
TOPICS = [*BRUTE_FORCE, damaged.TOPIC, *processes.TOPICS]
