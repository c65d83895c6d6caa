"""Long work shown on a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from consilience.cli.common import screen
from consilience.cli.terminal import on_one_line

__all__ = ["watched"]


@contextmanager
def watched(words: str) -> Iterator[Callable[[float | None, str], None]]:
    """A callback for progress, drawn on the error stream while the block runs.

    Nothing is drawn if that is not a terminal.
    """
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    console = screen(stderr=True)
    if not console.is_terminal:  # an older rich ends with an empty line, even disabled
        yield lambda _share, _reached: None
        return
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console, transient=True) as drawn:
        task = drawn.add_task(words, total=None)

        def tell(share: float | None, reached: str) -> None:
            drawn.update(
                task,
                total=None if share is None else 1.0,
                completed=share or 0.0,
                description=on_one_line(f"{words}: {reached}") if reached else words,
            )

        yield tell
