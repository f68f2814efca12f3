"""Tries a model of unknown origin in a process of its own, since a malformed one can crash the library."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from adapters.port import VocabularyDamaged

_SECONDS = 60
_MEMORY = 4 << 30

# Reads the model from standard input; the lines touch what broken tables break: normalization, fallback, the way back.
_PROGRAM = f"""
import sys
try:
    import resource
    resource.setrlimit(resource.RLIMIT_AS, ({_MEMORY}, {_MEMORY}))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
except (ImportError, ValueError, OSError):
    pass
import sentencepiece
processor = sentencepiece.SentencePieceProcessor(model_proto=sys.stdin.buffer.read())
lines = ("Hello, World!", "  \\t1234\\r\\n\\0 x", "\\u4f60 e\\u0301 \\ufb01 \\u00bd \\U0001f999 \\ue000", "ab " * 2000)
for line in lines:
    processor.decode(processor.encode(line))
    processor.normalize(line, with_offsets=True)
processor.id_to_piece(list(range(processor.vocab_size())))
"""


def check_model(model: bytes | Path, *, program: str = _PROGRAM) -> None:
    """Load ``model`` (its bytes or its file) in another process, and encode a few lines with it.

    Raises ``VocabularyDamaged`` when the library refuses it, crashes, or needs more than a minute or 4 GiB.
    """
    data = model if isinstance(model, bytes) else model.read_bytes()
    if not data:
        raise VocabularyDamaged("The SentencePiece model is an empty file.")
    try:
        done = subprocess.run(  # noqa: S603 - the interpreter itself with a program of our own
            [sys.executable, "-P", "-c", program], input=data, capture_output=True, timeout=_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        raise VocabularyDamaged(
            f"The SentencePiece model keeps the library busy for over {_SECONDS} s; it is not loaded."
        ) from None
    if done.returncode < 0:
        raise VocabularyDamaged(
            f"The SentencePiece model crashes the library (signal {-done.returncode}); it is not loaded. "
            "Get it from its maker again."
        )
    if done.returncode:
        raise VocabularyDamaged(
            "The sentencepiece library cannot read the model "
            f"({_last_line(done.stderr)}). Is it the .model file, and complete?"
        )


def _last_line(output: bytes) -> str:
    lines = output.decode("utf-8", "replace").strip().splitlines()
    return lines[-1][:200] if lines else "no reason given"
