"""The ``weighbridge`` command. Each command's module is imported when that command runs, so that a start is quick."""

from __future__ import annotations

import click

from service import __version__
from service.cli.group import LazyGroup

_COMMANDS = {
    "count": ("service.cli.counting", "Count the tokens of files or standard input."),
    "tokenize": ("service.cli.counting", "Show the token ids or the pieces of a text."),
    "models": ("service.cli.models", "List the models, their tokenizers and accuracy."),
    "estimate": ("service.cli.estimating", "Estimate what a call will cost before it is made."),
    "compare": ("service.cli.comparing", "Weigh texts for many models side by side."),
    "cost": ("service.cli.costing", "Print what a call of known usage costs."),
    "advise": ("service.cli.advising", "Measure what would save tokens or money on a call."),
    "trim": ("service.cli.trimming", "Drop a chat's oldest turns until it fits."),
    "prices": ("service.cli.prices", "List, import and compare prices."),
    "vocab": ("service.cli.vocab", "List, verify and add vocabularies."),
    "ledger": ("service.cli.ledger", "Rebuild the sums of spend, remove old entries."),
    "keys": ("service.cli.keys", "Make, list, rotate and revoke keys."),
    "train": ("service.cli.train", "Train a byte-pair encoding on text."),
    "serve": ("service.cli.serve", "Run the HTTP service."),
}


@click.group(cls=LazyGroup, lazy=_COMMANDS, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="weighbridge", message="%(prog)s %(version)s")
def cli() -> None:
    """Weigh prompts: count tokens and cost for every model, offline and exact.

    Exit codes: 0 done; 1 the answer is no (a limit is exceeded, a price is unknown, a vocabulary is damaged);
    2 the command line or the input is wrong. Results go to standard output, notes and errors to standard error.
    Tables become tab-separated lines when the output is no terminal.
    """


def main() -> None:
    """Run the command line, and exit with its code."""
    cli(prog_name="weighbridge")
