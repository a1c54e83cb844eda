"""Help in plain text, grouped in named panels, and errors that name what a command is called now."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

PANELS = ("Analyse", "Live", "Patterns", "Store", "Judge", "Setup")
"""Groups of top-level commands, in the order of `ethogram --help`."""
RENAMED = {
    "calibration": "accuracy --calibration",
    "evaluators list": "signals evaluators",
    "evaluators compare": "signals compare",
    "evaluators": "signals evaluators, or signals compare",
    "export": "store export-subject",
    "hook rehearse": "hook replay",
    "lexicon list": "signals lexicon",
    "lexicon measure": "signals measure-lexicon",
    "lexicon": "signals lexicon, or signals measure-lexicon",
    "patterns prove": "patterns test",
    "purge": "store purge",
    "schema": "config schema",
    "subjects": "subject",
    "trust": "config trust",
    "validate": "patterns validate",
}
"""Old command -> new one."""
RENAMED_OPTIONS = {("ethogram patterns validate", "--level"): "--severity"}
"""Command and old option -> new option."""


class Command(TyperCommand):
    """A command whose help shows its options in panels."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write arguments, then options panel by panel."""
        write_options(self, ctx, formatter)


class Group(TyperGroup):
    """A group whose help shows its commands in panels, and which knows what commands were called before."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write options, then commands panel by panel."""
        write_options(self, ctx, formatter)
        panels: dict[str, list[tuple[str, str]]] = {}
        for name in self.list_commands(ctx):
            command = self.get_command(ctx, name)
            if command is not None and not command.hidden:
                panel = getattr(command, "rich_help_panel", None)
                title = panel if isinstance(panel, str) else "Commands"
                panels.setdefault(title, []).append((name, (command.help or "").partition("\n")[0]))
        width = max((len(name) for rows in panels.values() for name, _ in rows), default=0)
        for title in sorted(
            panels, key=lambda panel: PANELS.index(panel) if panel in PANELS else len(PANELS)
        ):
            with formatter.section(title):
                formatter.write_dl([(name.ljust(width), text) for name, text in panels[title]])

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command meant; an old name is BadUsage and names the new one."""
        if args[0] not in self.commands:
            from ..errors import BadUsage

            program, _, parent = ctx.command_path.partition(" ")
            old = " ".join([*parent.split(), *args[:2]])
            while old and old not in RENAMED:
                old = old.rpartition(" ")[0]
            if program == "ethogram" and len(old.split()) > len(parent.split()):
                raise BadUsage(f"'{program} {old}' is now '{program} {RENAMED[old]}'")
        return super().resolve_command(ctx, args)


def write_options(command: Any, ctx: Any, formatter: Any) -> None:
    """Write the parameters of a command: arguments, common options, then the named panels."""
    panels: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
    for param in command.get_params(ctx):
        if (row := param.get_help_record(ctx)) is None:
            continue
        if param.param_type_name == "argument":
            panels["Arguments"].append((re.sub(r" <.*>$", "", row[0]), row[1]))
        else:
            panel = getattr(param, "rich_help_panel", None)
            panels.setdefault(panel if isinstance(panel, str) else "Options", []).append(row)
    for title, rows in panels.items():
        if rows:
            with formatter.section(title):
                formatter.write_dl(rows)


def new_group(help_text: str) -> typer.Typer:
    """An empty group of commands."""
    group = typer.Typer(help=help_text, cls=Group, rich_markup_mode=None, no_args_is_help=True)
    # Without a callback, typer would make a group of one command that command itself.
    group.callback()(lambda: None)
    return group


def add_command(app: typer.Typer, name: str, function: Callable[..., None], panel: str = "") -> None:
    """Add one command; `panel` is where the help of `app` lists it."""
    app.command(name, cls=Command, rich_help_panel=panel or None)(function)


def add_group(app: typer.Typer, name: str, text: str, panel: str, **commands: Callable[..., None]) -> None:
    """Add a group of commands; an underscore in a name is a hyphen, and one at its end is dropped."""
    group = new_group(text)
    for command, function in commands.items():
        add_command(group, command.rstrip("_").replace("_", "-"), function)
    app.add_typer(group, name=name, rich_help_panel=panel)
