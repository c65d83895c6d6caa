"""What all benchmarks share: timing, peers that may be absent, data, and tables of results."""

from __future__ import annotations

import importlib
import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

Timing = tuple[float, float]


def measure(work: Callable[[], Any], repeats: int = 5) -> Timing:
    """Median CPU and wall seconds; the first, warming run does not count."""
    work()
    cpu, wall = [], []
    for _ in range(repeats):
        c, w = time.process_time(), time.perf_counter()
        work()
        cpu.append(time.process_time() - c)
        wall.append(time.perf_counter() - w)
    return float(np.median(cpu)), float(np.median(wall))


def peer(module: str) -> ModuleType | None:
    """A peer library, or None after saying that it is absent."""
    try:
        return importlib.import_module(module)
    except ImportError as problem:
        print(f"skipped: {module} is not installed ({problem}); pip install 'consilience[bench]'")
        return None


def data_dir() -> Path:
    """The folder of public data sets."""
    named = os.environ.get("CONSILIENCE_DATA")
    if not named:
        print("skipped: CONSILIENCE_DATA does not name the folder of public data sets")
        sys.exit(0)
    return Path(named)


def show(title: str, rows: dict[str, Timing], ours: str) -> None:
    """CPU and wall seconds of each contestant, and how many times ours is faster in CPU time."""
    print(f"\n{title}")
    for name, (cpu, wall) in rows.items():
        ratio = "" if name == ours else f"   {cpu / rows[ours][0]:6.1f} x ours"
        print(f"  {name:<34} CPU {cpu:9.4f} s   wall {wall:9.4f} s{ratio}")


def frame_of(table: Any) -> Any:
    """The table as a pandas frame whose categories are plain strings, which PyBNesian needs."""
    import pandas as pd

    return pd.DataFrame(
        {
            name: pd.Categorical.from_codes(
                np.asarray(column), pd.Index(table.variables[name].states, dtype=object)
            )
            for name, column in table.columns.items()
        }
    )


def private() -> float:
    """Bytes of private memory."""
    status = Path("/proc/self/status").read_text()
    return 1024 * float(next(line for line in status.splitlines() if "RssAnon" in line).split()[1])


class Watch:
    """The most private memory while a block runs, looked at every 20 ms."""

    def __init__(self) -> None:
        self.most = private()
        self._is_done = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, *problem: object) -> None:
        self._is_done.set()
        self._thread.join()
        self.most = max(self.most, private())

    def _look(self) -> None:
        while not self._is_done.wait(0.02):
            self.most = max(self.most, private())
