"""Whether what the settings say of patterns and signals fits the library, told where the settings say it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from ..config import Loaded
from ..errors import BadConfig, BadInput, Fault, did_you_mean
from ..shapes.yaml import Fields, read_yaml_file
from .load import places_of
from .vocabulary import load_vocabulary


def check_names(loaded: Loaded) -> None:
    """BadConfig for declared signals that contradict what is known, and misspelt signals of scorers."""
    settings = loaded.settings
    if not settings.signals and not settings.scorers:
        return
    if faults := sorted([*_contradictions(loaded), *_misspelt(loaded)]):
        raise BadConfig(faults)


def check_patterns(loaded: Loaded, selectors: Sequence[str | Path] | None = None) -> None:
    """BadConfig for files that are not there, and for overlays of patterns or parameters that are not."""
    settings = loaded.settings
    faults = [
        loaded.fault(("patterns", number), f"no such file or folder: {one!r:.200}", key=False)
        for number, one in enumerate(settings.patterns)
        if not Path(one).exists()
    ]
    if not faults and (settings.parameters or settings.status):
        places = places_of(settings.patterns, selectors or ())
        faults = [*_unknown_patterns(loaded, places), *_unknown_parameters(loaded, places)]
    if faults:
        raise BadConfig(sorted(faults))


def _contradictions(loaded: Loaded) -> Iterator[Fault]:
    for name, kind in loaded.settings.signals.items():
        try:
            load_vocabulary({name: kind})
        except BadConfig as error:
            yield from (loaded.fault(("signals", name), one.message) for one in error.faults)


def _misspelt(loaded: Loaded) -> Iterator[Fault]:
    known = load_vocabulary()
    names = {*known.signals, *known.indicators, *loaded.settings.signals, "*"}
    for name in loaded.settings.scorers:
        # Examples of a pattern may declare any name: only one that is nearly another is a mistake.
        if name not in names and (near := did_you_mean(name, names)):
            message = f"unknown signal {name!r:.60}{near} (one of your own: declare it under signals:)"
            yield loaded.fault(("scorers", name), message)


def _unknown_patterns(loaded: Loaded, places: Mapping[str, Path]) -> Iterator[Fault]:
    settings = loaded.settings
    for setting, named in (("parameters", settings.parameters), ("status", settings.status)):
        for name in named:
            if name not in places:
                message = f"no pattern is named {name!r:.80}{did_you_mean(name, places)}"
                yield loaded.fault((setting, name), message)


def _unknown_parameters(loaded: Loaded, places: Mapping[str, Path]) -> Iterator[Fault]:
    for pattern, numbers in loaded.settings.parameters.items():
        known = _parameters(places[pattern]) if pattern in places else None
        for name in numbers if known is not None else ():
            if name not in (known or ()):
                message = f"pattern {pattern!r} has no parameter {name!r:.80}{_hint(name, known or [])}"
                yield loaded.fault(("parameters", pattern, name), message)


def _hint(name: str, known: Sequence[str]) -> str:
    if not known:
        return "; it has none"
    return did_you_mean(name, known) or f"; it has {', '.join(known[:8])}"


def _parameters(path: Path) -> list[str] | None:
    """The names of a pattern's parameters; None where its file is so wrong that reading it tells more."""
    try:
        node = read_yaml_file(path)
    except BadInput:
        return None
    found = node.get("parameters") if isinstance(node, Fields) else None
    if found is None:
        return []
    return [key.text for key, _ in found.entries] if isinstance(found, Fields) else None
