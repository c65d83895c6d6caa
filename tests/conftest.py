"""What all tests share."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

# The first example of a test may compile kernels, and machines may be busy. Examples differ from
# run to run; `pytest --hypothesis-profile=thorough` tries many at once.
settings.register_profile("consilience", deadline=None, max_examples=20)
settings.register_profile("thorough", deadline=None, max_examples=500)
settings.load_profile("consilience")


@pytest.fixture(autouse=True)
def closed_figures() -> Iterator[None]:
    """Closes the figures of each test: too many open ones are a warning, which is an error."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder of public data sets; tests that need it are skipped without it."""
    named = os.environ.get("CONSILIENCE_DATA")
    if not named:
        pytest.skip("CONSILIENCE_DATA does not name the folder of public data sets")
    return Path(named)


@pytest.fixture
def listening() -> Callable[[], None]:
    """For ``preexec_fn``: what a script runs in its background ignores interrupts otherwise."""

    def listen() -> None:
        signal.signal(signal.SIGINT, signal.SIG_DFL)

    return listen
