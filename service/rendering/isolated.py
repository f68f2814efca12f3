"""Renders a stranger's chat template: a program, so it runs in a process of its own, with limits on time and memory.

Jinja's sandbox keeps a template from the machine, not from work without end: ``range`` nested in ``range``,
``'a' * 10**9``, a macro that calls itself. No budget inside the interpreter stops one long multiplication; the
operating system does. The process gets the template and the messages on its standard input, no environment, and
answers with what it rendered.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from jinja2 import TemplateSyntaxError

from adapters.port import Stop
from service.domain.errors import ChatNotRendered
from service.domain.ports import Segment
from service.rendering.environment import chat_environment
from service.rendering.shielding import Marks, Rendering, render_shielded
from service.rendering.writing import ChatWriter

CPU_SECONDS = 2
MEMORY_BYTES = 512 << 20
MAX_OUTPUT = 8 << 20
WALL_SECONDS = 10

_LIMITS = f"it needs more than {CPU_SECONDS} s of computing or {MEMORY_BYTES >> 20} MiB."
_ENDLESS = "it calls itself without end, or the messages are nested too deeply."

# Reads the question from standard input. The limits hold from before anything of the template's is read.
_PROGRAM = f"""
import json, sys
try:
    import resource
    resource.setrlimit(resource.RLIMIT_CPU, ({CPU_SECONDS}, {CPU_SECONDS}))
    resource.setrlimit(resource.RLIMIT_AS, ({MEMORY_BYTES}, {MEMORY_BYTES}))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
except (ImportError, ValueError, OSError):
    pass
asked = json.load(sys.stdin)
sys.path[:] = asked["path"]
from service.rendering.isolated import answer
sys.stdout.write(json.dumps(answer(asked)))
"""


def render_isolated(
    source: str,
    values: Mapping[str, Any],
    fixed: Mapping[str, Any],
    literals: Sequence[str],
    now: datetime,
    *,
    to_continue: bool = False,
    stop: Stop | None = None,
) -> Rendering:
    """Render ``values``, the caller's, with the template ``source``, in another process.

    ``fixed`` and ``to_continue`` are ``ChatWriter``'s; ``literals`` are those of special tokens. Raises
    ``ChatNotRendered``, also for a template that needs more than 2 s of computing or 512 MiB, and ``DeadlineExceeded``.
    """
    question = {
        "source": source,
        "values": values,
        "fixed": dict(fixed),
        "literals": list(literals),
        "now": now.isoformat(),
        "to_continue": to_continue,
        "path": sys.path,
    }
    if stop is not None:
        stop.check()
    found = _asked(json.dumps(question).encode())
    if stop is not None:
        stop.check()
    if "problem" in found:
        raise ChatNotRendered(found["problem"])
    segments = tuple(Segment(text, markup=markup) for text, markup in found["segments"])
    return Rendering(found["text"], segments, found["literals"])


def answer(question: Mapping[str, Any]) -> dict[str, Any]:
    """What the other process does: render, and say what came of it."""
    now = datetime.fromisoformat(question["now"])
    try:
        template = chat_environment(lambda: now).from_string(question["source"])
        writer = ChatWriter(template, question["fixed"], to_continue=question["to_continue"], longest=MAX_OUTPUT)
        done = render_shielded(writer, question["values"], Marks(question["literals"]), question["source"])
    except TemplateSyntaxError as error:
        return {"problem": f"it has a syntax error in line {error.lineno}."}
    except ChatNotRendered as error:
        return {"problem": error.problem}
    except RecursionError:
        return {"problem": _ENDLESS}
    segments = [[part.text, part.markup] for part in done.segments]
    return {"text": done.text, "segments": segments, "literals": done.literals}


def _asked(question: bytes) -> dict[str, Any]:
    """The other process's answer to ``question``."""
    try:
        done = subprocess.run(  # noqa: S603 - the interpreter itself with a program of our own
            [sys.executable, "-I", "-c", _PROGRAM],
            input=question,
            capture_output=True,
            timeout=WALL_SECONDS,
            env={},
            check=False,
        )
    except subprocess.TimeoutExpired:
        return {"problem": _LIMITS}
    if done.returncode:
        return {"problem": _LIMITS}
    found: dict[str, Any] = json.loads(done.stdout)
    return found
