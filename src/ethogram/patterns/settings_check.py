"""Check the names of patterns, parameters and signals in the settings against the library."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from ..config import Loaded
from ..errors import BadConfig, BadInput, BadPattern, Fault, did_you_mean
from ..language.vocabulary import Vocabulary
from ..language.yaml_source import Fields, read_yaml_file
from .catalogue import load_vocabulary
from .library import load_patterns, matching, multipliers_of, not_found, places_of


def check_names(loaded: Loaded) -> None:
    """Raise BadConfig for declared signals that contradict known ones, and misspelt signals of scorers."""
    settings = loaded.settings
    if not settings.signals and not settings.scorers:
        return
    if faults := sorted([*_contradictions(loaded), *_misspelt(loaded)]):
        raise BadConfig(faults)


def check_patterns(loaded: Loaded, selectors: Sequence[str | Path] | None = None) -> None:
    """Raise BadConfig for unknown files, patterns, parameters and causes."""
    settings = loaded.settings
    faults = [
        loaded.fault(("patterns", number), f"no such file or folder: {pattern!r:.200}", key=False)
        for number, pattern in enumerate(settings.patterns)
        if not Path(pattern).exists()
    ]
    risk = settings.risk
    named = settings.parameters or settings.status or settings.enabled_patterns
    if not faults and (named or risk["multipliers"] or risk["half_lives"]):
        places = places_of(settings.patterns, selectors or ())
        faults = [
            *_unknown_patterns(loaded, places),
            *_unknown_parameters(loaded, places),
            *_unknown_selectors(loaded, places),
            *_unknown_risks(loaded),
        ] or list(_impossible_parameters(loaded))
    if faults:
        raise BadConfig(sorted(faults))


def _contradictions(loaded: Loaded) -> Iterator[Fault]:
    for name, kind in loaded.settings.signals.items():
        try:
            load_vocabulary({name: kind})
        except BadConfig as error:
            yield from (loaded.fault(("signals", name), fault.message) for fault in error.faults)


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


def _unknown_selectors(loaded: Loaded, places: Mapping[str, Path]) -> Iterator[Fault]:
    for number, pattern in enumerate(loaded.settings.enabled_patterns):
        known = {**places, **{path.stem: path for path in [Path(pattern)] if path.is_file()}}
        if not matching(known, pattern):
            yield loaded.fault(("enabled_patterns", number), not_found(places, pattern).message, key=False)


def _unknown_risks(loaded: Loaded) -> Iterator[Fault]:
    """Multipliers of unknown combinations, and half-lives of unknown causes."""
    risk = loaded.settings.risk
    if not risk["multipliers"] and not risk["half_lives"]:
        return
    settings = loaded.settings
    vocabulary = load_vocabulary(settings.signals)
    try:
        every = load_patterns(more=settings.patterns, vocabulary=vocabulary, any_status=True).files
    except BadInput:
        return  # running the patterns reports what is wrong with them
    combined = multipliers_of(every)
    causes = {pattern.cause or file.name for file in every.values() for pattern in file.patterns}
    for name in risk["multipliers"]:
        if name not in combined:
            message = f"no combination is named {name!r:.80}{did_you_mean(name, combined)}"
            yield loaded.fault(("risk", "multipliers", name), message)
    for name in risk["half_lives"]:
        if name not in causes:
            message = f"no pattern names a cause {name!r:.80}{did_you_mean(name, causes)}"
            yield loaded.fault(("risk", "half_lives", name), message)


def _unknown_parameters(loaded: Loaded, places: Mapping[str, Path]) -> Iterator[Fault]:
    for pattern, numbers in loaded.settings.parameters.items():
        known = _parameters(places[pattern]) if pattern in places else None
        for name in numbers if known is not None else ():
            if name not in (known or ()):
                message = f"pattern {pattern!r} has no parameter {name!r:.80}{_hint(name, known or [])}"
                yield loaded.fault(("parameters", pattern, name), message)


def _impossible_parameters(loaded: Loaded) -> Iterator[Fault]:
    """Numbers with which a pattern is not valid any more, at the first setting that makes it so."""
    settings = loaded.settings
    vocabulary = load_vocabulary(settings.signals)
    for pattern, numbers in settings.parameters.items():
        used: dict[str, float] = {}
        for name, number in numbers.items():
            before = _faults_with(loaded, vocabulary, pattern, used)
            used[name] = number
            faults = _faults_with(loaded, vocabulary, pattern, used)
            if faults and not before:
                message = f"{pattern}.{name}: {number:g} makes the pattern impossible: {faults[0].message}"
                yield loaded.fault(("parameters", pattern, name), message, key=False)
                break


def _faults_with(
    loaded: Loaded, vocabulary: Vocabulary, pattern: str, numbers: Mapping[str, float]
) -> Sequence[Fault]:
    """What is wrong with a pattern that has these numbers."""
    more, overlay = loaded.settings.patterns, {pattern: dict(numbers)}
    try:
        load_patterns([pattern], more=more, vocabulary=vocabulary, parameters=overlay, examples=False)
    except BadPattern as error:
        return error.faults
    return ()


def _hint(name: str, known: Sequence[str]) -> str:
    if not known:
        return "; it has none"
    return did_you_mean(name, known) or f"; it has {', '.join(known[:8])}"


def _parameters(path: Path) -> list[str] | None:
    """The names of a pattern's parameters; None where its file is invalid, which loading it reports."""
    try:
        node = read_yaml_file(path)
    except BadInput:
        return None
    parameters = node.get("parameters") if isinstance(node, Fields) else None
    if parameters is None:
        return []
    return parameters.names() if isinstance(parameters, Fields) else None
