"""Ctrl-C during long work: the first one is a request, so that the work can stop where its state is whole."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


class Interrupted(Exception):
    """The user asked the work to stop."""


@contextmanager
def interruptible() -> Iterator[Callable[[], None]]:
    """Gives a check that raises ``Interrupted`` once Ctrl-C was pressed; a second Ctrl-C acts at once."""
    if threading.current_thread() is not threading.main_thread():  # where signals do not arrive
        yield lambda: None
        return
    asked = False

    def note_signal(number: int, frame: FrameType | None) -> None:
        del number, frame
        nonlocal asked
        if asked:
            raise KeyboardInterrupt
        asked = True

    def check() -> None:
        if asked:
            raise Interrupted

    before = signal.signal(signal.SIGINT, note_signal)
    try:
        yield check
    finally:
        signal.signal(signal.SIGINT, before)
