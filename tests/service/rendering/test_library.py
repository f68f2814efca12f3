"""The table of templates is read strictly, and a template that is not what its row says never serves."""

import hashlib
from pathlib import Path

import pytest

from adapters.carriers import Member
from adapters.manifest import Carrier, Client, read_manifest
from service.configfile.shipped import DATA
from service.domain.errors import InvalidConfig
from service.rendering.library import Library, read_library

SOURCE = "{{ messages }}"
ROW = f"""
[[template]]
name = "one"
sha256 = "{hashlib.sha256(SOURCE.encode()).hexdigest()}"
license = "MIT"
source = "here"
"""
CARRIER = """
[[carrier]]
name = "box"
client = "pip"
package = "box"
version = "1"
file = "box.whl"
bytes = 5
sha256 = "00"
"""
FETCHED = f"""{ROW.replace('"one"', '"two"')}
carrier = "box"
vocabulary = "llama3"
member = "a/two.jinja"
bytes = {len(SOURCE)}
"""
USE = """
[[chat]]
provider = "maker"
models = ["m-*"]
template = "one"
"""


@pytest.fixture
def data(tmp_path: Path) -> Path:
    (tmp_path / "templates").mkdir()
    (tmp_path / "templates" / "one.jinja").write_text(SOURCE)
    return tmp_path


def read(data: Path, text: str) -> Library:
    (data / "templates.toml").write_text(text)
    return read_library(data)


def test_a_table_is_read(data: Path) -> None:
    library = read(data, CARRIER + ROW + 'content = "parts"\nswitches = {x = true}\n' + FETCHED + USE)
    one, two = library.shipped["one"], library.fetched["two"]
    assert (one.source, one.form.content, dict(one.variables)) == (SOURCE, "parts", {"x": True})
    assert two.carrier == Carrier(Client.PIP, "box", "1", "box.whl", 5, "00")
    assert two.member == Member("a/two.jinja", len(SOURCE), one_hash())
    assert [use.template for use in library.uses] == ["one"]
    assert library.by_vocabulary == {"llama3": (two,)}


def one_hash() -> str:
    return hashlib.sha256(SOURCE.encode()).hexdigest()


def test_a_fetched_template_is_available_once_its_very_file_is_there(data: Path, tmp_path: Path) -> None:
    library = read(data, CARRIER + FETCHED)
    assert library.available(tmp_path) == {}
    (tmp_path / "two.jinja").write_text("another")
    assert library.available(tmp_path) == {}
    (tmp_path / "two.jinja").write_text(SOURCE)
    assert library.available(tmp_path)["two"].source == SOURCE


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (ROW.replace('sha256 = "', 'sha256 = "0'), "missing or has another hash"),
        (ROW.replace('"one"', '"none"'), "missing or has another hash"),
        (ROW + ROW, "two templates 'one'"),
        (ROW + "colour = 1\n", "Unknown key 'colour'"),
        (ROW + 'content = "pictures"\n', "'content' must be one of"),
        (ROW + 'arguments = "xml"\n', "'arguments' must be one of"),
        (ROW + 'results = "xml"\n', "'results' must be one of"),
        (ROW + 'missing = "yes"\n', "'missing' must be one of"),
        (ROW + "variables = {bos_token = 1}\n", "'variables' must be a table of str"),
        (ROW + 'switches = {x = "1"}\n', "'switches' must be a table of bool"),
        (FETCHED, "'carrier' must be one of"),
        (CARRIER.replace('"pip"', '"curl"'), "'client' must be one of"),
        (CARRIER + "more = 1\n", "Unknown key 'more'"),
        (ROW + USE.replace('"one"', '"two"'), "'template' must be one of"),
        (ROW + USE + "more = 1\n", "Unknown key 'more'"),
    ],
)
def test_a_wrong_row_is_refused(data: Path, text: str, problem: str) -> None:
    with pytest.raises(InvalidConfig, match=problem):
        read(data, text)


def test_no_file_ships_without_its_row_and_every_template_names_its_licence(library: Library) -> None:
    files = {file.name for file in (DATA / "templates").iterdir()}
    text = (DATA / "templates.toml").read_text()
    named = {f"{name}.jinja" for name in library.shipped} - {
        "qwen3_thinking_2507.jinja",
        "qwen3_vl_thinking.jinja",
    }
    assert files == named
    assert 'file = "qwen3"' in text
    templates = [*library.shipped.values(), *(entry.template for entry in library.fetched.values())]
    assert {template.license for template in templates} == {
        "Apache-2.0", "MIT", "Llama 3 Community License", "Llama 4 Community License", "Gemma Terms of Use",
    }  # fmt: skip
    assert all(template.origin and template.checked for template in templates)


def test_what_may_not_be_redistributed_is_fetched_with_a_vocabulary_on_request(library: Library) -> None:
    assert not any(
        "License" in template.license or "Terms" in template.license for template in library.shipped.values()
    )
    assert set(library.by_vocabulary) <= set(read_manifest().on_request)
    assert set(library.by_vocabulary) == {"llama3", "llama4", "gemma2", "gemma3"}
