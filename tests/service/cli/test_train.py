"""``weighbridge train``: the published examples, the files it writes, and what it refuses."""

import base64
import json
import subprocess
import sys
from pathlib import Path

import pytest
import tiktoken
import tokenizers
from click.testing import CliRunner, Result

from adapters.bpe.trained import TrainedVocabulary
from service.cli import cli

ROOT = Path(__file__).parents[3]
WORDS = " ".join(["low"] * 5 + ["lower"] * 2 + ["newest"] * 6 + ["widest"] * 3)
CORPUS = "The weighbridge weighs the truck, the truck weighs on the weighbridge. 秤秤秤秤 📧📧\n" * 20


def train(*arguments: str, text: str = WORDS) -> Result:
    return CliRunner().invoke(cli, ["train", *arguments], input=text.encode())


def test_the_words_of_sennrich_give_the_merges_of_the_paper() -> None:
    # Sennrich, Haddow and Birch 2016, figure 1 and its corpus; the frequencies follow from the word counts.
    result = train("--words", "--merges", "5", "--explain")
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        '1\t"e"\t"s"\t9',
        '2\t"es"\t"t"\t9',
        '3\t"est"\t"</w>"\t9',
        '4\t"l"\t"o"\t7',
        '5\t"lo"\t"w"\t7',
    ]


def test_merges_of_loose_bytes_are_explained_as_escapes() -> None:
    result = train("--size", "258", "--explain", text="秤秤")
    assert result.stdout.splitlines() == ['1\t"\\xa7"\t"\\xa4"\t2', '2\t"\\xe7"\t"\\xa7\\xa4"\t2']


@pytest.mark.parametrize("ties", ["lowest", "first_seen"])
def test_the_rule_for_ties_is_passed_on(ties: str) -> None:
    # Of b a and a a, which both occur twice, a a has the lower ids and b a comes first.
    result = train("--size", "257", "--pattern", r"\S+", "--ties", ties, "--explain", text="ba ba aa aa")
    assert result.stdout == {"lowest": '1\t"a"\t"a"\t2\n', "first_seen": '1\t"b"\t"a"\t2\n'}[ties]


def test_the_vocabularys_own_format_is_read_back(tmp_path: Path) -> None:
    out = tmp_path / "v.json"
    result = train("--size", "280", "--special", "<|end|>", "--pattern", "cl100k", "--out", str(out), text=CORPUS)
    assert (result.exit_code, result.stdout) == (0, "")
    vocabulary = TrainedVocabulary.load(out.read_bytes())
    assert vocabulary.size == 280
    assert dict(vocabulary.special_tokens) == {"<|end|>": 279}
    assert [path.name for path in tmp_path.iterdir()] == ["v.json"]


def test_other_libraries_give_the_same_ids_with_the_exported_files(tmp_path: Path) -> None:
    for form in ("weighbridge", "tiktoken", "tokenizer.json"):
        assert train("--size", "300", "--format", form, "--out", str(tmp_path / form), text=CORPUS).exit_code == 0
    vocabulary = TrainedVocabulary.load((tmp_path / "weighbridge").read_bytes())
    ids = vocabulary.tokenizer("t").encode(CORPUS)
    lines = (tmp_path / "tiktoken").read_text().splitlines()
    ranks = {base64.b64decode(token): int(rank) for token, rank in map(str.split, lines)}
    by_tiktoken = tiktoken.Encoding("t", pat_str=vocabulary.pattern, mergeable_ranks=ranks, special_tokens={})
    assert by_tiktoken.encode_ordinary(CORPUS) == ids
    assert tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json")).encode(CORPUS).ids == ids


def test_the_same_input_gives_the_same_file(tmp_path: Path) -> None:
    (tmp_path / "corpus").write_text(CORPUS)
    train("--size", "290", "--out", str(tmp_path / "a"), str(tmp_path / "corpus"))
    train("--size", "290", "--out", str(tmp_path / "b"), text=CORPUS)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_no_merge_reaches_from_one_file_into_the_next(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / name).write_text("xy")
    result = train("--size", "300", "--pattern", ".+", "--explain", str(tmp_path / "a"), str(tmp_path / "b"))
    assert result.stdout == '1\t"x"\t"y"\t2\n'
    assert "no other pair occurs twice" in result.stderr


def test_a_vocabulary_can_go_to_standard_output() -> None:
    result = train("--size", "260", "--out", "-", text=CORPUS)
    assert json.loads(result.stdout)["format"] == "weighbridge-bpe"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--size", "300"], "Say where the vocabulary goes"),
        (["--explain"], "takes --size"),
        (["--size", "300", "--out", "-", "--explain"], "cannot both go to standard output"),
        (["--words", "--explain"], "--words takes --merges"),
        (["--words", "--merges", "3", "--size", "300", "--explain"], "--words takes --merges"),
        (["--merges", "3", "--explain"], "--merges belongs to --words"),
        (["--size", "256", "--special", "<s>", "--explain"], "The size must be at least 257"),
        (["--size", "300", "--pattern", "(", "--explain"], "pattern"),
        (["--words", "--merges", "3", "--format", "tiktoken", "--out", "/nowhere/v"], "word-level vocabulary"),
        (["--size", "300", "--out", "/nowhere/at/all"], "/nowhere/at/all cannot be written"),
    ],
)
def test_what_cannot_be_trained_is_refused(arguments: list[str], message: str) -> None:
    result = train(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr


def test_a_corpus_that_is_no_utf8_is_refused() -> None:
    result = CliRunner().invoke(cli, ["train", "--size", "300", "--explain"], input=b"ok\xff")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "standard input: not UTF-8 at byte 2." in result.stderr


def test_a_failed_training_leaves_the_old_file(tmp_path: Path) -> None:
    out = tmp_path / "v"
    out.write_text("old")
    assert train("--size", "10", "--out", str(out)).exit_code == 2
    assert out.read_text() == "old"


def test_without_a_terminal_no_progress_bar_is_drawn() -> None:
    command = [sys.executable, "-m", "service", "train", "--size", "258", "--explain"]
    done = subprocess.run(command, cwd=ROOT, input=WORDS.encode(), capture_output=True, check=True)
    assert done.stderr == b"weighbridge: 258 ids, 2 merges\n"
