"""The command group: commands imported on demand, and one place where errors become exit codes."""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
from collections.abc import Mapping
from typing import Any

import click

REFUSED = 1
"""The answer is no: a limit is exceeded, a vocabulary is damaged or cannot be fetched."""

BAD_INPUT = 2
"""The command line, the input or the configuration is wrong."""

_PIPE_CLOSED = 141  # what a shell reports of a program that a closed pipe ended
_INTERRUPTED = 130


class Refusal(click.ClickException):
    """A message on standard error, and exit code 1."""

    exit_code = REFUSED


class BadInput(click.ClickException):
    """A message on standard error, and exit code 2."""

    exit_code = BAD_INPUT


class LazyGroup(click.Group):
    """A group that knows each command's module and summary, and imports the module when the command runs."""

    def __init__(self, *args: Any, lazy: Mapping[str, tuple[str, str]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.lazy = lazy

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The commands in the order in which they are explained."""
        del ctx
        return list(self.lazy)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command, imported now."""
        del ctx
        if cmd_name not in self.lazy:
            return None
        module = importlib.import_module(self.lazy[cmd_name][0])
        command = getattr(module, cmd_name)
        if not isinstance(command, click.Command):
            raise TypeError(f"{module.__name__}.{cmd_name} is no command")
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The commands and their summaries, without importing one."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, self.lazy[name][1]) for name in self.list_commands(ctx)])

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; an error that is meant for the user becomes a message and an exit code."""
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
        except BrokenPipeError:
            _forget_stdout()
            ctx.exit(_PIPE_CLOSED)
        except KeyboardInterrupt:
            ctx.exit(_INTERRUPTED)
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except Exception as error:
            raise _for_the_user(error) from error
        return result


def _for_the_user(error: Exception) -> Exception:
    """``error`` as a message with its exit code; one that nobody foresaw stays as it is."""
    from adapters.port import TokenizerError, VocabularyDamaged  # noqa: PLC0415 - only a failure needs these
    from service.domain.errors import DomainError, UnknownModel, UnknownProvider  # noqa: PLC0415
    from service.settings import InvalidSetting  # noqa: PLC0415

    if isinstance(error, VocabularyDamaged):
        return Refusal(str(error))
    if isinstance(error, UnknownModel):
        what = "provider" if isinstance(error, UnknownProvider) else "model"
        nearest = f" Nearest: {', '.join(error.nearest)}." if error.nearest else ""
        return BadInput(f"Unknown {what}.{nearest} `weighbridge models` lists all.")
    if isinstance(error, (TokenizerError, DomainError, InvalidSetting)):
        return BadInput(str(error))
    return error


def _forget_stdout() -> None:
    """Point standard output at nothing, so that the interpreter's last flush does not fail once more."""
    with contextlib.suppress(OSError, ValueError):
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, sys.stdout.fileno())
        os.close(nothing)
