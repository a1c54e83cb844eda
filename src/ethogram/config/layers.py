"""Layers: what the file, the environment and the caller each say, as plain data that knows its place."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..errors import BadConfig, BadInput, Fault, did_you_mean
from ..shapes.yaml import Fields, Items, Node, plain, read_yaml, read_yaml_file
from .checks import CHECKS, Place, count
from .learned import LEARNED_FILE, unknown_keys
from .settings import Settings
from .trust import CONFIG_FILE, HIDDEN_FILE, is_inside, path_values, used_files, user_file, weakness

CONFIG_VARIABLE = "ETHOGRAM_CONFIG"
PREFIX = "ETHOGRAM_"
OPTIONS = {"parameters": "--set", "scorers": "--scorer"}
"""Options that are not called like their setting."""


@dataclass(frozen=True, slots=True)
class Layer:
    """What one place says. `name` is that place; `node` knows the lines and columns, where there are any.

    `found`: nobody named the file, it lies in the folder. Its globs are added to those below it.
    """

    name: str
    values: Mapping[str, Any]
    node: Node | None = None
    found: bool = False

    def fault(self, place: Place, message: str, *, key: bool) -> Fault:
        """A fault in a value, or in its key."""
        return Fault(self.name, *_position(self.node, place, key=key), message)

    def says(self, place: Place) -> bool:
        """Whether this layer has a value at a place."""
        value: Any = self.values
        for part in place:
            known = range(len(value)) if isinstance(value, (list, tuple)) else value
            if not isinstance(known, (range, Mapping)) or part not in known:
                return False
            value = value[part]
        return True

    def origin(self, place: Place) -> str:
        """The file with line and column of the key; the variable; the option."""
        line, column = _position(self.node, place, key=True)
        return f"{self.name}:{line}:{column}" if line else self.name


def find_file(path: str | Path | None, environ: Mapping[str, str], folder: str = "") -> str | None:
    """The file to read: as given, as ETHOGRAM_CONFIG names it, or ethogram.yaml or .ethogram.yaml in the
    folder; '' is the working directory."""
    if path is not None:
        return str(path)
    names = (str(Path(folder, name)) for name in (CONFIG_FILE, HIDDEN_FILE))
    # lexists, so that a broken link is an error and not silently no file.
    here = (name for name in names if os.path.lexists(name))
    return environ.get(CONFIG_VARIABLE) or next(here, None)


def from_file(path: str | None, faults: list[Fault]) -> Iterator[Layer]:
    """The layer of the file; what makes it unreadable goes to `faults`."""
    if path is None:
        return
    try:
        node = read_yaml_file(path, BadConfig)
    except BadInput as error:
        faults += error.faults
        return
    if isinstance(node, Fields):
        yield Layer(path, plain(node), node)
    elif plain(node) is not None:
        faults.append(
            Fault(path, node.line, node.column, "must be a mapping of settings, like lateness: 30s")
        )


def from_learned(path: Path, faults: list[Fault]) -> Iterator[Layer]:
    """The layer of what was learned from verdicts, where there is such a file: its parameters alone."""
    if not os.path.lexists(path):
        return
    try:
        node = read_yaml_file(path, BadConfig)
    except BadInput as error:
        faults += error.faults
        return
    if not isinstance(node, Fields):
        if plain(node) is not None:
            message = "must be a mapping with parameters and changes, as `ethogram learn` writes it"
            faults.append(Fault(str(path), node.line, node.column, message))
        return
    faults += unknown_keys(node, str(path))
    if told := plain(node).get("parameters"):
        yield Layer(str(path), {"parameters": told}, node)


def file_values(layer: Layer, folder: Path) -> Iterator[tuple[Place, str]]:
    """Every value of a layer that names a file or folder, with its place."""
    yield from path_values(layer.values, folder)
    learning = layer.values.get("learning")
    alone: dict[Place, Any] = {
        ("mutes",): layer.values.get("mutes"),
        ("answers",): layer.values.get("answers"),
        ("learning", "file"): learning.get("file") if isinstance(learning, Mapping) else None,
    }
    yield from ((place, value) for place, value in alone.items() if isinstance(value, str))


def anchored(layer: Layer, folder: str) -> Layer:
    """The layer with relative paths meant from a folder; '' is the working directory."""
    values: Any = layer.values
    for place, value in file_values(layer, Path(folder)) if folder else ():
        values = _with(values, place, os.path.join(folder, value))  # noqa: PTH118 (texts stay as written)
    return replace(layer, values=values)


def outside_faults(layer: Layer, file: str) -> Iterator[Fault]:
    """A fault for each file or folder that settings found in a folder name outside of it."""
    folder = Path(file).parent
    for place, value in file_values(layer, folder):
        if not is_inside(folder / value, folder):
            name = ".".join(map(str, place))
            message = f"{name} must lie inside the folder of {Path(file).name}; here is {value!r:.200}"
            yield layer.fault(place, f"{message}; name the file with --config to point elsewhere", key=False)
    for one in used_files(file):
        if not is_inside(one, folder):
            yield Fault(str(one), 0, 0, f"links to a file outside the folder of {Path(file).name}")


def from_user(faults: list[Fault], warnings: list[str]) -> Iterator[Layer]:
    """The layer of the user's own file, where there is one; its paths are meant from its folder."""
    path = user_file()
    if path is None or not os.path.lexists(path):
        return
    if weak := weakness(path, writable=0o002):
        warnings.append(f"{path}: {weak}: ignored")
        return
    yield from (anchored(layer, str(path.parent)) for layer in from_file(str(path), faults))


def learned_path(layers: Iterable[Layer], file: str | None, folder: str = "") -> tuple[Path, bool]:
    """Where what was learned is kept: as `learning.file` says, beside the settings file, or in the folder.

    And whether that is only where it was found: no layer names it but one that was itself found.
    """
    path = Path(folder, LEARNED_FILE) if file is None else Path(file).with_name(LEARNED_FILE)
    is_found = True
    for layer in layers:
        learning = layer.values.get("learning")
        if isinstance(learning, Mapping) and isinstance(learning.get("file"), str):
            path, is_found = Path(learning["file"]), layer.found
    return path, is_found


def from_environ(environ: Mapping[str, str], faults: list[Fault]) -> Iterator[Layer]:
    """One layer per ETHOGRAM_ variable that is set and not empty.

    A variable that is near a setting's name is a mistake. One near none is left alone: tests and
    benchmarks have some of their own.
    """
    for variable in sorted(environ):
        key = variable.removeprefix(PREFIX).lower()
        if not variable.startswith(PREFIX) or environ[variable] == "" or variable == CONFIG_VARIABLE:
            continue
        try:
            if key in CHECKS:
                yield Layer(variable, {key: _from_text(key, environ[variable], variable)})
            elif near := did_you_mean(key, CHECKS):
                faults.append(Fault(variable, 0, 0, f"unknown setting {key!r:.60}{near}"))
        except BadInput as error:
            faults += error.faults


def from_overrides(overrides: Mapping[str, Any]) -> Iterator[Layer]:
    """One layer per option that was given."""
    for name, value in overrides.items():
        if value is not None:
            yield Layer(OPTIONS.get(name, "--" + name.replace("_", "-")), {name: value})


def _with(value: Any, place: Place, new: Any) -> Any:
    """A copy of nested data with another value at a place."""
    if not place:
        return new
    first, *rest = place
    items: Any = list(value) if isinstance(value, (list, tuple)) else dict(value)
    items[first] = _with(items[first], tuple(rest), new)
    return items


def _from_text(key: str, given: str, variable: str) -> Any:
    # Lists and mappings in YAML, as in the file; one pattern, or a word, as it stands.
    default = getattr(Settings(), key)
    if isinstance(default, Mapping) or (isinstance(default, tuple) and given.startswith("[")):
        return plain(read_yaml(given, variable, BadConfig))
    if isinstance(default, tuple):
        return [given]
    if CHECKS[key] is count and given.isdecimal():
        return int(given)
    return None if given == "null" else given


def _position(node: Node | None, place: Place, *, key: bool) -> tuple[int, int]:
    """Line and column of the value at a place, or of its key; (0, 0) where there is no node."""
    spot: Node | None = node
    for part in place:
        if isinstance(node, Fields):
            spot, node = node.key(str(part)), node.get(str(part))
        elif isinstance(node, Items):
            spot = node = node.items[int(part)]
    found = spot if key else node
    return (found.line, found.column) if found is not None else (0, 0)
