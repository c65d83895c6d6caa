"""Lets the tests of this folder import each other's oracles, and those of the hierarchy."""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).parent

sys.path[:0] = [str(HERE), str(HERE.parent / "parameters")]
