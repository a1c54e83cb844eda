"""Layers of settings: the values of one file, variable or option, with their positions.

A file that was only found in the folder, and that nobody has reviewed, must not choose an evaluator, run a
pattern, allow paths or turn the hook off: of its settings only `deny` and `critical_paths` count.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import BadConfig, BadInput, Fault, did_you_mean
from ..language.yaml_source import Fields, Node, plain, read_yaml, read_yaml_file
from ..models.constants import VARIABLE
from ..models.record import Record
from ..models.redaction import mask
from ..models.slotted import dataclass, replace
from .checks import Place, bad_option_name, count, dotted, position
from .pattern_detection import lifted
from .settings import SETTINGS, Settings, setting_check
from .trust import is_inside, path_values, used_files

if TYPE_CHECKING:
    from ..fields import Name

CONFIG_VARIABLE = "ETHOGRAM_CONFIG"
LEARNED_KEYS = ("parameters", "changes")
ADDED = ("deny", "critical_paths")
"""Settings of a file found in the folder that are added to those of other layers, trusted or not."""
MAX_GLOBS = 32
MAX_GLOB = 100
MAX_WILDCARDS = 3
MAX_NAMES = 8
HIDDEN = "(not shown)"
EMBEDDER = "conversation.embedder"
EMBEDDER_REMEDY = "name a model or a server with --embedder, in your own settings, or the file with --config"
_PREFIX = "ETHOGRAM_"
_OPTIONS = {"parameters": "--set", "scorers": "--scorer"}
"""Options that are not named like their setting."""
_GLOB = re.compile(r"[A-Za-z0-9._/*?~+@=-]+")
"""A path, not a sentence: hooks show globs to agents."""


@dataclass(frozen=True, slots=True)
class Layer:
    """The values of one source. `name` is the file, variable or option; `node` has the positions in a file.

    `discovered`: nobody named the file, it lies in the folder.
    """

    name: str
    values: Mapping[str, Any]
    node: Node | None = None
    discovered: bool = False

    def fault(self, place: Place, message: str, *, key: bool) -> Fault:
        """A fault in a value, or in its key."""
        return Fault(self.name, *position(self.node, place, key=key), message)

    def sets(self, place: Place) -> bool:
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
        line, column = position(self.node, place, key=True)
        return f"{self.name}:{line}:{column}" if line else self.name


@dataclass(frozen=True, slots=True)
class Refused(Record):
    """A setting that was found and not applied, and why."""

    RECORD = "refused"

    name: Name
    value: Any
    origin: str
    """The file with line and column."""
    why: Name
    """Why it does not count: nobody reviewed the file, or it changed since."""


def read_layer(path: str, faults: list[Fault], expected: str = "of settings, like lateness: 30s") -> Layer:
    """The layer of a file; empty where the file says nothing, or cannot be read and has a fault."""
    try:
        node = read_yaml_file(path, BadConfig)
    except BadInput as error:
        faults += error.faults
        return Layer(path, {})
    if isinstance(node, Fields):
        node = lifted(node, path, faults)
        return Layer(path, plain(node), node)
    if plain(node) is not None:
        faults.append(Fault(path, node.line, node.column, f"must be a mapping {expected}"))
    return Layer(path, {})


def read_learned(path: str, faults: list[Fault]) -> Layer:
    """The layer of the parameters that were learned from verdicts; empty where there is no file."""
    if not os.path.lexists(path):
        return Layer(path, {})
    layer = read_layer(path, faults, "with parameters and changes, as `ethogram patterns learn` writes it")
    for name in layer.values:
        if name not in LEARNED_KEYS:
            message = f"unknown key {name!r:.60}{did_you_mean(name, LEARNED_KEYS)}"
            faults.append(layer.fault((name,), message, key=True))
    parameters = layer.values.get("parameters")
    return replace(layer, values={"parameters": parameters} if parameters else {})


def environ_layers(environ: Mapping[str, str], faults: list[Fault]) -> Iterator[Layer]:
    """One layer per ETHOGRAM_ variable that is set and not empty.

    A variable that is near a setting's name is a mistake. One near none is ignored: tests and benchmarks
    have some of their own.
    """
    for variable in sorted(environ):
        key = variable.removeprefix(_PREFIX).lower()
        if not variable.startswith(_PREFIX) or environ[variable] == "" or variable == CONFIG_VARIABLE:
            continue
        try:
            if key in SETTINGS:
                yield Layer(variable, {key: _from_text(key, environ[variable], variable)})
            elif near := did_you_mean(key, SETTINGS):
                faults.append(Fault(variable, 0, 0, f"unknown setting {key!r:.60}{near}"))
        except BadInput as error:
            faults += error.faults


def option_layers(options: Mapping[str, Any]) -> Iterator[Layer]:
    """One layer per option that is not None."""
    for name, value in options.items():
        if value is not None:
            yield Layer(_OPTIONS.get(name, "--" + name.replace("_", "-")), {name: value})


def _from_text(key: str, text: str, variable: str) -> Any:
    """The value of a variable: lists and mappings in YAML, as in the file; one item of a list as it is."""
    default = getattr(Settings(), key)
    if isinstance(default, Mapping) or (isinstance(default, tuple) and text.startswith("[")):
        return plain(read_yaml(text, variable, BadConfig))
    if isinstance(default, tuple):
        return [text]
    if setting_check(key) is count and text.isdecimal():
        return int(text)
    return None if text == "null" else text


def file_values(layer: Layer, folder: Path) -> Iterator[tuple[Place, str]]:
    """Every value of a layer that names a file or folder, with its place."""
    yield from path_values(layer.values, folder)
    learning = layer.values.get("learning")
    single: dict[Place, Any] = {
        ("mutes",): layer.values.get("mutes"),
        ("answers",): layer.values.get("answers"),
        ("learning", "file"): learning.get("file") if isinstance(learning, Mapping) else None,
    }
    yield from ((place, value) for place, value in single.items() if isinstance(value, str))


def anchor(layer: Layer, folder: str) -> Layer:
    """The layer with its relative paths resolved from a folder; '' is the working directory."""
    values: Any = layer.values
    for place, value in file_values(layer, Path(folder)) if folder else ():
        values = _with(values, place, os.path.join(folder, value))  # noqa: PTH118 (texts stay as written)
    return replace(layer, values=values)


def _with(value: Any, place: Place, new: Any) -> Any:
    """A copy of nested data with another value at a place."""
    if not place:
        return new
    items: Any = list(value) if isinstance(value, (list, tuple)) else dict(value)
    items[place[0]] = _with(items[place[0]], place[1:], new)
    return items


def is_never_trusted(refused: Refused) -> bool:
    """Whether a setting of a folder's file does not count even where the file is trusted."""
    return refused.name == EMBEDDER and isinstance(refused.value, str) and ":" in refused.value


def outside_faults(layer: Layer, file: str) -> Iterator[Fault]:
    """A fault for each file or folder outside the folder that a settings file found in it names.

    And for a model or a server as embedder, wherever it is.
    """
    folder = Path(file).parent
    for place, value in file_values(layer, folder):
        if not is_inside(folder / value, folder):
            message = f"{dotted(place)} must lie inside the folder of {Path(file).name}; got {value!r:.200}"
            yield layer.fault(place, f"{message}; name the file with --config to point elsewhere", key=False)
    conversation = layer.values.get("conversation")
    embedder = conversation.get("embedder") if isinstance(conversation, Mapping) else None
    if isinstance(embedder, str) and ":" in embedder:
        # Nobody can review a model, and its digest would be that of many megabytes.
        message = f"conversation.embedder must be static or null in the folder's {Path(file).name}"
        place = ("conversation", "embedder")
        yield layer.fault(place, f"{message}; got {embedder!r:.200}; {EMBEDDER_REMEDY}", key=False)
    for item in used_files(file):
        if not is_inside(item, folder):
            yield Fault(str(item), 0, 0, f"links to a file outside the folder of {Path(file).name}")


def tightening(layer: Layer, faults: list[Fault]) -> Layer:
    """The layer with the globs alone that count in an untrusted file; `faults` are about the others."""
    values = {name: list(_globs(layer, name, faults)) for name in ADDED if name in layer.values}
    return replace(layer, values={name: globs for name, globs in values.items() if globs}, discovered=True)


def _globs(layer: Layer, name: str, faults: list[Fault]) -> Iterator[str]:
    globs = layer.values[name]
    if not isinstance(globs, list):
        faults.append(layer.fault((name,), f"{name} must be a list, like [a, b]: ignored", key=False))
        return
    if len(globs) > MAX_GLOBS:
        message = f"{name}: only the first {MAX_GLOBS} globs count in a file that is not trusted"
        faults.append(layer.fault((name,), message, key=True))
    for index, item in enumerate(globs[:MAX_GLOBS]):
        if (
            isinstance(item, str)
            and len(item) <= MAX_GLOB
            and len(re.findall(r"\*+", item)) <= MAX_WILDCARDS
            and _GLOB.fullmatch(item)
        ):
            yield item
        else:
            message = (
                f"{name}.{index} is ignored: in a file that is not trusted a glob is a path of at most "
                f"{MAX_GLOB} plain characters with at most {MAX_WILDCARDS} wildcards"
            )
            faults.append(layer.fault((name, index), message, key=False))


def refuse(layer: Layer, why: str) -> list[Refused]:
    """Every other value of an untrusted layer. Possible secrets are not shown."""
    return [
        Refused(dotted(place), _shown(place, value), layer.origin(place), why)
        for name, content in layer.values.items()
        if name not in ADDED
        for place, value in leaves_of((name,), content)
    ]


def refused_warning(file: str, why: str, refused: Sequence[Refused], remedy: str) -> str:
    """One line that names the file, the refused settings and what to do."""
    names = list(dict.fromkeys(".".join(item.name.split(".")[:2])[:60] for item in refused))
    more = f" and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else ""
    return f"{file}: {why}: ignored {', '.join(names[:MAX_NAMES])}{more}; {remedy}"


def _shown(place: Place, value: Any) -> Any:
    """A refused value as it may be shown: none of an evaluator's options that could be a key."""
    if place[0] != "evaluators":
        return value
    is_bad = any(bad_option_name(str(part)) for part in place[1:])
    if is_bad or len(place) < 3 or (place[-1] == "key_env" and not VARIABLE.fullmatch(str(value))):
        return HIDDEN
    if isinstance(value, str):
        return re.sub(r"(?<=://)[^/@\s]*@", "", mask(value))
    return value if isinstance(value, (bool, int, float)) else HIDDEN


def leaves_of(place: Place, value: Any) -> Iterator[tuple[Place, Any]]:
    """The single values under a place; an empty mapping is one."""
    if not isinstance(value, Mapping) or not value:
        yield place, value
        return
    for key, item in value.items():
        yield from leaves_of((*place, key), item)
