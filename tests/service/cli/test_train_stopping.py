"""``weighbridge train`` in a process of its own: Ctrl-C, progress on a terminal, and inputs read in parts."""

from __future__ import annotations

import os
import pty
import random
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from adapters.bpe.state import Reading, dump_reading, load_state
from adapters.bpe.train import plan_bytes, plan_words
from adapters.bpe.train import train as train_bytes
from adapters.bpe.trained import TrainedVocabulary
from service.cli import cli
from service.cli.corpus import CorpusReader
from service.cli.interrupting import Interrupted
from service.cli.reading import text_parts

ROOT = Path(__file__).parents[3]
LETTERS = "abcdefghijklmnop"


def run(*arguments: str, text: bytes = b"", env: dict[str, str] | None = None) -> Result:
    return CliRunner(env=env or {}).invoke(cli, ["train", *arguments], input=text)


class OnTerminal:
    """The command with a terminal for its standard error."""

    def __init__(self, *arguments: str, engine: str) -> None:
        terminal, inner = pty.openpty()
        self.terminal = terminal
        self.shown = ""
        env = {**os.environ, "WEIGHBRIDGE_ENGINE": engine, "TERM": "xterm", "COLUMNS": "120"}
        command = [sys.executable, "-m", "service", "train", *arguments]
        self.process = subprocess.Popen(command, cwd=ROOT, env=env, stdin=subprocess.DEVNULL, stderr=inner)
        os.close(inner)

    def wait_for(self, pattern: str) -> None:
        while not re.search(pattern, self.shown):
            self.shown += os.read(self.terminal, 4096).decode()

    def end(self) -> int:
        code = self.process.wait()
        try:
            while data := os.read(self.terminal, 4096):
                self.shown += data.decode()
        except OSError:  # its other side is closed
            pass
        os.close(self.terminal)
        return code


@pytest.mark.parametrize(("engine", "letters", "size"), [("native", 3_000_000, 60_000), ("python", 200_000, 1500)])
def test_ctrl_c_leaves_a_state_that_goes_on_to_the_same_vocabulary(engine, letters, size, tmp_path):
    corpus, out, whole = tmp_path / "corpus", tmp_path / "v", tmp_path / "whole"
    corpus.write_text("".join(random.Random(8).choices(LETTERS, k=letters)))
    options = ["--size", str(size), "--pattern", r"[\s\S]+", "--special", "<s>"]

    training = OnTerminal(str(corpus), *options, "--out", str(out), engine=engine)
    training.wait_for(r"merges [1-9]")
    training.process.send_signal(signal.SIGINT)
    assert training.end() == 130

    stopped = re.search(r"stopped after (\d+) merges; go on with: weighbridge train --resume (\S+)", training.shown)
    assert stopped is not None
    assert 0 < int(stopped[1]) < size - 257
    assert [path.name for path in tmp_path.iterdir() if path != corpus] == ["v.state"]
    resumed = run("--resume", f"{out}.state", "--out", str(out), env={"WEIGHBRIDGE_ENGINE": engine})
    assert resumed.exit_code == 0, resumed.stderr
    assert run(str(corpus), *options, "--out", str(whole)).exit_code == 0
    assert out.read_bytes() == whole.read_bytes()
    assert TrainedVocabulary.load(out.read_bytes()).size == size


def words_of(size: int) -> str:
    """Text of some 8 bytes a word, with blanks, commas and line ends."""
    generator = random.Random(10)
    words = ["".join(generator.choices(LETTERS, k=generator.randint(1, 9))) for _ in range(3000)]
    return "".join(generator.choice(words) + generator.choice([" ", " ", ", ", "\n", ".\n"]) for _ in range(size // 7))


def test_ctrl_c_while_the_corpus_is_read_leaves_a_state_that_reads_on(tmp_path):
    corpus, out, whole = tmp_path / "corpus", tmp_path / "v", tmp_path / "whole"
    corpus.write_text(words_of(9 << 20))

    training = OnTerminal(str(corpus), "--size", "400", "--out", str(out), engine="python")
    training.wait_for(r"bytes [1-9]")
    training.process.send_signal(signal.SIGINT)
    assert training.end() == 130

    assert "stopped after a part of the corpus; go on with" in training.shown
    assert load_state(Path(f"{out}.state").read_bytes()).offset > 1 << 19
    assert run("--resume", f"{out}.state", "--out", str(out)).exit_code == 0
    assert run(str(corpus), "--size", "400", "--out", str(whole)).exit_code == 0
    assert out.read_bytes() == whole.read_bytes()


@pytest.mark.parametrize("native", [True, False])
@pytest.mark.parametrize("plan", [plan_bytes(size=500, pattern="o200k"), plan_words(merges=200)])
def test_a_reading_stopped_at_every_part_finds_the_words_of_the_whole(plan, native, tmp_path):
    files = [tmp_path / "one", tmp_path / "none", tmp_path / "two"]
    for file, text in zip(files, (words_of(5 << 18) + "秤", "", words_of(3 << 19)), strict=True):
        file.write_text(text)
    whole = CorpusReader.of_files(plan, list(map(str, files)), native=native)
    whole.read(lambda *_: None, lambda: None)
    reader = CorpusReader.of_files(plan, list(map(str, files)), native=native)
    stops = 0

    def stop_at_the_second() -> None:
        calls.append(None)
        if len(calls) == 2:
            raise Interrupted

    while True:
        calls: list[None] = []
        try:
            reader.read(lambda *_: None, stop_at_the_second)
            break
        except Interrupted:
            stops += 1
            state = load_state(dump_reading(reader.reading))
            assert isinstance(state, Reading)
            reader = CorpusReader.going_on(state, native=native)

    assert stops >= 3
    assert reader.words == whole.words


def test_a_corpus_that_changed_is_not_read_on(tmp_path):
    corpus, state = tmp_path / "corpus", tmp_path / "state"
    corpus.write_text("weigh the truck")
    reader = CorpusReader.of_files(plan_bytes(size=300, pattern="o200k"), [str(corpus)], native=True)
    state.write_bytes(dump_reading(reader.reading))
    assert run("--resume", str(state), "--explain").exit_code == 0

    corpus.write_text("weigh the trucks")
    result = run("--resume", str(state), "--explain")
    assert result.exit_code == 2
    assert "corpus: it is not as it was when the training was stopped" in result.stderr


def test_a_terminal_shows_merges_rate_and_time_left(tmp_path):
    corpus = tmp_path / "corpus"
    corpus.write_text("".join(random.Random(9).choices(LETTERS, k=150_000)))
    options = ["--size", "2000", "--pattern", r"[\s\S]+", "--explain"]

    training = OnTerminal(str(corpus), *options, engine="python")
    training.wait_for(r"merges [\d,]+ of 1,744.*\d/s.*after \S+ left \S*\d:\d\d")
    training.process.send_signal(signal.SIGINT)

    assert training.end() == 130
    assert "nothing is kept, as no --out FILE was given" in training.shown


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1 << 20])
def test_inputs_are_decoded_whatever_the_parts(size, tmp_path):
    file = tmp_path / "corpus"
    text = "\ufeffnaïve 秤 📧\r\n" * 20
    file.write_bytes(text.encode())
    sizes: list[int] = []

    assert "".join(text_parts(str(file), sizes.append, size=size)) == text
    assert sum(sizes) == len(text.encode())
    assert max(sizes) <= size


@pytest.mark.parametrize("size", [1, 2, 3, 1 << 20])
@pytest.mark.parametrize(("data", "place"), [(b"abc\xff", 3), ("ab秤".encode()[:-1], 2), ("秤".encode() + b"\xe7a", 3)])
def test_the_byte_that_is_no_utf8_is_named_whatever_the_parts(size, data, place, tmp_path):
    (tmp_path / "corpus").write_bytes(data)
    with pytest.raises(Exception, match=f"not UTF-8 at byte {place}\\."):
        list(text_parts(str(tmp_path / "corpus"), size=size))


def test_a_large_file_gives_the_vocabulary_of_its_whole_text(tmp_path):
    """Three parts of a mebibyte, whose ends fall into words."""
    text = words_of(3 << 20)
    assert len(text) > 2.5 * (1 << 20)
    corpus, out = tmp_path / "corpus", tmp_path / "v"
    corpus.write_text(text)

    assert run(str(corpus), "--size", "700", "--out", str(out)).exit_code == 0
    assert TrainedVocabulary.load(out.read_bytes()) == train_bytes([text], size=700, pattern="o200k")
    assert run("--size", "700", "--out", str(out), text=text.encode()).exit_code == 0
    assert TrainedVocabulary.load(out.read_bytes()) == train_bytes([text], size=700, pattern="o200k")


@pytest.mark.parametrize("engine", ["native", "library", "python"])
def test_the_engine_changes_nothing_but_the_time(engine, tmp_path):
    text = b"the truck weighs more than the load\n" * 9
    explained = run("--size", "290", "--explain", text=text, env={"WEIGHBRIDGE_ENGINE": engine})
    by_words = run("--words", "--merges", "9", "--explain", text=text, env={"WEIGHBRIDGE_ENGINE": engine})

    assert explained.stdout == run("--size", "290", "--explain", text=text).stdout
    assert explained.stdout.startswith('1\t" "\t"t"\t27\n')
    assert by_words.stdout == run("--words", "--merges", "9", "--explain", text=text).stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--resume", "STATE"], "Say where the vocabulary goes"),
        (["--resume", "STATE", "--size", "300", "--explain"], "--resume takes --out, --format and --explain alone"),
        (["--resume", "STATE", "corpus", "--explain"], "--resume takes --out, --format and --explain alone"),
        (["--resume", "STATE", "--explain"], "no stopped training that can go on"),
        (["--resume", "STATE.none", "--explain"], "No such file"),
        (["--size", "300", "--out", "."], "--out names a folder"),
    ],
)
def test_what_cannot_be_resumed_is_refused(arguments, message, tmp_path):
    state = tmp_path / "state"
    state.write_bytes(b"text")
    result = run(*(argument.replace("STATE", str(state)) for argument in arguments))
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr
