"""Load settings from defaults, files, environment and caller, with the origin of each value."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import groupby, pairwise
from pathlib import Path
from shlex import quote
from typing import Any

from ..errors import BadConfig, BadInput, Fault, did_you_mean
from ..models import SEVERITIES, format_duration
from ..models.mute import Mute
from ..models.slotted import dataclass, field, replace
from .checks import MISSING, Place, Report, dotted
from .layers import (
    ADDED,
    CONFIG_VARIABLE,
    EMBEDDER_REMEDY,
    Layer,
    Refused,
    anchor,
    environ_layers,
    is_never_trusted,
    leaves_of,
    option_layers,
    outside_faults,
    read_layer,
    read_learned,
    refuse,
    refused_warning,
    tightening,
)
from .learned import LEARNED_FILE
from .mutes import read_mutes
from .settings import SETTINGS, Settings, is_duration, setting_check
from .trust import (
    CONFIG_FILE,
    HIDDEN_FILE,
    Entry,
    is_inside,
    key_of,
    read_record,
    trust_of,
    user_file,
    weakness,
)

DEFAULT = "default"
MUTES_FILE = "ethogram.mutes.yaml"


@dataclass(frozen=True, slots=True)
class Loaded:
    """The settings, and for every value ('limits.events') what set it.

    `path` is the file of the folder or the one that was named, if any; it may be refused in parts.
    """

    settings: Settings
    origins: Mapping[str, str]
    path: str | None = None
    refused: tuple[Refused, ...] = ()
    """Values in files of the folder that were not applied, since nobody has reviewed them."""
    warnings: tuple[str, ...] = ()
    """One line for each file that does not count, or not whole, and why."""
    is_discovered: bool = field(default=False, compare=False)
    """Whether nobody named the file: what lies beside it counts only where it is trusted."""
    folder: str = field(default="", compare=False)
    layers: tuple[Layer, ...] = field(default=(), repr=False, compare=False)
    learned: Path = field(default=Path(LEARNED_FILE), compare=False)
    """The file of learned parameters, which need not exist."""

    def layer_of(self, place: Place) -> Layer | None:
        """The layer whose value at a place is in force; None where it is the default."""
        return next((layer for layer in reversed(self.layers) if layer.sets(place)), None)

    def fault(self, place: Place, message: str, *, key: bool = True) -> Fault:
        """A fault where the value at a place was set: at its key or at the value."""
        layer = self.layer_of(place)
        return Fault("", 0, 0, message) if layer is None else layer.fault(place, message, key=key)

    @property
    def mutes_path(self) -> Path:
        """The file of mutes, which need not exist."""
        if self.settings.mutes is not None:
            return Path(self.settings.mutes)
        return Path(self.folder, MUTES_FILE) if self.path is None else Path(self.path).with_name(MUTES_FILE)

    def read_mutes(self) -> tuple[tuple[Mute, ...], str]:
        """The entries of the file of mutes, and a warning where it is not trusted.

        Entries of an untrusted file are marked. BadConfig carries every fault of a trusted file; an
        untrusted one is ignored where it cannot be read.
        """
        path, layer = self.mutes_path, self.layer_of(("mutes",))
        is_discovered = (
            self.is_discovered if self.settings.mutes is None or layer is None else layer.discovered
        )
        trust = trust_of(path, read_record()[0].get) if is_discovered and os.path.lexists(path) else None
        if trust is None or trust.status == "trusted":
            return read_mutes(path), ""
        remedy = _remedy(str(path), self.folder)
        try:
            entries = read_mutes(path)
        except BadInput as error:
            reason = error.faults[0].message
            return (), f"{path}: {trust.why}: ignored, it cannot be read ({reason}); {remedy}"
        warning = f"{path}: {trust.why}: what it mutes is shown as such; {remedy}" if entries else ""
        return tuple(replace(entry, untrusted=str(path)) for entry in entries), warning


def load_settings(
    path: str | Path | None = None,
    environ: Mapping[str, str] | None = None,
    overrides: Mapping[str, Any] | None = None,
    folder: str = "",
) -> Loaded:
    """Load the settings from defaults, files, environment and overrides, each over the one before.

    The files are the user's own (~/.config/ethogram/ethogram.yaml) and over it `path`, else what
    ETHOGRAM_CONFIG names, else ethogram.yaml or .ethogram.yaml in `folder` (the working directory) if there
    is one. Parameters learned from verdicts (ethogram.learned.yaml beside it) come over the file and under
    the environment. Overrides have the form of the file; None there means not set. Mappings are merged entry
    by entry; everything else is replaced whole. BadConfig carries every fault.

    Of files that were only found in the folder, and that nobody has reviewed (`ethogram config trust`), just
    `deny` and `critical_paths` count, added to those of the other layers. All else is in `refused`, with a
    line in `warnings`; such files never raise.

    >>> loaded = load_settings(environ={"ETHOGRAM_LATENESS": "30s"}, overrides={"fail_on": "high"})
    >>> [line for line in show(loaded) if line[0] in ("lateness", "fail_on")]
    [('lateness', '30s', 'ETHOGRAM_LATENESS'), ('fail_on', 'high', '--fail-on')]
    """
    record, warning = read_record()
    loader = _Loader(folder, record.get)
    loaded = loader.load(path, os.environ if environ is None else environ, overrides or {})
    return (
        replace(loaded, warnings=(warning, *loaded.warnings)) if warning and loaded.is_discovered else loaded
    )


def review_settings(folder: str = "") -> Loaded:
    """The settings of a folder as they would be if its files were trusted; BadConfig carries every fault."""
    return _Loader(folder, None).load(None, {}, {})


def find_file(path: str | Path | None, environ: Mapping[str, str], folder: str = "") -> str | None:
    """The settings file: `path`, or what ETHOGRAM_CONFIG names, or ethogram.yaml or .ethogram.yaml in the
    folder; '' is the working directory."""
    if path is not None:
        return str(path)
    names = (str(Path(folder, name)) for name in (CONFIG_FILE, HIDDEN_FILE))
    # lexists, so that a broken link is an error and not silently no file.
    existing = (name for name in names if os.path.lexists(name))
    return environ.get(CONFIG_VARIABLE) or next(existing, None)


class _Loader:
    """Reads the layers and collects faults, warnings and refused values.

    `recorded` looks a file up in the record of trusted ones; None takes every file for trusted.
    """

    def __init__(self, folder: str, recorded: Callable[[str], Entry | None] | None) -> None:
        self.folder, self.recorded = folder, recorded
        self.faults: list[Fault] = []
        self.warnings: list[str] = []
        self.refused: list[Refused] = []

    def load(
        self, path: str | Path | None, environ: Mapping[str, str], overrides: Mapping[str, Any]
    ) -> Loaded:
        """See load_settings."""
        is_discovered = path is None and not environ.get(CONFIG_VARIABLE)
        file = find_file(path, environ, self.folder)
        if is_discovered and file is not None and key_of(file) == key_of(user_file() or ""):
            file = None
        below, above = [self.user_layer()], list[Layer]()
        over = [*environ_layers(environ, self.faults), *option_layers(overrides)]
        if file is not None and is_discovered:
            layer, is_trusted = self.discovered_layer(file)
            (below if is_trusted else above).append(layer)
        elif file is not None:
            below.append(read_layer(file, self.faults))
        learned = Path(self.folder, LEARNED_FILE) if file is None else Path(file).with_name(LEARNED_FILE)
        is_named = False
        for layer in (*below, *over):
            learning = layer.values.get("learning")
            if isinstance(learning, Mapping) and isinstance(learning.get("file"), str):
                # In a file that was itself only found, `learning.file` names nothing.
                learned, is_named = Path(learning["file"]), not layer.discovered
        if is_discovered and not is_named and os.path.lexists(learned):
            below.append(self.reviewed(str(learned), read_learned)[0])
        else:
            below.append(read_learned(str(learned), self.faults))
        layers = [layer for layer in (*below, *over, *above) if layer.values]
        settings, origins = self.merge(layers)
        loaded = Loaded(
            settings,
            origins,
            file,
            tuple(self.refused),
            tuple(self.warnings),
            is_discovered,
            self.folder,
            tuple(layers),
            learned,
        )
        if faults := list(_weight_faults(loaded)):
            raise BadConfig(faults)
        return loaded

    def user_layer(self) -> Layer:
        """The layer of the user's own file; its paths are resolved from its folder."""
        path = user_file()
        if path is None or not os.path.lexists(path):
            return Layer("", {})
        if weak := weakness(path, writable=0o002):
            self.warnings.append(f"{path}: {weak}: ignored")
            return Layer("", {})
        return anchor(read_layer(str(path), self.faults), str(path.parent))

    def discovered_layer(self, file: str) -> tuple[Layer, bool]:
        """The layer of a settings file found in the folder, and whether the file is trusted."""
        if not is_inside(Path(file), Path(file).parent):
            remedy = _remedy(file, self.folder)
            self.warnings.append(f"{file}: links to a file outside its folder: ignored; {remedy}")
            return Layer(file, {}), False
        layer, is_trusted = self.reviewed(file, read_layer)
        if not is_trusted:
            return layer, False
        layer = replace(anchor(layer, self.folder), discovered=True)
        self.faults += outside_faults(layer, file) if layer.values else ()
        return layer, True

    def reviewed(self, file: str, read: Callable[[str, list[Fault]], Layer]) -> tuple[Layer, bool]:
        """The layer of a file found in the folder, or what counts of one that is not trusted."""
        trust = trust_of(file, self.recorded)
        if trust.status == "trusted":
            return read(file, self.faults), True
        remedy = _remedy(file, self.folder)
        faults: list[Fault] = []
        layer = read(file, faults)
        if faults:
            message = f"{trust.why}: ignored, it cannot be read: {faults[0].message}; {remedy}"
            self.warnings.append(str(replace(faults[0], message=message)))
            return Layer(file, {}), False
        tight, refused = tightening(layer, faults), refuse(layer, trust.why)
        self.warnings += map(str, faults)
        if refused:
            self.refused += refused
            for never, some in groupby(sorted(refused, key=is_never_trusted), is_never_trusted):
                how = EMBEDDER_REMEDY if never else remedy
                self.warnings.append(refused_warning(file, trust.why, list(some), how))
        return tight, False

    def merge(self, layers: Iterable[Layer]) -> tuple[Settings, dict[str, str]]:
        """Check the layers and put one over the other; BadConfig carries every fault."""
        default, more = Settings(), 0
        values = {name: getattr(default, name) for name in SETTINGS}
        origins = {key: DEFAULT for key, _ in leaves(default)}
        for layer in layers:
            report = Report()
            for name, raw in layer.values.items():
                if name not in SETTINGS:
                    report.add(
                        (name,), f"unknown setting {name!r:.60}{did_you_mean(name, SETTINGS)}", key=True
                    )
                    continue
                value = setting_check(name)(raw, (name,), report)
                if value is MISSING or value == {}:
                    continue
                own = {dotted(place): layer.origin(place) for place, _ in leaves_of((name,), value)}
                if layer.discovered and name in ADDED and values[name]:
                    # A folder must not be able to drop the paths that the user protects.
                    value = tuple(dict.fromkeys((*values[name], *value)))
                    own = {name: f"{origins[name]}, {own[name]}"}
                origins.pop(name, None)
                origins |= own
                values[name] = _merged(values[name], value)
            self.faults += report.located(layer.name, layer.node)
            more += report.more
        if self.faults:
            raise BadConfig(self.faults, more=more)
        return Settings(**values), origins


def _remedy(file: str, folder: str) -> str:
    named = f" {quote(folder)}" if folder else ""
    explicit = f", or pass --config {quote(file)}" if Path(file).name in (CONFIG_FILE, HIDDEN_FILE) else ""
    return f"review it and run 'ethogram config trust{named}'{explicit}"


def _weight_faults(loaded: Loaded) -> Iterator[Fault]:
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


def leaves(settings: Settings) -> Iterator[tuple[str, Any]]:
    """Every single value with its dotted name, in the form of the file."""
    for name in SETTINGS:
        for place, value in leaves_of((name,), getattr(settings, name)):
            if isinstance(value, int) and is_duration(place):
                yield dotted(place), format_duration(value)
            else:
                yield dotted(place), list(value) if isinstance(value, tuple) else value


def default_settings() -> dict[str, Any]:
    """The defaults in the form of the file.

    >>> default_settings()["lateness"], default_settings()["risk"]["half_life"]
    ('0s', '1w')
    """
    whole: dict[str, Any] = {}
    for key, value in leaves(Settings()):
        *above, last = key.split(".")
        section = whole
        for name in above:
            section = section.setdefault(name, {})
        section[last] = value
    return whole


def _merged(before: Any, over: Any) -> Any:
    if not isinstance(over, Mapping):
        return over
    return {**before, **{key: _merged(before.get(key, {}), value) for key, value in over.items()}}
