"""The command line: one file per group of commands.

A file here that defines `register(app: typer.Typer) -> None` is found by itself. It is imported on every
run, `--help` included, so it imports heavy modules inside its commands.
"""

from __future__ import annotations
