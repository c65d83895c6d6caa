"""Reading networks: all of the repository's, unpacked, beside the peers. CPU seconds.

CONSILIENCE_DATA=... python benchmarks/files.py
"""

from __future__ import annotations

import gzip
import logging
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path

from bench import data_dir, measure, peer

from consilience.files.registry import load

SMALL = 30_000  # bytes that pgmpy reads within a second


def main() -> None:
    readers = dict(peers())
    with tempfile.TemporaryDirectory() as folder:
        files = unpacked(Path(folder))
        totals = dict.fromkeys(["consilience", *readers], 0.0)
        ours_of_the_same = dict.fromkeys(readers, 0.0)
        print(
            f"{'milliseconds of CPU':<22}{'consilience':>13}" + "".join(f"{n:>24}" for n in readers)
        )
        for path in files:
            ours = best(lambda path=path: load(path))
            totals["consilience"] += ours
            line = f"{path.name:<22}{1e3 * ours:>13.2f}"
            for name, (read, largest) in readers.items():
                if path.stat().st_size > largest:
                    line += f"{'-':>24}"
                    continue
                theirs = best(lambda path=path, read=read: read(str(path)))
                totals[name] += theirs
                ours_of_the_same[name] += ours
                line += f"{1e3 * theirs:>14.2f} ({theirs / ours:>5.1f} x)"
            print(line)
    line = f"{'total':<22}{1e3 * totals['consilience']:>13.1f}"
    for name in readers:
        line += f"{1e3 * totals[name]:>14.1f} ({totals[name] / ours_of_the_same[name]:>5.1f} x)"
    print(line)


def unpacked(folder: Path) -> list[Path]:
    files = []
    for path in sorted((data_dir() / "networks").glob("*.bif*")):
        data = path.read_bytes()
        target = folder / path.name.removesuffix(".gz")
        target.write_bytes(gzip.decompress(data) if path.suffix == ".gz" else data)
        files.append(target)
    return files


def best(read: Callable[[], object]) -> float:
    read()
    return min(measure(read, 1)[0] for _ in range(5))


def peers() -> list[tuple[str, tuple[Callable[[str], object], float]]]:
    found: list[tuple[str, tuple[Callable[[str], object], float]]] = []
    gum = peer("pyagrum")
    if gum is not None:
        found.append(("pyAgrum", (gum.loadBN, float("inf"))))
    if peer("pgmpy") is not None:
        warnings.simplefilter("ignore")
        logging.disable(logging.CRITICAL)
        from pgmpy.readwrite import BIFReader

        def read(path: str) -> object:
            return BIFReader(path).get_model()

        found.append(("pgmpy, small files", (read, SMALL)))
    return found


if __name__ == "__main__":
    main()
