"""Commands from typed functions: their parameters, and help in named panels.

A command is a function whose parameters are annotated with `opt` or `arg` (see options.py); its docstring is
the help. A group loads the module of a command when that command runs.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, get_args, get_origin

import click

from ..errors import did_you_mean
from .errors import removed

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

PANELS = ("Arguments", "Options", "Input", "Output", "Scoring", "Agent runs", "Advanced", "Scale")
"""Order of the parts of a command's help."""
Target: TypeAlias = "str | Callable[..., None] | Group"
"""A command: its function, as such or as `module:function` of this package, or a group."""


class Argument(click.Argument):
    """A positional argument with help."""

    def __init__(self, text: str, metavar: str | None, name: str, kind: Any, default: Any) -> None:
        many, typed = _typed(kind, default)
        super().__init__([name], nargs=-1 if many else 1, **typed)
        # Not `help`: click 8.5 would list it a second time.
        self.title, self.text = metavar or name.upper(), text

    def make_metavar(self, ctx: click.Context) -> str:
        """How the usage line shows it: [PATH]... for any number of paths."""
        optional = not self.required and not self.title.startswith("[")
        return (f"[{self.title}]" if optional else self.title) + ("" if self.nargs == 1 else "...")

    def get_help_record(self, ctx: click.Context) -> tuple[str, str]:
        """Its line in the help."""
        return self.title, self.text + ("  [required]" if self.required else "")

    def get_error_hint(self, ctx: click.Context | None) -> str:
        """What errors call it."""
        return f"'{self.title}'"


class Option(click.Option):
    """An option in a panel of the help; numbers may have limits, both included."""

    def __init__(
        self, names: Sequence[str], panel: str | None, name: str, kind: Any, default: Any, **more: Any
    ) -> None:
        many, typed = _typed(kind, default, more.pop("min", None), more.pop("max", None))
        names = names or (f"--{name.replace('_', '-')}",)
        shown = "/" in names[0] if kind is bool else typed.get("default", "") != ""
        flag = True if kind is bool else None  # not False: that would make the value optional
        super().__init__([name, *names], is_flag=flag, multiple=many, show_default=shown, **typed, **more)
        self.panel = panel or "Options"


class Integer(click.IntRange):
    """A whole number within limits."""

    name = "integer"


class Number(click.FloatRange):
    """A number within limits; NaN is within none."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The number, or BadParameter."""
        number = super().convert(value, param, ctx)
        return self.fail(f"{value!r} is not a valid number.", param, ctx) if isnan(number) else number


def _typed(
    kind: Any, default: Any, least: float | None = None, most: float | None = None
) -> tuple[bool, dict[str, Any]]:
    """Whether a parameter takes many values, and its type and default for click."""
    many = get_origin(kind) in (list, Sequence)
    value: Any = (get_args(kind) or (kind,))[0]  # X of X, list[X] and X | None
    if least is not None or most is not None:
        value = (Integer if value is int else Number)(least, most)  # type: ignore[arg-type]
    elif value is Path:
        value = click.Path(path_type=Path)
    required = default is inspect.Parameter.empty
    own = {} if many or required or default is None else {"default": default}
    return many, {"type": value, "required": required, "shell_complete": _files, **own}


def _files(ctx: click.Context, param: click.Parameter, start: str) -> list[CompletionItem]:
    from click.shell_completion import CompletionItem

    return [CompletionItem(start, type="file")]


def parameters(function: Callable[..., Any], only: Sequence[str] = ()) -> list[click.Parameter]:
    """The options and arguments that a function declares; a class stands for those of its own fields."""
    params: list[click.Parameter] = []
    for parameter, is_required in declared(function, only):
        if group := group_of(parameter.annotation):
            params += parameters(*group)
        else:
            kind, make = get_args(parameter.annotation)
            default = inspect.Parameter.empty if is_required else parameter.default
            params.append(make(name=parameter.name, kind=kind, default=default))
    return params


def declared(function: Callable[..., Any], only: Sequence[str]) -> Iterator[tuple[inspect.Parameter, bool]]:
    """The parameters of a function, or `only` some of them, and whether a value must be given: `paths!`."""
    known = inspect.signature(function, eval_str=True).parameters
    return ((known[name.rstrip("!")], name.endswith("!")) for name in only or known)


def group_of(annotation: Any) -> tuple[type, Sequence[str]] | None:
    """The class of options that a parameter takes, and which of its fields; none named: all.

    `Annotated[InputOptions, "paths! config"]` takes two of them.
    """
    if isinstance(annotation, type):
        return annotation, ()
    kind, what = get_args(annotation)
    return (kind, what.split()) if isinstance(what, str) else None


def take(function: Callable[..., Any], values: dict[str, Any], only: Sequence[str] = ()) -> Any:
    """Call a function with its own values, taken out of all; classes of options are made of theirs."""
    own: dict[str, Any] = {}
    for parameter, _ in declared(function, only):
        group = group_of(parameter.annotation)
        own[parameter.name] = take(group[0], values, group[1]) if group else values.pop(parameter.name)
    return function(**own)


class Command(click.Command):
    """A command that calls a function."""

    def __init__(self, name: str, function: Callable[..., None]) -> None:
        def call(**values: Any) -> None:
            take(function, {key: list(item) if type(item) is tuple else item for key, item in values.items()})

        super().__init__(name, callback=call, params=parameters(function), help=function.__doc__)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write arguments, then options panel by panel."""
        write_options(self, ctx, formatter)


class Group(click.Group):
    """Commands by panel of the help, each loaded when it is needed."""

    def __init__(
        self,
        text: str,
        panels: Mapping[str, Mapping[str, Target]] | None = None,
        options: Callable[..., None] | None = None,
        **commands: Target,
    ) -> None:
        """In names of `commands` an underscore is a hyphen, and one at the end is dropped."""
        super().__init__(help=text, params=parameters(options) if options else [], no_args_is_help=True)
        rows = {name.rstrip("_").replace("_", "-"): target for name, target in commands.items()}
        self.panels = panels or {"Commands": rows}
        self.targets = {name: target for rows in self.panels.values() for name, target in rows.items()}

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Their names, in the order of the help."""
        return list(self.targets)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """The command of that name, loaded now."""
        if name not in self.targets:
            return None
        target = self.targets[name]
        if isinstance(target, str):
            module, _, function = target.partition(":")
            target = getattr(importlib.import_module(f"{__package__}.{module}"), function)
        return target if isinstance(target, Group) else Command(name, target)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write options, then commands panel by panel."""
        write_options(self, ctx, formatter)
        width = max(map(len, self.targets))
        for title, rows in self.panels.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(width), _summary(rows[name])) for name in rows])

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """The command meant; an unknown one is an error that names those near it."""
        if args[0] not in self.targets and not ctx.resilient_parsing:
            near = did_you_mean(args[0], self.targets)
            why = removed(ctx, args[0]) or f"No such command '{args[0]}'{near}"
            raise click.UsageError(why, ctx)
        return super().resolve_command(ctx, args)


def _summary(target: Target) -> str:
    """The first line of a command's help, read from the source: importing all commands takes a second."""
    if isinstance(target, str):
        module, _, function = target.partition(":")
        source = Path(__file__).with_name(f"{module}.py").read_text(encoding="utf-8")
        return (
            source.partition(f"\ndef {function}(")[2].partition('\n    """')[2].partition("\n")[0].rstrip('"')
        )
    text = target.help if isinstance(target, Group) else target.__doc__
    return (text or "").partition("\n")[0]


def write_options(command: click.Command, ctx: click.Context, formatter: click.HelpFormatter) -> None:
    """Write the parameters of a command: arguments, common options, then the named panels."""
    panels: dict[str, list[tuple[str, str]]] = {title: [] for title in PANELS}
    for param in command.get_params(ctx):
        title = "Arguments" if isinstance(param, Argument) else getattr(param, "panel", "Options")
        if row := param.get_help_record(ctx):
            panels.setdefault(title, []).append(row)
    for title, rows in panels.items():
        if rows:
            with formatter.section(title):
                formatter.write_dl(rows)
