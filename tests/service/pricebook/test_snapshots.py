"""The last good list on disk: all of it, or the one before."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from service.domain.ports import Snapshot, SnapshotError
from service.pricebook.snapshots import FILE_NAME, FileSnapshots

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
ROOT = Path(__file__).parents[3]


def snapshot(body: bytes = b'[\n{"id": "one"}\n]\n', etag: str | None = '"1"') -> Snapshot:
    return Snapshot(body, hashlib.sha256(body).hexdigest(), etag, "https://prices.test/?key=1", NOW, NOW)


def failure(call: Callable[[], Any]) -> str:
    with pytest.raises(SnapshotError) as caught:
        call()
    return caught.value.reason


@pytest.mark.parametrize("one", [snapshot(), snapshot(etag=None), snapshot(b""), snapshot(b"\n\n\x00\xff")])
def test_what_was_saved_is_loaded(tmp_path: Path, one: Snapshot) -> None:
    FileSnapshots(tmp_path).save(one)
    assert FileSnapshots(tmp_path).load() == one


def test_an_empty_folder_holds_nothing(tmp_path: Path) -> None:
    store = FileSnapshots(tmp_path / "not" / "yet")
    assert store.load() is None
    store.touch(NOW)
    assert store.load() is None


def test_the_folder_is_made_when_needed(tmp_path: Path) -> None:
    store = FileSnapshots(tmp_path / "new" / "folder")
    store.save(snapshot())
    assert store.load() == snapshot()


def test_saving_replaces_and_leaves_nothing_beside(tmp_path: Path) -> None:
    store = FileSnapshots(tmp_path)
    store.save(snapshot())
    store.save(snapshot(b"[2]"))
    assert store.load() == snapshot(b"[2]")
    assert [path.name for path in tmp_path.iterdir()] == [FILE_NAME]


def test_only_the_owner_may_read_it(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        FileSnapshots(tmp_path).save(snapshot())
    finally:
        os.umask(before)
    assert (tmp_path / FILE_NAME).stat().st_mode & 0o777 == 0o600


def test_touching_moves_only_the_date_of_the_check(tmp_path: Path) -> None:
    store = FileSnapshots(tmp_path)
    store.save(snapshot())
    store.touch(NOW + timedelta(days=1))
    one = snapshot()
    assert store.load() == Snapshot(one.body, one.sha256, one.etag, one.url, NOW, NOW + timedelta(days=1))


def test_a_file_cut_short_anywhere_is_damaged_and_stays(tmp_path: Path) -> None:
    store, file = FileSnapshots(tmp_path), tmp_path / FILE_NAME
    store.save(snapshot())
    whole = file.read_bytes()
    for length in range(len(whole)):
        file.write_bytes(whole[:length])
        assert failure(store.load) == "damaged"
        assert file.read_bytes() == whole[:length]


def test_a_changed_byte_in_the_body_is_damage(tmp_path: Path) -> None:
    store, file = FileSnapshots(tmp_path), tmp_path / FILE_NAME
    store.save(snapshot())
    file.write_bytes(file.read_bytes().replace(b"one", b"two"))
    assert failure(store.load) == "damaged"


@pytest.mark.parametrize(
    "change",
    [
        {"format": 2},
        {"fetched_at": "yesterday"},
        {"checked_at": "2026-11-20T12:00:00"},
        {"fetched_at": 5},
        {"sha256": None},
        {"bytes": -1},
    ],
)
def test_a_head_that_is_not_ours_is_damage(tmp_path: Path, change: dict[str, Any]) -> None:
    store, file = FileSnapshots(tmp_path), tmp_path / FILE_NAME
    store.save(snapshot())
    head, _, body = file.read_bytes().partition(b"\n")
    file.write_bytes(json.dumps(json.loads(head) | change).encode() + b"\n" + body)
    assert failure(store.load) == "damaged"


@pytest.mark.parametrize("content", [b"[]\n", b"null\n", b"\xff\n", b"5", b"[" * 100_000])
def test_a_foreign_file_is_damage(tmp_path: Path, content: bytes) -> None:
    (tmp_path / FILE_NAME).write_bytes(content)
    assert failure(FileSnapshots(tmp_path).load) == "damaged"


def test_a_file_far_too_large_is_not_read(tmp_path: Path) -> None:
    with (tmp_path / FILE_NAME).open("wb") as file:
        file.truncate(1 << 40)  # sparse
    assert failure(FileSnapshots(tmp_path).load) == "damaged"


def test_a_folder_in_its_place_is_unreadable(tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).mkdir()
    assert failure(FileSnapshots(tmp_path).load) == "unreadable"
    assert failure(lambda: FileSnapshots(tmp_path).save(snapshot())) == "not_saved"
    assert [path.name for path in tmp_path.iterdir()] == [FILE_NAME]


def test_where_no_folder_can_be_nothing_is_saved(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    assert failure(lambda: FileSnapshots(tmp_path / "file").save(snapshot())) == "not_saved"


def full_disk(_descriptor: int) -> None:
    raise OSError(28, "No space left on device")


def test_a_full_disk_leaves_the_old_copy_and_no_remains(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = FileSnapshots(tmp_path)
    store.save(snapshot())
    monkeypatch.setattr(os, "fsync", full_disk)
    assert failure(lambda: store.save(snapshot(b"[2]"))) == "not_saved"
    assert failure(lambda: store.touch(NOW + timedelta(days=1))) == "not_saved"
    monkeypatch.undo()
    assert store.load() == snapshot()
    assert [path.name for path in tmp_path.iterdir()] == [FILE_NAME]


CRASH = """
import os, pathlib, sys
from datetime import UTC, datetime
from service.domain.ports import Snapshot
from service.pricebook.snapshots import FileSnapshots

def crash(*_):
    os._exit(9)

setattr({module}, "{name}", crash)
now = datetime(2026, 11, 20, 12, tzinfo=UTC)
FileSnapshots(pathlib.Path(sys.argv[1])).save(Snapshot(b"[2]", "0" * 64, None, "https://prices.test/", now, now))
"""


@pytest.mark.parametrize(("module", "name"), [("pathlib.Path", "replace"), ("os", "fsync")])
def test_a_crash_before_the_rename_leaves_the_old_copy(tmp_path: Path, module: str, name: str) -> None:
    store = FileSnapshots(tmp_path)
    store.save(snapshot())
    script = CRASH.format(module=module, name=name)
    done = subprocess.run([sys.executable, "-c", script, str(tmp_path)], cwd=ROOT, check=False)
    assert done.returncode == 9
    assert len(list(tmp_path.iterdir())) == 2
    assert store.load() == snapshot()
    store.save(snapshot(b"[3]"))
    assert store.load() == snapshot(b"[3]")


def test_the_file_is_on_the_disk_before_it_takes_the_name_and_the_name_after(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    events: list[str] = []
    fsync, rename = os.fsync, Path.replace

    def note_sync(descriptor: int) -> None:
        events.append("folder" if os.fstat(descriptor).st_mode & 0o040000 else "file")
        fsync(descriptor)

    def note_rename(path: Path, target: Path) -> Path:
        events.append("rename")
        return rename(path, target)

    monkeypatch.setattr(os, "fsync", note_sync)
    monkeypatch.setattr(Path, "replace", note_rename)
    FileSnapshots(tmp_path).save(snapshot())
    assert events == ["file", "rename", "folder"]
