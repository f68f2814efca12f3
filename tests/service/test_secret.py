"""The service's secret: set, or made once in the data directory; with PostgreSQL it must be set."""

from __future__ import annotations

import stat
import subprocess
import sys
from pathlib import Path

import pytest

from service.app.secret import service_secret
from service.settings import InvalidSetting, Settings

LONG = "0123456789abcdef" * 4


def test_each_use_has_a_key_of_its_own_that_depends_on_the_secret(tmp_path: Path):
    secret = service_secret(Settings(tmp_path, secret=LONG))
    assert secret.key("keys") == service_secret(Settings(tmp_path, secret=LONG)).key("keys")
    others = {secret.key("keys"), secret.key("pages"), service_secret(Settings(tmp_path, secret=LONG[1:])).key("keys")}
    assert len(others) == 3
    assert all(len(key) == 32 for key in others)
    assert not (tmp_path / "secret").exists()


def test_it_is_made_once_for_its_owner_alone(tmp_path: Path):
    folder = tmp_path / "data"
    secret = service_secret(Settings(folder))
    assert not folder.exists()  # nothing is written before it is needed
    key = secret.key("keys")
    assert stat.S_IMODE((folder / "secret").stat().st_mode) == 0o600
    assert service_secret(Settings(folder)).key("keys") == key
    assert [file.name for file in folder.iterdir()] == ["secret"]


def test_processes_that_start_together_agree(tmp_path: Path):
    ask = (
        "import sys; from pathlib import Path; from service.app.secret import service_secret; "
        "from service.settings import Settings; print(service_secret(Settings(Path(sys.argv[1]))).key('x').hex())"
    )
    started = [
        subprocess.Popen([sys.executable, "-c", ask, str(tmp_path / "data")], stdout=subprocess.PIPE) for _ in range(6)
    ]
    assert len({process.communicate()[0] for process in started}) == 1


def test_where_nothing_can_be_written_it_lasts_as_long_as_the_process(tmp_path: Path):
    (tmp_path / "file").write_text("")
    secret = service_secret(Settings(tmp_path / "file" / "data"))
    assert secret.key("keys") == secret.key("keys")


def test_a_file_names_it_and_one_that_is_no_secret_is_refused(tmp_path: Path):
    file = tmp_path / "given"
    file.write_text(LONG + "\n")
    given = service_secret(Settings(tmp_path, secret_file=file))
    assert given.key("keys") == service_secret(Settings(tmp_path, secret=LONG)).key("keys")
    for wrong in (Settings(tmp_path, secret="short"), Settings(tmp_path, secret=LONG, secret_file=file)):
        with pytest.raises(InvalidSetting, match="WEIGHBRIDGE_SECRET"):
            service_secret(wrong)
    (tmp_path / "secret").write_text("")
    with pytest.raises(InvalidSetting, match="Restore it"):
        service_secret(Settings(tmp_path)).key("keys")


def test_with_postgresql_it_must_be_set(tmp_path: Path, serve):
    with pytest.raises(InvalidSetting, match="WEIGHBRIDGE_SECRET_FILE"):
        service_secret(Settings(tmp_path, database_url="postgresql://localhost/none")).key("keys")
    server = serve(ready=False, vocabularies="cl100k_base", database_url="postgresql://localhost/none")
    assert server.process.wait(60) == 2
    assert "the same for every replica" in server.log.read_text()
