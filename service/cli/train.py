"""``weighbridge train``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import click

from adapters.bpe.export import to_tiktoken, to_tokenizer_json
from adapters.bpe.train import Ties, plan_bytes, plan_words
from adapters.bpe.trained import TrainedVocabulary
from service.cli.output import note, print_table, printable_bytes
from service.cli.sources import STDIN
from service.cli.training import Keeper, begun, finished, resumed, write

_FORMATS: Mapping[str, Callable[[TrainedVocabulary], bytes]] = {
    "weighbridge": TrainedVocabulary.dump,
    "tiktoken": to_tiktoken,
    "tokenizer.json": lambda vocabulary: to_tokenizer_json(vocabulary).encode(),
}


@click.command()
@click.argument("files", nargs=-1, type=click.Path())
@click.option("--size", type=click.IntRange(min=1), metavar="N", help="Ids at most: 256 bytes, merges, special tokens.")
@click.option(
    "--pattern", metavar="NAME|REGEX", help="Split pattern: a published one's name or your own. [default: o200k]"
)
@click.option(
    "--special", multiple=True, metavar="LITERAL", help="A special token, which gets one of the last ids. Repeatable."
)
@click.option(
    "--ties", type=click.Choice([rule.value for rule in Ties]), help="Which of equally frequent pairs comes first."
)
@click.option("--words", is_flag=True, help="Merge the characters of words, as Sennrich et al. (2016) do.")
@click.option("--merges", type=click.IntRange(min=1), metavar="N", help="With --words: merges at most.")
@click.option("--out", type=click.Path(), metavar="FILE", help="Where the vocabulary is written; - is standard output.")
@click.option("--format", "form", type=click.Choice(list(_FORMATS)), default="weighbridge", show_default=True)
@click.option("--explain", is_flag=True, help="Print each merge: its number, the two tokens, and how often they met.")
@click.option("--resume", type=click.Path(), metavar="STATE", help="Go on with a training that Ctrl-C stopped.")
def train(
    files: Sequence[str],
    size: int | None,
    pattern: str | None,
    special: Sequence[str],
    ties: str | None,
    merges: int | None,
    out: str | None,
    form: str,
    *,
    resume: str | None,
    words: bool,
    explain: bool,
) -> None:
    """Train a byte-pair encoding on FILES, or on standard input.

    Again and again the most frequent pair of neighbours becomes one token, until there are --size ids or no pair
    occurs twice. Each file is a text of its own; it is read in parts, but as a whole for a pattern of your own. Ties go
    to the pair with the lowest ids (lowest), or to the one that comes first in the text (first_seen); the default is
    lowest, and first_seen with --words.

    Ctrl-C leaves the state of the training in the file OUT.state. With --resume OUT.state it goes on, and gives the
    vocabulary that it would have given. While standard input is read, or a file as a whole, Ctrl-C leaves nothing.

    The formats tiktoken and tokenizer.json are read by those libraries, which give the same ids; tiktoken takes the
    pattern and the special tokens apart.

    Exit codes: 0 trained, 2 wrong command line or input, 130 stopped.
    """
    _check_output(out, explain=explain)
    keeper = Keeper(out, resume)
    if resume is not None:
        if files or size or pattern or special or ties or merges or words:
            raise click.UsageError("--resume takes --out, --format and --explain alone: the rest is in the state.")
        training = resumed(resume, keeper)
    else:
        _check_usage(size, merges, pattern, special, words=words)
        if words:
            plan = plan_words(merges=merges or 0, ties=ties or Ties.FIRST_SEEN)
        else:
            plan = plan_bytes(size=size or 0, pattern=pattern or "o200k", special=special, ties=ties or Ties.LOWEST)
        training = begun(plan, files, keeper)
    vocabulary = finished(training, keeper)
    made = len(vocabulary.merges)
    early = "; no other pair occurs twice" if made < training.plan.merges else ""
    note(f"{vocabulary.size} ids, {made} merges{early}")
    if out:
        write(out, _FORMATS[form](vocabulary))
    if explain:
        _explain(vocabulary)


def _check_output(out: str | None, *, explain: bool) -> None:
    if not out and not explain:
        raise click.UsageError("Say where the vocabulary goes (--out FILE), or ask for the merges (--explain).")
    if out == STDIN and explain:
        raise click.UsageError("The vocabulary and the merges cannot both go to standard output.")
    if out and out != STDIN and Path(out).is_dir():
        raise click.UsageError("--out names a folder. Name a file in it.")


def _check_usage(
    size: int | None, merges: int | None, pattern: str | None, special: Sequence[str], *, words: bool
) -> None:
    if words and (size or pattern or special or not merges):
        raise click.UsageError("--words takes --merges, and no --size, --pattern or --special.")
    if not words and (merges or not size):
        raise click.UsageError("Training on bytes takes --size; --merges belongs to --words.")


def _explain(vocabulary: TrainedVocabulary) -> None:
    print_table(
        ("merge", "left", "right", "frequency"),
        [
            (number, printable_bytes(merge.left), printable_bytes(merge.right), merge.frequency)
            for number, merge in enumerate(vocabulary.merges, 1)
        ],
        right=("merge", "frequency"),
    )
