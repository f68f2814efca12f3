"""``weighbridge count`` and ``weighbridge tokenize``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

from adapters.port import Piece
from service.cli.environment import environment
from service.cli.group import Refusal
from service.cli.output import note, print_json, print_table, printable_bytes
from service.cli.requesting import counted, read_body, resolve_for, takes_request
from service.cli.sources import named, parts, shown, texts
from service.domain.counting import Count, Scale, count_text, tokenizer_of
from service.domain.streaming import TextStream

_Command = TypeVar("_Command", bound=Callable[..., Any])


def weighed_with(command: _Command) -> _Command:
    """The options that say what to count with, and how special tokens are read."""
    for option in (
        click.option("--json", "as_json", is_flag=True, help="Print one line of JSON."),
        click.option(
            "--special",
            type=click.Choice(["text", "parse"]),
            default="text",
            show_default=True,
            help="Read the literal of a special token as ordinary text, or as the one token that it names.",
        ),
        click.option(
            "-t", "--tokenizer", metavar="NAME", help="A vocabulary, such as o200k_base, in place of a model."
        ),
        click.option("-p", "--provider", metavar="NAME", help="Who sells the model, where several do."),
        click.option("-m", "--model", metavar="NAME", help="The model to count for."),
    ):
        command = option(command)
    return command


@click.command()
@click.argument("files", nargs=-1, type=click.Path())
@weighed_with
@takes_request
@click.option(
    "--limit", type=click.IntRange(min=0), metavar="N", help="Exit with 1 if there may be more than N tokens."
)
def count(
    files: Sequence[str],
    model: str | None,
    provider: str | None,
    tokenizer: str | None,
    special: str,
    body: str | None,
    dialect: str | None,
    limit: int | None,
    *,
    as_json: bool,
) -> None:
    """Count the tokens of FILES, or of standard input (also named -), of any size: they are read part by part.

    For one input only the number is printed; for several a line each and the total, as wc does. An inexact count and
    special tokens in a text are noted on standard error. With --limit the upper bound of the total counts. With
    --request the input is the body of a call as its vendor takes it, and all that the model reads is counted.

    Exit codes: 0 done, 1 over the limit, 2 wrong command line or input; then no number is printed.
    """
    if body is not None:
        if tokenizer:
            raise click.UsageError(
                "A request is framed as its model frames it: give a model (-m), not a tokenizer (-t)."
            )
        here, request = environment(), read_body(body, dialect, files)
        counts = [(body, counted(here, request, resolve_for(here, request, model, provider)))]
    else:
        scale = _scale(model, provider, tokenizer)
        counts = [(name, _counted(scale, name, parse_special=special == "parse")) for name in named(files)]
    total, high = sum(item.tokens for _, item in counts), sum(item.high for _, item in counts)
    if as_json:
        print_json(_summary(counts, total, high))
    elif len(counts) == 1:
        click.echo(total)
    else:
        _print_lines(counts, total)
    if not as_json:
        _print_notes(counts)
    if limit is not None and high > limit:
        bound = "" if high == total else "up to "
        raise Refusal(f"{bound}{high} tokens are more than the limit of {limit}.")


@click.command()
@click.argument("file", type=click.Path(), default="-")
@weighed_with
@click.option(
    "--pieces", is_flag=True, help="Print a line for each token: its id, its piece, and where it starts and ends."
)
def tokenize(
    file: str,
    model: str | None,
    provider: str | None,
    tokenizer: str | None,
    special: str,
    *,
    as_json: bool,
    pieces: bool,
) -> None:
    """Print the token ids of FILE, or of standard input, on one line.

    With --pieces each token's id, its bytes (escaped where they are no printable text) and its span: code points of
    the text, end exclusive. A token that holds part of a character covers the whole character.

    Exit codes: 0 done, 2 wrong command line or input.
    """
    scale = _scale(model, provider, tokenizer)
    [(name, text)] = texts([file])
    parse = special == "parse"
    if pieces:
        _print_pieces(scale, tokenizer_of(scale).pieces(text, parse_special=parse), as_json=as_json)
    else:
        ids = tokenizer_of(scale).encode(text, parse_special=parse)
        if as_json:
            print_json({"tokenizer": scale.info, "ids": ids, "tokens": len(ids)})
        else:
            click.echo(" ".join(map(str, ids)))
    if not as_json:
        _print_notes([(name, count_text(scale, text, parse_special=parse))])


def _scale(model: str | None, provider: str | None, tokenizer: str | None) -> Scale:
    if model and tokenizer:
        raise click.UsageError("Give a model (-m) or a tokenizer (-t), not both.")
    return environment().scale(model, provider, tokenizer)


def _counted(scale: Scale, name: str, *, parse_special: bool) -> Count:
    """The count of one input, read and counted part by part."""
    from adapters.streaming import count_stream  # noqa: PLC0415 - with the tokenizers, that only counting loads

    stream = TextStream(scale, count_stream, parse_special=parse_special)
    for part in parts(name):
        stream.feed(part)
    return stream.finish()


def _summary(counts: Sequence[tuple[str, Count]], total: int, high: int) -> dict[str, object]:
    first = counts[0][1]
    return {
        "model": first.model,
        "provider": first.provider,
        "rule": first.rule,
        "tokenizer": first.tokenizer,
        "tokens": total,
        "low": sum(item.low for _, item in counts),
        "high": high,
        "accuracy": first.accuracy,
        "accuracy_reasons": first.accuracy_reasons,
        "breakdown": first.breakdown if len(counts) == 1 else None,
        "items": [
            {
                "file": name.encode("utf-8", "backslashreplace").decode(),
                "tokens": item.tokens,
                "low": item.low,
                "high": item.high,
                "characters": item.characters,
                "utf8_bytes": item.utf8_bytes,
                "warnings": item.warnings,
            }
            for name, item in counts
        ],
    }


def _print_lines(counts: Sequence[tuple[str, Count]], total: int) -> None:
    width = len(str(total))
    for name, item in counts:
        click.echo(f"{item.tokens:>{width}} {shown(name)}")
    click.echo(f"{total:>{width}} total")


def _print_notes(counts: Sequence[tuple[str, Count]]) -> None:
    first = counts[0][1]
    if first.accuracy != "exact":
        reasons = ", ".join(first.accuracy_reasons)
        low, high = sum(item.low for _, item in counts), sum(item.high for _, item in counts)
        note(f"{first.accuracy}, between {low} and {high}" + (f" ({reasons})." if reasons else "."))
    for name, item in counts:
        for warning in item.warnings:
            note(f"{shown(name)}: {warning.message}")


def _print_pieces(scale: Scale, pieces: Sequence[Piece], *, as_json: bool) -> None:
    if as_json:
        rows = [
            {
                "id": piece.id,
                "bytes": list(piece.bytes),
                "text": piece.bytes.decode("utf-8", "replace"),
                "start": piece.start,
                "end": piece.end,
                "unknown": piece.unknown,
            }
            for piece in pieces
        ]
        print_json({"tokenizer": scale.info, "pieces": rows, "tokens": len(rows)})
        return
    print_table(
        ("id", "piece", "start", "end"),
        [(piece.id, printable_bytes(piece.bytes), piece.start, piece.end) for piece in pieces],
        right=("id", "start", "end"),
    )
