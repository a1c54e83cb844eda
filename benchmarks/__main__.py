"""`python -m benchmarks`: speed and quality, measured from a clone of the repository."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import typer

from ethogram.cli.main import run


def main(argv: Sequence[str] | None = None) -> int:
    """Run one benchmark; exit codes and errors are those of `ethogram`."""
    return run(build_app, "python -m benchmarks", list(sys.argv[1:] if argv is None else argv))


def build_app() -> typer.Typer:
    """Both groups of commands."""
    from benchmarks.quality import commands as quality
    from benchmarks.speed import commands as speed

    app = typer.Typer(
        help="Measure how fast ethogram is and how often it is right.",
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        add_completion=False,
        no_args_is_help=True,
    )
    speed.register(app)
    quality.register(app)
    return app


if __name__ == "__main__":
    sys.exit(main())
