"""Reading text columns: from parquet and from pandas frames, beside pandas and polars.

The columns have the shape of the alarm network's: 37 of them with 2 to 4 states of 3 to 12 letters.
Every contestant must end with codes and states for every column: pandas with
``astype("category")``, polars with a cast to ``Categorical`` (from a pandas frame: converted first,
and for strings also from a frame of its own).

    python benchmarks/reading.py [rows]
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from bench import Timing, measure, peer, show

from consilience.data.read import read

N_COLUMNS = 37
STATES = (
    ("LOW", "NORMAL", "HIGH"),
    ("TRUE", "FALSE"),
    ("ZERO", "LOW", "NORMAL", "HIGH"),
    ("NORMAL", "ESOPHAGEAL", "ONESIDED"),
)
OURS = "consilience"


def main() -> None:
    n_rows = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    rows = random_rows(n_rows)
    pandas, polars = peer("pandas"), peer("polars")
    print(f"{n_rows:,} rows, {N_COLUMNS} text columns")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        pq.write_table(rows, path)
        from_parquet(path, pandas, polars)
    if pandas is not None:
        frame = rows.to_pandas()
        from_frame("a pandas frame of strings", frame, polars, has_own=True)
        from_frame("a pandas frame of Python objects", frame.astype(object), polars, has_own=False)


def random_rows(n_rows: int) -> Any:
    rng = np.random.default_rng(1)
    columns = {}
    for k in range(N_COLUMNS):
        states = STATES[k % len(STATES)]
        codes = pa.array(rng.choice(len(states), n_rows, p=uneven(len(states))))
        columns[f"v{k}"] = pa.array(states).take(codes)
    return pa.table(columns)


def uneven(n_states: int) -> Any:
    shares = 0.5 ** np.arange(n_states)
    return shares / shares.sum()


def from_parquet(path: Path, pandas: Any, polars: Any) -> None:
    times: dict[str, Timing] = {OURS: measure(lambda: read(path))}
    if pandas is not None:
        times["pandas, category"] = measure(lambda: pandas.read_parquet(path).astype("category"), 3)
    if polars is not None:
        times["polars, Categorical"] = measure(
            lambda: categorical(polars, polars.read_parquet(path))
        )
    show("from parquet", times, OURS)


def from_frame(title: str, frame: Any, polars: Any, *, has_own: bool) -> None:
    times: dict[str, Timing] = {
        OURS: measure(lambda: read(frame)),
        "pandas, category": measure(lambda: frame.astype("category"), 3),
    }
    if polars is not None:
        times["polars, Categorical"] = measure(
            lambda: categorical(polars, polars.from_pandas(frame)), 3
        )
    if polars is not None and has_own:
        own = polars.from_pandas(frame)
        times["polars, Categorical, own frame"] = measure(lambda: categorical(polars, own))
    show(f"from {title}", times, OURS)


def categorical(polars: Any, frame: Any) -> Any:
    return frame.select(polars.all().cast(polars.Categorical))


if __name__ == "__main__":
    main()
