"""Loading: the layers of settings, one over the other, and where each value came from."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from ..errors import BadConfig, Fault
from ..records import LEVELS, format_duration
from .checks import CHECKS, MISSING, Place, Report, is_duration, unknown_key
from .layers import Layer, find_file, from_environ, from_file, from_learned, from_overrides, learned_path
from .learned import LEARNED_FILE
from .settings import Settings

DEFAULT = "default"
MUTES_FILE = "ethogram.mutes.yaml"


@dataclass(frozen=True, slots=True)
class Loaded:
    """The settings, and for every value ('limits.events') what set it. `path` is the file read, if any."""

    settings: Settings
    origins: Mapping[str, str]
    path: str | None = None
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
        return Path(self.path or MUTES_FILE).with_name(MUTES_FILE)


def load_settings(
    path: str | Path | None = None,
    environ: Mapping[str, str] | None = None,
    overrides: Mapping[str, Any] | None = None,
    folder: str = "",
) -> Loaded:
    """The settings from defaults, file, environment and overrides, each over the one before.

    The file is `path`, else what ETHOGRAM_CONFIG names, else ethogram.yaml or .ethogram.yaml in `folder` (the
    working directory) if there is one. What was learned from verdicts (ethogram.learned.yaml beside it) lies
    over the file, and under the environment. Overrides have the form of the file; None there means not given.
    Entries of a mapping are laid over each other one by one; everything else is replaced whole. BadConfig
    carries every fault.

    >>> loaded = load_settings(environ={"ETHOGRAM_LATENESS": "30s"}, overrides={"fail_on": "high"})
    >>> [line for line in show(loaded) if line[0] in ("lateness", "fail_on")]
    [('lateness', '30s', 'ETHOGRAM_LATENESS'), ('fail_on', 'high', '--fail-on')]
    """
    environ = os.environ if environ is None else environ
    file = find_file(path, environ, folder)
    faults: list[Fault] = []
    own = list(from_file(file, faults))
    over = [*from_environ(environ, faults), *from_overrides(overrides or {})]
    learned = learned_path([*own, *over], file, folder)
    layers = [*own, *from_learned(learned, faults), *over]
    loaded, more = Loaded(Settings(), {key: DEFAULT for key, _ in leaves(Settings())}, file), 0
    for layer in layers:
        report = Report()
        for name, value in _checked(layer, report):
            loaded = _lay(loaded, layer, name, value)
        faults += [layer.fault(place, message, key=key) for place, key, message in report.found]
        more += report.more
    if faults:
        raise BadConfig(faults, more=more)
    loaded = replace(loaded, layers=tuple(layers), learned=learned)
    if faults := list(weight_faults(loaded)):
        raise BadConfig(faults)
    return loaded


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
    changes = {name: _merge(getattr(loaded.settings, name), value)}
    settings: Settings = replace(loaded.settings, **changes)
    said = {_dotted(place): layer.origin(place) for place in _places((name,), value)}
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
