"""A progress bar with rate and time left on standard error, where that is a terminal, and nothing elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Step = Callable[[str, int, int], None]
"""Says of a kind of work how much there is in all, and how much was done now."""


@contextmanager
def progress() -> Iterator[Step]:
    """Show one bar for each kind of work that is reported, in the order in which they begin."""
    if not sys.stderr.isatty():
        yield lambda _doing, _total, _done: None
        return
    from rich.console import Console  # noqa: PLC0415 - 30 ms that only a terminal costs
    from rich.progress import (  # noqa: PLC0415
        BarColumn,
        Progress,
        ProgressColumn,
        Task,
        TaskID,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )
    from rich.text import Text  # noqa: PLC0415

    class Rate(ProgressColumn):
        """How much was done in a second, of late."""

        def render(self, task: Task) -> Text:
            return Text(f"{task.speed:,.0f}/s" if task.speed else "")

    text = TextColumn("{task.description} {task.completed:,.0f} of {task.total:,.0f}", markup=False)
    times = (TextColumn("after"), TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn())
    console = Console(stderr=True)
    with Progress(text, BarColumn(20), Rate(), *times, console=console, transient=True) as bars:
        tasks: dict[str, TaskID] = {}

        def step(doing: str, total: int, done: int) -> None:
            if doing not in tasks:
                tasks[doing] = bars.add_task(doing, total=total)
            bars.advance(tasks[doing], done)

        yield step
