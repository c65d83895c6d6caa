"""Guards that keep watch: random input against brute force, damaged files, broken surroundings.

``python -m torture`` (or ``make torture``) takes minutes; ``--budget 0.01`` takes seconds. The
oracles are those of the tests.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]

for room in ("data", "dynamic", "files", "incomplete", "inference", "parameters", "statistics"):
    sys.path.append(str(ROOT / "tests" / room))
