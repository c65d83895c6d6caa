"""What all tests share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder of public data sets; tests that need it are skipped without it."""
    named = os.environ.get("CONSILIENCE_DATA")
    if not named:
        pytest.skip("CONSILIENCE_DATA does not name the folder of public data sets")
    return Path(named)
