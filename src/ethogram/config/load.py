"""Loading: the layers of settings, one over the other, and where each value came from."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from itertools import pairwise
from pathlib import Path
from shlex import quote
from typing import Any

from ..errors import BadConfig, BadInput, Fault
from ..records import LEVELS, format_duration
from ..records.mute import Mute
from .checks import CHECKS, MISSING, Place, Report, is_duration, unknown_key
from .layers import (
    CONFIG_VARIABLE,
    Layer,
    anchored,
    find_file,
    from_environ,
    from_file,
    from_learned,
    from_overrides,
    from_user,
    learned_path,
    outside_faults,
)
from .learned import LEARNED_FILE
from .mutes import read_mutes
from .settings import Settings
from .trust import CONFIG_FILE, HIDDEN_FILE, Entry, is_inside, key_of, read_record, trust_of, user_file
from .untrusted import COUNTS, Refused, refuse, tightening, warning

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
        last = next((one for one in reversed(self.layers) if one.says(("mutes",))), None)
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
        return tuple(replace(one, untrusted=str(path)) for one in entries), said


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

    Of files that were only found in the folder, and that nobody has reviewed (`ethogram trust`), just `deny`
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
        own = [replace(anchored(one, folder), found=True) for one in from_file(file, faults)]
        faults += [fault for one in own for fault in outside_faults(one, file)]
        return own, [], ()
    wrong: list[Fault] = []
    read = list(from_file(file, wrong))
    if wrong:
        why = f"{trust.why}: ignored, it cannot be read: {wrong[0].message}"
        warnings.append(str(replace(wrong[0], message=f"{why}; {_remedy(file, folder)}")))
        return [], [], ()
    counts = [tightening(one, wrong) for one in read]
    refused = tuple(value for one in read for value in refuse(one, trust.why))
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
    refused = tuple(value for one in read for value in refuse(one, trust.why))
    if refused:
        warnings.append(warning(str(path), trust.why, refused, _remedy(str(path), folder)))
    return [], refused


def _remedy(file: str, folder: str) -> str:
    named = f" {quote(folder)}" if folder else ""
    explicit = f", or pass --config {quote(file)}" if Path(file).name in FOLDER_FILES else ""
    return f"review it and run 'ethogram trust{named}'{explicit}"


def weight_faults(loaded: Loaded) -> Iterator[Fault]:
    """Levels that weigh less than a lighter one: a detection that grows graver would then lower a risk."""
    weights = loaded.settings.risk["weights"]
    for lighter, graver in pairwise(LEVELS):
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
    for one in fields(settings):
        value = getattr(settings, one.name)
        found = [(_dotted(place), _told(value, place)) for place in _places((one.name,), value)]
        yield from found or [(one.name, value)]


def _places(place: Place, value: Any) -> Iterator[Place]:
    """Where the single values are: a setting that is an empty mapping has none."""
    if not isinstance(value, Mapping) or (len(place) > 1 and not value):
        yield place
        return
    for key, item in value.items():
        yield from _places((*place, key), item)


def _told(value: Any, place: Place) -> Any:
    """The value at a place of a setting, as the file would give it."""
    found = _at(value, place[1:])
    return format_duration(found) if is_duration(place) and isinstance(found, int) else found


def _at(value: Any, place: Place) -> Any:
    for key in place:
        value = value[key]
    return list(value) if isinstance(value, tuple) else value


def _dotted(place: Place) -> str:
    return ".".join(map(str, place))
