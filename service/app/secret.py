"""Where the service's secret comes from: a setting, or a file of its own beside the SQLite ledger."""

from __future__ import annotations

import os
import secrets
import tempfile
from pathlib import Path

from service.domain.keys.secret import Secret
from service.settings import InvalidSetting, Settings, secret_text

FILE_NAME = "secret"
_SHORTEST = 16


def service_secret(settings: Settings) -> Secret:
    """The secret that was set, else that of the data directory, made when it is first needed.

    Raises ``InvalidSetting`` for one that is too short; with PostgreSQL one must be set, as all replicas share it.
    """
    text = secret_text(settings, "secret")
    if text and len(text) < _SHORTEST:
        raise InvalidSetting(f"WEIGHBRIDGE_SECRET has at least {_SHORTEST} characters, best 64 random hex digits.")
    if text:
        return Secret(text.encode)
    if settings.database_url:
        return Secret(_refuse)
    return Secret(lambda: _kept(settings.data_dir))


def _refuse() -> bytes:
    raise InvalidSetting(
        "With WEIGHBRIDGE_DATABASE_URL set WEIGHBRIDGE_SECRET or WEIGHBRIDGE_SECRET_FILE too: "
        "64 random hex digits, the same for every replica."
    )


def _kept(folder: Path) -> bytes:
    """The secret in ``folder``, made once. Where nothing can be written it lasts as long as the process."""
    file = folder / FILE_NAME
    made = secrets.token_hex(32)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not file.exists():
            _make(file, made)
        kept = file.read_text("ascii").strip()
    except OSError:
        return made.encode()
    if len(kept) < _SHORTEST:
        raise InvalidSetting(f"The file {FILE_NAME!r} in the data directory holds no secret. Restore it from a copy.")
    return kept.encode()


def _make(file: Path, text: str) -> None:
    """Make ``file`` for its owner alone, whole from the first moment on; another process's goes before ours."""
    handle, name = tempfile.mkstemp(dir=file.parent, prefix=f".{FILE_NAME}-")
    try:
        with os.fdopen(handle, "w") as opened:
            opened.write(text)
            opened.flush()
            os.fsync(opened.fileno())
        os.link(name, file)
    except FileExistsError:
        pass
    finally:
        Path(name).unlink()
