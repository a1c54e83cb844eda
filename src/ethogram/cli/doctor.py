"""`ethogram doctor`: check the installation, a store and a service."""

from __future__ import annotations

from typing import Annotated

import click

from ..app.doctor import doctor as run
from . import options as o
from .output import emit

WRONG = 2
_MARKS = {"ok": "ok   ", "note": "note ", "wrong": "WRONG"}


def doctor(
    store: Annotated[str, o.opt("Check this store too.", "--store", metavar="URL")] = "",
    url: Annotated[str, o.opt("Check the service at this address too.", metavar="URL")] = "",
    config: o.Config = "",
    as_json: o.AsJson = False,
) -> None:
    """Check the installation, settings, patterns, a store and a service."""
    checks = list(run(o.InputOptions((), "", config).loaded().settings, store=store, url=url))
    lines = [f"{_MARKS[item.state]}  {item.check}: {item.message}" for item in checks]
    emit((item.to_dict() for item in checks), lines, as_json=as_json)
    if any(item.state == "wrong" for item in checks):
        raise click.exceptions.Exit(WRONG)
