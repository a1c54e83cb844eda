"""Loading: the layers of settings, one over the other, and where each value came from."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from ..errors import BadConfig, Fault
from ..records import format_duration
from .checks import CHECKS, MISSING, Place, Report, duration, unknown_key
from .layers import Layer, find_file, from_environ, from_file, from_overrides
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
    working directory) if there is one. Overrides have the form of the file; None there means not given.
    Entries of a mapping are laid over each other one by one; everything else is replaced whole. BadConfig
    carries every fault.

    >>> loaded = load_settings(environ={"ETHOGRAM_LATENESS": "30s"}, overrides={"fail_on": "high"})
    >>> [line for line in show(loaded) if line[0] in ("lateness", "fail_on")]
    [('lateness', '30s', 'ETHOGRAM_LATENESS'), ('fail_on', 'high', '--fail-on')]
    """
    environ = os.environ if environ is None else environ
    file = find_file(path, environ, folder)
    faults: list[Fault] = []
    layers = [*from_file(file, faults), *from_environ(environ, faults), *from_overrides(overrides or {})]
    loaded, more = Loaded(Settings(), {key: DEFAULT for key, _ in _leaves(Settings())}, file), 0
    for layer in layers:
        report = Report()
        for name, value in _checked(layer, report):
            loaded = _lay(loaded, layer, name, value)
        faults += [layer.fault(place, message, key=key) for place, key, message in report.found]
        more += report.more
    if faults:
        raise BadConfig(faults, more=more)
    return replace(loaded, layers=tuple(layers))


def show(loaded: Loaded) -> list[tuple[str, Any, str]]:
    """Every value with its dotted name and its origin, as `ethogram config show` lists them."""
    return [(key, value, loaded.origins[key]) for key, value in _leaves(loaded.settings)]


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


def _leaves(settings: Settings) -> Iterator[tuple[str, Any]]:
    for one in fields(settings):
        value = getattr(settings, one.name)
        if CHECKS[one.name] is duration:
            value = format_duration(value)
        if one.name == "conversation" and "half_life" in value:
            value = {**value, "half_life": format_duration(value["half_life"])}
        found = [(_dotted(place), _at(value, place[1:])) for place in _places((one.name,), value)]
        yield from found or [(one.name, value)]


def _places(place: Place, value: Any) -> Iterator[Place]:
    """Where the single values are: an empty mapping has none."""
    if not isinstance(value, Mapping):
        yield place
        return
    for key, item in value.items():
        yield from _places((*place, key), item)


def _at(value: Any, place: Place) -> Any:
    for key in place:
        value = value[key]
    return list(value) if isinstance(value, tuple) else value


def _dotted(place: Place) -> str:
    return ".".join(map(str, place))
