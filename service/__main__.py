"""``python -m service`` and the ``weighbridge`` command."""

from __future__ import annotations


def main() -> None:
    """Run the command line."""
    from service.cli import main as run  # noqa: PLC0415 - nothing is imported before the command is known

    run()


if __name__ == "__main__":
    main()
