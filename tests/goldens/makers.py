"""Each golden: the name of its file, and the function that makes it anew in an empty folder."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import click

from ethogram import schemas
from ethogram.cli.main import build_app
from golden_text import compact, digest, shortened
from goldens import commands, names

FOLDER = Path(__file__).with_name("answers")


def help_pages(_: Path) -> str:
    """The help of every command."""
    parts: list[str] = []

    def walk(command: click.Command, parent: click.Context | None, name: str) -> None:
        context = click.Context(
            command, info_name=name, parent=parent, terminal_width=100, max_content_width=100
        )
        parts.append(f"$ {context.command_path} --help\n{command.get_help(context)}\n")
        if isinstance(command, click.Group):
            for child in command.list_commands(context):
                found = command.get_command(context, child)
                assert found is not None, child
                walk(found, context, child)

    walk(build_app(), None, "ethogram")
    return "\n".join(parts)


def record_schemas(_: Path) -> str:
    """The JSON Schema of every record: each field with its type and a digest; a star where it is required."""
    lines: list[str] = []
    for name in sorted(schemas.schema_names()):
        body = without_texts(schemas.schema(name))
        fields, required = body.pop("properties", {}), body.pop("required", [])
        lines.append(f"{name}: {digest(body)}")
        lines += [
            f"    {field}{'*' if field in required else ''}: {type_words(item)} {digest(item)}"
            for field, item in fields.items()
        ]
    return "\n".join([*lines, ""])


def type_words(item: dict[str, Any]) -> str:
    """What a field may be, in a few words."""
    words = item.get("const", item.get("enum", item.get("type", "anyOf" if "anyOf" in item else "any")))
    if item.get("type") == "array":
        words = f"array of {type_words(item.get('items', {}))}"
    limits = [f"{key} {item[key]}" for key in ("minimum", "maximum", "maxLength") if key in item]
    return " ".join([shortened(words if isinstance(words, str) else compact(words)), *limits])


def without_texts(value: Any) -> Any:
    """A schema without descriptions."""
    if isinstance(value, dict):
        return {
            key: without_texts(item)
            for key, item in value.items()
            if key != "description" or isinstance(item, dict)
        }
    return [without_texts(item) for item in value] if isinstance(value, list) else value


def public_names(_: Path) -> str:
    """Public names and documented import paths, with signatures."""
    path = FOLDER / "names.txt"
    return names.golden(path.read_text(encoding="utf-8") if path.exists() else "")


GOLDENS: dict[str, Callable[[Path], str]] = {
    "readme.txt": partial(commands.answered, lines=commands.README),
    "tutorial.txt": partial(commands.answered, lines=commands.TUTORIAL),
    "stores.txt": partial(commands.answered, lines=commands.STORES),
    "judging.txt": partial(commands.answered, lines=commands.JUDGING, settings=commands.SETTINGS),
    "people.txt": partial(commands.answered, lines=commands.PEOPLE, is_private=True),
    "catalogues.txt": partial(commands.answered, lines=commands.CATALOGUES),
    "help.txt": help_pages,
    "schemas.txt": record_schemas,
    "names.txt": public_names,
}
