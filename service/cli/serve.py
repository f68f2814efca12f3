"""``weighbridge serve``."""

from __future__ import annotations

import click

from service.app import serve as run


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), default=8000, show_default=True, help="The port to listen on.")
@click.option("--insecure", is_flag=True, help="Listen where others can reach it, without keys; any Host is taken.")
def serve(host: str, port: int, *, insecure: bool) -> None:
    """Run the HTTP service until it is told to stop (SIGTERM or Ctrl-C).

    Every vocabulary is loaded and proven before the first request. Settings are the environment variables
    WEIGHBRIDGE_*; prices, models and tokenizers of your own stand in weighbridge.toml in the data directory.

    Exit codes: 0 stopped as asked, 1 a vocabulary is damaged or the port is taken, 2 wrong settings.
    """
    run(host, port, insecure=insecure)
