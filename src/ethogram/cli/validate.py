"""`ethogram validate`: how often patterns are right on labelled data, beside the trivial answer."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import typer

DATA = "ETHOGRAM_DATA"
"""The variable that names the folder of data where --data does not."""


def register(app: typer.Typer) -> None:
    """Adds the group."""
    from .validate_labelled import ByDefault, labelled

    group = typer.Typer(
        help="How often patterns are right on labelled data: validate SET|FILE.",
        no_args_is_help=True,
        cls=ByDefault,
    )
    group.command("labelled")(labelled)
    group.callback()(lambda: None)
    app.add_typer(group, name="validate")


def digest(files: Iterable[Path]) -> str:
    """Of the names and contents of the files, so that figures can be tied to what they were got on."""
    import hashlib

    whole = hashlib.sha256()
    for file in sorted(files):
        whole.update(file.name.encode() + b"\0" + hashlib.sha256(file.read_bytes()).digest())
    return whole.hexdigest()[:16]
