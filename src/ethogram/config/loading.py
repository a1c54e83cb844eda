"""Load settings from file, learned file, environment and caller, with the origin of each value."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import pairwise
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

from ..errors import BadConfig, BadInput, Fault, did_you_mean
from ..language.yaml_source import Fields, Items, Node, plain, read_yaml, read_yaml_file
from ..models import SEVERITIES, format_duration
from ..models.mute import Mute
from ..models.record import Record
from ..models.redaction import mask
from .checks import MISSING, VARIABLE, Place, Report, bad_option_name, count, unknown_key
from .learned import LEARNED_FILE, unknown_keys
from .mutes import read_mutes
from .settings import CHECKS, Settings, is_duration
from .trust import (
    CONFIG_FILE,
    HIDDEN_FILE,
    Entry,
    is_inside,
    key_of,
    path_values,
    read_record,
    trust_of,
    used_files,
    user_file,
    weakness,
)

if TYPE_CHECKING:
    from ..fields import Name


# Layers: what the file, the environment and the caller each say, as plain data that knows its place.

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
    if parameters := plain(node).get("parameters"):
        yield Layer(str(path), {"parameters": parameters}, node)


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
    for item in used_files(file):
        if not is_inside(item, folder):
            yield Fault(str(item), 0, 0, f"links to a file outside the folder of {Path(file).name}")


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


def _from_text(key: str, text: str, variable: str) -> Any:
    # Lists and mappings in YAML, as in the file; one pattern, or a word, as it stands.
    default = getattr(Settings(), key)
    if isinstance(default, Mapping) or (isinstance(default, tuple) and text.startswith("[")):
        return plain(read_yaml(text, variable, BadConfig))
    if isinstance(default, tuple):
        return [text]
    if CHECKS[key] is count and text.isdecimal():
        return int(text)
    return None if text == "null" else text


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


# What counts of settings found in a folder that nobody has reviewed: what tightens, and nothing else.
#
# A cloned repository must not choose an evaluator, speak through a pattern, allow paths or turn the hook off.
# It may only name more paths to keep away from.

COUNTS = ("deny", "critical_paths")
"""Settings that count in a file that is not trusted: they are added to those of the other layers."""
MAX_GLOBS = 32
MAX_GLOB = 100
MAX_WILDCARDS = 3
GLOB = re.compile(r"[A-Za-z0-9._/*?~+@=-]+")
"""A path, not a sentence: hooks show globs to agents."""
SHOWN = 8
HIDDEN = "(not shown)"


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


def tightening(layer: Layer, faults: list[Fault]) -> Layer:
    """The layer with the globs that count alone; what is wrong with the others goes to `faults`."""
    values = {name: list(_globs(layer, name, faults)) for name in COUNTS if name in layer.values}
    return Layer(layer.name, {name: globs for name, globs in values.items() if globs}, layer.node, found=True)


def refuse(layer: Layer, why: str) -> tuple[Refused, ...]:
    """Every other value of the layer, as refused. What may be a secret is not shown."""
    return tuple(
        Refused(".".join(map(str, place)), _shown(place, value), layer.origin(place), why)
        for name, content in layer.values.items()
        if name not in COUNTS
        for place, value in leaves_of((name,), content)
    )


def warning(file: str, why: str, refused: Sequence[Refused], remedy: str) -> str:
    """One line that names the file, the refused settings and what to do."""
    names = list(dict.fromkeys(".".join(item.name.split(".")[:2])[:60] for item in refused))
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return f"{file}: {why}: ignored {', '.join(names[:SHOWN])}{more}; {remedy}"


def _globs(layer: Layer, name: str, faults: list[Fault]) -> Iterator[str]:
    listed = layer.values[name]
    if not isinstance(listed, list):
        faults.append(layer.fault((name,), f"{name} must be a list, like [a, b]: ignored", key=False))
        return
    if len(listed) > MAX_GLOBS:
        message = f"{name}: only the first {MAX_GLOBS} globs count in a file that is not trusted"
        faults.append(layer.fault((name,), message, key=True))
    for number, item in enumerate(listed[:MAX_GLOBS]):
        if isinstance(item, str) and _is_plain(item):
            yield item
        else:
            message = (
                f"{name}.{number} is ignored: in a file that is not trusted a glob is a path of at most "
                f"{MAX_GLOB} plain characters with at most {MAX_WILDCARDS} wildcards"
            )
            faults.append(layer.fault((name, number), message, key=False))


def _is_plain(glob: str) -> bool:
    wildcards = len(re.findall(r"\*+", glob))
    return len(glob) <= MAX_GLOB and wildcards <= MAX_WILDCARDS and GLOB.fullmatch(glob) is not None


def leaves_of(place: Place, value: Any) -> Iterator[tuple[Place, Any]]:
    """The single values under a place; an empty mapping is one."""
    if not isinstance(value, Mapping) or not value:
        yield place, value
        return
    for key, item in value.items():
        yield from leaves_of((*place, key), item)


def _shown(place: Place, value: Any) -> Any:
    """A value as it may be shown: of evaluators' options nothing that could be a key."""
    if place[0] != "evaluators":
        return value
    name = str(place[-1])
    is_bad = any(bad_option_name(str(part)) for part in place[1:])
    if is_bad or len(place) < 3 or (name == "key_env" and not VARIABLE.fullmatch(str(value))):
        return HIDDEN
    if isinstance(value, str):
        return re.sub(r"(?<=://)[^/@\s]*@", "", mask(value))
    return value if isinstance(value, (bool, int, float)) else HIDDEN


# Loading: the layers of settings, one over the other, and where each value came from.

DEFAULT = "default"
MUTES_FILE = "ethogram.mutes.yaml"
Recorded = Callable[[str], Entry | None]
FOLDER_FILES = (CONFIG_FILE, HIDDEN_FILE)


@dataclass(frozen=True, slots=True)
class Loaded:
    """The settings, and for every value ('limits.events') what set it.

    `path` is the file of the folder or the one that was named, if any; it may be refused in parts.
    """

    settings: Settings
    origins: Mapping[str, str]
    path: str | None = None
    refused: tuple[Refused, ...] = ()
    """Values that were found in the folder and not applied, since nobody has reviewed them."""
    warnings: tuple[str, ...] = ()
    """One line for each file that does not count, or not whole, and why."""
    is_trusted: bool = True
    """Whether the file at `path` counts whole."""
    is_found: bool = field(default=False, compare=False)
    """Whether nobody named the file: what lies beside it counts only where it is trusted."""
    folder: str = field(default="", compare=False)
    layers: tuple[Layer, ...] = field(default=(), repr=False, compare=False)
    learned: Path = field(default=Path(LEARNED_FILE), compare=False)
    """The file of what was learned, which need not be there."""

    def fault(self, place: Place, message: str, *, key: bool = True) -> Fault:
        """A fault at the layer that has the last word on a place, in its key or in its value."""
        for layer in reversed(self.layers):
            if layer.says(place):
                return layer.fault(place, message, key=key)
        return Fault("", 0, 0, message)

    @property
    def mutes_path(self) -> Path:
        """The file of mutes, which need not be there."""
        if self.settings.mutes is not None:
            return Path(self.settings.mutes)
        return Path(self.folder, MUTES_FILE) if self.path is None else Path(self.path).with_name(MUTES_FILE)

    def read_mutes(self) -> tuple[tuple[Mute, ...], str]:
        """The entries of the file of mutes, and a warning where it is not trusted.

        Those of a file that is not trusted say so. BadConfig carries every fault of one that is; one that is
        not is left out where it cannot be read.
        """
        path = self.mutes_path
        last = next((layer for layer in reversed(self.layers) if layer.says(("mutes",))), None)
        is_found = self.is_found if self.settings.mutes is None or last is None else last.found
        trust = trust_of(path, read_record()[0].get) if is_found and os.path.lexists(path) else None
        if trust is None or trust.status == "trusted":
            return read_mutes(path), ""
        remedy = _remedy(str(path), self.folder)
        try:
            entries = read_mutes(path)
        except BadInput as error:
            return (
                (),
                f"{path}: {trust.why}: ignored, it cannot be read ({error.faults[0].message}); {remedy}",
            )
        said = f"{path}: {trust.why}: what it mutes is shown as such; {remedy}" if entries else ""
        return tuple(replace(entry, untrusted=str(path)) for entry in entries), said


def load_settings(
    path: str | Path | None = None,
    environ: Mapping[str, str] | None = None,
    overrides: Mapping[str, Any] | None = None,
    folder: str = "",
) -> Loaded:
    """The settings from defaults, files, environment and overrides, each over the one before.

    The files are the user's own (~/.config/ethogram/ethogram.yaml) and over it `path`, else what
    ETHOGRAM_CONFIG names, else ethogram.yaml or .ethogram.yaml in `folder` (the working directory) if there
    is one. What was learned from verdicts (ethogram.learned.yaml beside it) lies over the file, and under the
    environment. Overrides have the form of the file; None there means not given. Entries of a mapping are
    laid over each other one by one; everything else is replaced whole. BadConfig carries every fault.

    Of files that were only found in the folder, and that nobody has reviewed (`config trust`), just `deny`
    and `critical_paths` count, added to what the rest comes to. All else is in `refused`, and a line about it
    in `warnings`; such files never raise.

    >>> loaded = load_settings(environ={"ETHOGRAM_LATENESS": "30s"}, overrides={"fail_on": "high"})
    >>> [line for line in show(loaded) if line[0] in ("lateness", "fail_on")]
    [('lateness', '30s', 'ETHOGRAM_LATENESS'), ('fail_on', 'high', '--fail-on')]
    """
    record, said = read_record()
    loaded = _load(path, os.environ if environ is None else environ, overrides, folder, record.get)
    return replace(loaded, warnings=(said, *loaded.warnings)) if said and loaded.is_found else loaded


def review_settings(folder: str = "") -> Loaded:
    """The settings of a folder as they would be if its files were trusted; BadConfig carries every fault."""
    return _load(None, {}, None, folder, None)


def _load(
    path: str | Path | None,
    environ: Mapping[str, str],
    overrides: Mapping[str, Any] | None,
    folder: str,
    recorded: Recorded | None,
) -> Loaded:
    """See load_settings. `recorded` looks files up in the record of trusted ones; None: all are trusted."""
    is_found = path is None and not environ.get(CONFIG_VARIABLE)
    file = find_file(path, environ, folder)
    if is_found and file is not None and key_of(file) == key_of(user_file() or ""):
        file = None
    faults: list[Fault] = []
    warnings: list[str] = []
    user = list(from_user(faults, warnings))
    over = [*from_environ(environ, faults), *from_overrides(overrides or {})]
    if is_found and file is not None:
        own, last, refused = _from_found(file, folder, recorded, faults, warnings)
    else:
        own, last, refused = list(from_file(file, faults)), [], ()
    learned, was_found = learned_path([*user, *own, *over], file, folder)
    needs_trust = recorded if is_found and was_found else None
    learnt, also = _learned(learned, folder, needs_trust, faults, warnings)
    layers = [*user, *own, *learnt, *over, *last]
    loaded, more = Loaded(Settings(), {key: DEFAULT for key, _ in leaves(Settings())}, file), 0
    for layer in layers:
        report = Report()
        for name, value in _checked(layer, report):
            loaded = _lay(loaded, layer, name, value)
        faults += [layer.fault(place, message, key=key) for place, key, message in report.found]
        more += report.more
    if faults:
        raise BadConfig(faults, more=more)
    loaded = replace(
        loaded,
        layers=tuple(layers),
        learned=learned,
        refused=(*refused, *also),
        warnings=tuple(warnings),
        is_trusted=not is_found or file is None or (bool(own) and own[0].found),
        is_found=is_found,
        folder=folder,
    )
    if faults := list(weight_faults(loaded)):
        raise BadConfig(faults)
    return loaded


def _from_found(
    file: str, folder: str, recorded: Recorded | None, faults: list[Fault], warnings: list[str]
) -> tuple[list[Layer], list[Layer], tuple[Refused, ...]]:
    """A file found in the folder: the layer of a trusted one; else the layer of what counts, and the rest."""
    if not is_inside(Path(file), Path(file).parent):
        warnings.append(f"{file}: links to a file outside its folder: ignored; {_remedy(file, folder)}")
        return [], [], ()
    trust = trust_of(file, recorded)
    if trust.status == "trusted":
        own = [replace(anchored(item, folder), found=True) for item in from_file(file, faults)]
        faults += [fault for item in own for fault in outside_faults(item, file)]
        return own, [], ()
    wrong: list[Fault] = []
    read = list(from_file(file, wrong))
    if wrong:
        why = f"{trust.why}: ignored, it cannot be read: {wrong[0].message}"
        warnings.append(str(replace(wrong[0], message=f"{why}; {_remedy(file, folder)}")))
        return [], [], ()
    counts = [tightening(item, wrong) for item in read]
    refused = tuple(value for item in read for value in refuse(item, trust.why))
    warnings += map(str, wrong)
    if refused:
        warnings.append(warning(file, trust.why, refused, _remedy(file, folder)))
    return [], counts, refused


def _learned(
    path: Path, folder: str, recorded: Recorded | None, faults: list[Fault], warnings: list[str]
) -> tuple[list[Layer], tuple[Refused, ...]]:
    """The layer of what was learned, or what of it is refused. `recorded` is None where it was named."""
    if recorded is None or not os.path.lexists(path):
        return list(from_learned(path, faults)), ()
    trust = trust_of(path, recorded)
    if trust.status == "trusted":
        return list(from_learned(path, faults)), ()
    wrong: list[Fault] = []
    read = list(from_learned(path, wrong))
    if wrong:
        warnings.append(f"{path}: {trust.why}: ignored, it cannot be read; {_remedy(str(path), folder)}")
        return [], ()
    refused = tuple(value for item in read for value in refuse(item, trust.why))
    if refused:
        warnings.append(warning(str(path), trust.why, refused, _remedy(str(path), folder)))
    return [], refused


def _remedy(file: str, folder: str) -> str:
    named = f" {quote(folder)}" if folder else ""
    explicit = f", or pass --config {quote(file)}" if Path(file).name in FOLDER_FILES else ""
    return f"review it and run 'ethogram config trust{named}'{explicit}"


def weight_faults(loaded: Loaded) -> Iterator[Fault]:
    """Severities that weigh less than a lower one: a detection that rises would then lower a risk."""
    weights = loaded.settings.risk["weights"]
    for lighter, graver in pairwise(SEVERITIES):
        if weights[graver] < weights[lighter]:
            wrong = graver if loaded.origins[f"risk.weights.{graver}"] != DEFAULT else lighter
            message = (
                f"risk.weights: {graver} ({weights[graver]:g}) must not weigh less than {lighter} "
                f"({weights[lighter]:g})"
            )
            yield loaded.fault(("risk", "weights", wrong), message)


def show(loaded: Loaded) -> list[tuple[str, Any, str]]:
    """Every value with its dotted name and its origin, as `ethogram config show` lists them."""
    return [(key, value, loaded.origins[key]) for key, value in leaves(loaded.settings)]


def _checked(layer: Layer, report: Report) -> Iterator[tuple[str, Any]]:
    for name, value in layer.values.items():
        if name not in CHECKS:
            unknown_key(name, (), CHECKS, report)
        elif (checked := CHECKS[name](value, (name,), report)) is not MISSING:
            yield name, checked


def _lay(loaded: Loaded, layer: Layer, name: str, value: Any) -> Loaded:
    current = getattr(loaded.settings, name)
    said = {_dotted(place): layer.origin(place) for place in _places((name,), value)}
    if layer.found and name in COUNTS:
        # A folder must not be able to drop what the user keeps away from.
        value = tuple(dict.fromkeys((*current, *value)))
        said = {name: f"{loaded.origins[name]}, {said[name]}"} if current else said
    changes = {name: _merge(current, value)}
    settings: Settings = replace(loaded.settings, **changes)
    before = {key: origin for key, origin in loaded.origins.items() if key != name or not said}
    return replace(loaded, settings=settings, origins={**before, **said})


def _merge(before: Any, over: Any) -> Any:
    if not isinstance(over, Mapping):
        return over
    return {**before, **{key: _merge(before.get(key, {}), value) for key, value in over.items()}}


def leaves(settings: Settings) -> Iterator[tuple[str, Any]]:
    """Every single value with its dotted name, as the file would give it."""
    for item in fields(settings):
        value = getattr(settings, item.name)
        found = [(_dotted(place), _told(value, place)) for place in _places((item.name,), value)]
        yield from found or [(item.name, value)]


def default_settings() -> dict[str, Any]:
    """Every setting as the file would give it if it said nothing new.

    >>> default_settings()["lateness"], default_settings()["risk"]["half_life"]
    ('0s', '1w')
    """
    whole: dict[str, Any] = {}
    for key, value in leaves(Settings()):
        *above, last = key.split(".")
        here = whole
        for name in above:
            here = here.setdefault(name, {})
        here[last] = value
    return whole


def _places(place: Place, value: Any) -> Iterator[Place]:
    """Where the single values are: a setting that is an empty mapping has none."""
    if not isinstance(value, Mapping) or (len(place) > 1 and not value):
        yield place
        return
    for key, item in value.items():
        yield from _places((*place, key), item)


def _told(value: Any, place: Place) -> Any:
    """The value at a place of a setting, as the file would give it."""
    result = _at(value, place[1:])
    return format_duration(result) if is_duration(place) and isinstance(result, int) else result


def _at(value: Any, place: Place) -> Any:
    for key in place:
        value = value[key]
    return list(value) if isinstance(value, tuple) else value


def _dotted(place: Place) -> str:
    return ".".join(map(str, place))
