"""`ethogram config`: which settings apply, and where each comes from."""

from __future__ import annotations

import json
from typing import Any

import typer

from .inputs import AsJson, Config, load_config
from .output import printable, write_json, write_line


def register(app: typer.Typer) -> None:
    """Adds the group."""
    group = typer.Typer(help="Which settings apply, and where each comes from.", no_args_is_help=True)
    group.command("show")(show)
    group.command("path")(path)
    group.command("schema")(schema)
    app.add_typer(group, name="config")


def show(as_json: AsJson = False, config: Config = "") -> None:
    """List every setting with its value and what set it."""
    from ..config import show as settings_of
    from ..patterns.listing import SettingRow
    from ..patterns.settings_check import check_patterns

    loaded = load_config(config, as_json=as_json)
    check_patterns(loaded)
    rows = settings_of(loaded)
    if as_json:
        for key, value, origin in rows:
            write_json(SettingRow(key=key, value=value, origin=origin))
        for one in loaded.refused:
            write_json(one)
        return
    texts = [(printable(key), as_text(value), printable(origin)) for key, value, origin in rows]
    keys, values = (max(len(row[i]) for row in texts) for i in (0, 1))
    for key, text, origin in texts:
        write_line(f"{key:<{keys}}  {text:<{values}}  {origin}")
    if loaded.refused:
        write_line("\nRefused:")
    for one in loaded.refused:
        write_line(printable(f"  {one.name}: {as_text(one.value)}, from {one.origin}: {one.why}"))


def path(as_json: AsJson = False, config: Config = "") -> None:
    """Show which settings file is read."""
    import os

    from ..config import CONFIG_FILE, CONFIG_VARIABLE
    from ..config.loading import find_file
    from ..config.trust import read_record, trust_of, user_file
    from ..patterns.listing import ConfigPath

    found = find_file(config or None, os.environ)
    full = None if found is None else os.path.abspath(found)  # noqa: PTH100 (links are left as they are)
    if as_json:
        is_named = bool(config or os.environ.get(CONFIG_VARIABLE))
        trust = None if found is None or is_named else trust_of(found, read_record()[0].get)
        user = user_file()
        write_json(
            ConfigPath(
                path=full,
                trusted=None if found is None else trust is None or trust.status == "trusted",
                user=str(user) if user is not None and user.exists() else None,
            )
        )
    elif full is None:
        write_line(f"no settings file: no {CONFIG_FILE} in this folder, and {CONFIG_VARIABLE} is not set")
    else:
        write_line(printable(full))


def schema(as_json: AsJson = False) -> None:
    """Show the JSON Schema of ethogram.yaml, for editors and for checks elsewhere."""
    from ..schemas import schema as schema_of

    told = schema_of("config")
    # A record a line, or as a person and an editor read it.
    write_line(json.dumps(told) if as_json else json.dumps(told, indent=2))


def as_text(value: Any) -> str:
    """A value as the settings file would give it.

    >>> as_text(None), as_text("30m"), as_text([]), as_text({})
    ('null', '30m', '[]', '{}')
    """
    if isinstance(value, str):
        return printable(value)
    return json.dumps(value, ensure_ascii=True)
