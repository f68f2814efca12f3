"""The last good price list as one file: a line of JSON that describes the body, then the body, replaced as a whole."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from service.domain.ports import Snapshot, SnapshotError

FILE_NAME = "prices.snapshot"
_FORMAT = 1
_MAX_BYTES = 64 * 1024 * 1024  # far above any list that is accepted; keeps a foreign file out of memory


class FileSnapshots:
    """A snapshot store in ``folder``, readable by its owner alone. A file that is damaged is left where it is."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / FILE_NAME

    def load(self) -> Snapshot | None:
        """The snapshot in the file, ``None`` without one. Raises ``SnapshotError``: ``unreadable`` or ``damaged``."""
        try:
            if self._path.stat().st_size > _MAX_BYTES:
                raise SnapshotError("damaged")
            content = self._path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise SnapshotError("unreadable") from error
        return _decode(content)

    def save(self, snapshot: Snapshot) -> None:
        """Replace the file. Raises ``SnapshotError`` ``not_saved``, and then the old file is still there."""
        content = _encode(snapshot)
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            _replace(self._path, content)
        except OSError as error:
            raise SnapshotError("not_saved") from error

    def touch(self, checked: datetime) -> None:
        """Set ``checked_at`` in the file, if there is one. Raises ``SnapshotError``."""
        snapshot = self.load()
        if snapshot is not None:
            self.save(replace(snapshot, checked_at=checked))


def _replace(path: Path, content: bytes) -> None:
    """Write beside ``path``, flush to the disk, rename: a crash at any point leaves the old file or the new one."""
    handle, name = tempfile.mkstemp(prefix=f"{path.name}.", suffix=".tmp", dir=path.parent)  # mode 0600
    try:
        with open(handle, "wb") as file:  # noqa: PTH123 - mkstemp gives a descriptor, not a path
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(name).unlink()
        raise
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    if not hasattr(os, "O_DIRECTORY"):  # a system on which a folder cannot be opened flushes renames on its own
        return
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _encode(snapshot: Snapshot) -> bytes:
    head = {
        "format": _FORMAT,
        "bytes": len(snapshot.body),
        "sha256": snapshot.sha256,
        "etag": snapshot.etag,
        "url": snapshot.url,
        "fetched_at": snapshot.fetched_at.isoformat(),
        "checked_at": snapshot.checked_at.isoformat(),
    }
    return json.dumps(head).encode() + b"\n" + snapshot.body


def _decode(content: bytes) -> Snapshot:
    line, _, body = content.partition(b"\n")
    try:
        head = json.loads(line)
        if head["format"] != _FORMAT or head["bytes"] != len(body):
            raise SnapshotError("damaged")
        snapshot = Snapshot(
            body=body,
            sha256=hashlib.sha256(body).hexdigest(),
            etag=None if head["etag"] is None else str(head["etag"]),
            url=str(head["url"]),
            fetched_at=datetime.fromisoformat(head["fetched_at"]),
            checked_at=datetime.fromisoformat(head["checked_at"]),
        )
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise SnapshotError("damaged") from error
    if head["sha256"] != snapshot.sha256 or not (snapshot.fetched_at.tzinfo and snapshot.checked_at.tzinfo):
        raise SnapshotError("damaged")
    return snapshot
