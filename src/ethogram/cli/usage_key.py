"""`ethogram usage key`: the key by which people have other names in a store."""

from __future__ import annotations

from typing import Annotated

import typer

from .inputs import AsJson
from .output import printable, write_json, write_line
from .usage_common import KeyFile, UsageStore, Who, open_tracker, path_of, user_name

GROUP = "usage"
File = Annotated[str, typer.Argument(metavar="FILE", help="The file of the key.", show_default=False)]


def register(app: typer.Typer) -> None:
    """Adds the commands to the group of their kind."""
    keys = typer.Typer(help="The key by which people are kept under other names.", no_args_is_help=True)
    keys.command("new")(new)
    keys.command("rotate")(rotate)
    keys.command("check")(check)
    (group,) = (one.typer_instance for one in app.registered_groups if one.name == GROUP)
    assert group is not None
    group.add_typer(keys, name="key")


def new(file: File, as_json: AsJson = False) -> None:
    """Make a key, in a file that only you can read. Without it nobody finds anybody in a store again."""
    from ..usage.pseudonym import new_keys, write_keys

    write_keys(file, new_keys())
    _tell("new", file, 1, as_json=as_json)


def rotate(
    file: File,
    stores: Annotated[
        list[str],
        typer.Option("--store", metavar="FILE", help="Every store that has this key; repeatable."),
    ],
    who: Who = "",
    as_json: AsJson = False,
) -> None:
    """Add a key, and give everybody in the stores their new name: an old copy of the file leads nowhere.

    Where a store has an older key of this file, it is given the newest, and no key is added.
    """
    import time

    from ..usage.pseudonym import read_keys
    from ..usage.rotation import rotate as turn

    before = read_keys(file)
    keys = turn(file, [path_of(one) for one in stores], at=time.time(), who=who or user_name())
    _tell("catch_up" if keys == before else "rotate", file, len(keys.chain), as_json=as_json)


def check(store: UsageStore, key: KeyFile = "", as_json: AsJson = False) -> None:
    """Say whether a key is that of a store; exit 2 where it is not."""
    import os

    from ..usage.pseudonym import VARIABLE

    with open_tracker(store, key, "") as tracker:
        found = tracker.info()
    _tell("check", key or os.environ.get(VARIABLE, ""), found["keys"], as_json=as_json)


def _tell(what: str, file: str, keys: int, *, as_json: bool) -> None:
    if as_json:
        from ..usage.records import UsageKey

        write_json(UsageKey(what=what, file=file or None, keys=keys))
        return
    words = {
        "new": f"A new key is in {printable(file)}; keep a copy where the store is not.",
        "rotate": f"{keys} keys are in {printable(file)}; the stores know nobody by the older ones alone.",
        "catch_up": f"The stores have the {keys} keys of {printable(file)} now; none was added.",
        "check": "The key is that of the store.",
    }
    write_line(words[what])
