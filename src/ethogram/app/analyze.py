"""analyze: events in, detections out, with what was quiet and what could not be judged."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from ..config import Loaded, Settings
from ..config.mutes import read_mutes
from ..engine.detect import find
from ..errors import BadUsage
from ..ingest import Batch, Limits, OnDisk, events_of, gather_events, read_frame
from ..ingest.collector import checked_events, latest_time
from ..models import EPOCH, Event, parse_time
from ..models.detection import base_pattern
from ..patterns.catalogue import known_ranges, load_vocabulary
from ..patterns.library import Library, load_patterns, parts_of, without_combinations
from ..patterns.settings_check import check_patterns
from .mute import add_excerpts, mute
from .readings import counted_events, judged
from .result import Analysis, known_signals, strange, summed_up, unread
from .traces import Traces, trace

if TYPE_CHECKING:
    from ..evaluators.base import Evaluator
    from .evaluation.scoring import Evaluate


class ArrowStream(Protocol):
    """What pandas, Polars, pyarrow, DuckDB and others export their tables by."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object: ...


Source = str | Path | ArrowStream | Iterable[Event] | Iterable[Mapping[str, Any]]


def analyze(
    events: Source,
    patterns: Sequence[str | Path] | Library | None = None,
    *,
    as_of: datetime | str | None = None,
    settings: Settings | None = None,
    skip_bad: bool = False,
    now: datetime | None = None,
    evaluator: str | Evaluator | None = None,
    jobs: int | None = None,
) -> Analysis:
    """Look for patterns in events: Event objects, dicts as in an event line, a DataFrame, or a path to read.

    `patterns` are files, folders, names or globs; without any, those that are on by default. `as_of` is
    the moment of the question, with a time zone or as ISO text (default: the newest event). What
    `settings.mutes` mutes at the moment `now` (default: the machine's clock) is set apart, and events dated
    more than `settings.max_future` after it are refused. `evaluator` scores the messages that earn it
    first (default: the one in the settings, if any). Nothing is kept but answers that were paid for.
    `jobs` processes share the work (default: all cores where that pays); the result is the same.

    >>> analyze([], patterns=["love_bombing"]).detections
    ()
    """
    settings = settings or Settings()
    library = patterns if isinstance(patterns, Library) else load_library(patterns, settings)
    entries = read_mutes(Path(settings.mutes)) if settings.mutes else ()
    moment = moment_of(as_of)
    evaluate = _evaluate(evaluator, library, settings)
    now = now or datetime.now(UTC)
    gathered = gathered_events(events, library, settings, skip_bad, now=now, jobs=jobs)
    try:
        analysis = analyze_gathered(
            gathered, library, as_of=moment, settings=settings, evaluate=evaluate, jobs=jobs
        )
        return mute(analysis, entries, gathered.events, now=now) if entries else analysis
    finally:
        if isinstance(gathered, OnDisk):
            gathered.close()


def _evaluate(text: str | Evaluator | None, library: Library, settings: Settings) -> Evaluate | None:
    if not (text or settings.evaluator or settings.evaluators):
        return None
    from ..evaluators.base import Evaluator
    from .evaluation.scoring import Evaluate, evaluator_of, paying_for

    item = text if isinstance(text, Evaluator) else evaluator_of(settings, text)
    return None if item is None else Evaluate(item, paying=paying_for(item, settings, library))


def moment_of(value: object, name: str = "as_of") -> datetime | None:
    """The moment of a question: a datetime with a zone, or ISO text; None where none is given."""
    if isinstance(value, str):
        try:
            return parse_time(value)
        except ValueError as error:
            raise BadUsage(f"{name}: {error}") from None
    if isinstance(value, datetime) and value.tzinfo is None:
        raise BadUsage(f"{name} needs a time zone: datetime(..., tzinfo=UTC)")
    if value is None or isinstance(value, datetime):
        return value
    raise BadUsage(f"{name} takes a datetime or ISO text like 2026-01-31T12:00:00Z; here is {value!r:.80}")


def load_library(patterns: Sequence[str | Path] | str | Path | None, settings: Settings | Loaded) -> Library:
    """The patterns asked for, with the overlays of the settings.

    Where none is asked for, those of `enabled_patterns`, or all that are on. Given with their origins, a
    mistake in the settings is BadConfig that says where it was made.
    """
    chosen = [patterns] if isinstance(patterns, (str, Path)) else patterns
    if isinstance(settings, Loaded):
        check_patterns(settings, chosen)
        settings = settings.settings
    library = overlaid_patterns(settings, chosen or settings.enabled_patterns or None, examples=False)
    if chosen:
        return library
    if not settings.combination_detection:
        return without_combinations(library)
    return _with_combinations(library, settings) if settings.enabled_patterns else library


def _with_combinations(library: Library, settings: Settings) -> Library:
    """The library with the combinations of which every part is enabled by name."""
    every = overlaid_patterns(settings, any_status=True, examples=False)
    own = [
        name
        for name, file in every.files.items()
        if (parts := {base_pattern(part) for part in parts_of(file)})
        and file.status != "retired"
        and name not in library.chosen
        and parts <= {*library.chosen}
    ]
    if not own:
        return library
    return overlaid_patterns(settings, [*settings.enabled_patterns, *own], examples=False)


def overlaid_patterns(
    settings: Settings, chosen: Sequence[str | Path] | None = None, **options: Any
) -> Library:
    """Patterns with the vocabulary, parameters and status of the settings; options of `load_patterns`."""
    overlays = {"parameters": settings.parameters, "status": settings.status, **options}
    vocabulary = load_vocabulary(settings.signals)
    return load_patterns(chosen, more=settings.patterns, vocabulary=vocabulary, **overlays)


def gathered_events(
    events: Source,
    library: Library,
    settings: Settings,
    skip_bad: bool = False,
    *,
    now: datetime | None = None,
    memory: int | None = None,
    jobs: int | None = None,
) -> Batch | OnDisk:
    """The events that were given, in order: in memory, or on disk where they need more than `memory`.

    Its default is that of the settings; `jobs` processes share events on disk. Times more than
    `settings.max_future` after `now` are refused.
    """
    limits = Limits(**settings.limits)
    latest = latest_time(now or datetime.now(UTC), settings.max_future)
    common: dict[str, Any] = {
        "source": settings.source,
        "skip_bad": skip_bad,
        "kinds": library.kinds,
        "ranges": known_ranges(),
        "limits": limits,
        "latest": latest,
    }
    if isinstance(events, (str, Path)):
        memory = settings.memory if memory is None else memory
        return gather_events([events], memory=memory, jobs=jobs, **common)
    if hasattr(events, "__arrow_c_stream__"):
        return read_frame(events, **common)
    if isinstance(events, (bytes, Mapping, Event)) or not isinstance(events, Iterable):
        raise BadUsage(
            "invalid events: expected a path, a DataFrame, or a list of Event objects or of dicts; "
            f"got {type(events).__name__}"
        )
    value = list(events)
    if all(isinstance(item, Event) for item in value):
        return checked_events(value, latest, skip_bad=skip_bad)  # type: ignore[arg-type]
    if any(isinstance(item, Event) for item in value):
        raise BadUsage("events are all Event objects or all dicts, not a mixture")
    return events_of(value, **common)


def analyze_gathered(
    gathered: Batch | OnDisk,
    library: Library,
    *,
    as_of: datetime | None = None,
    settings: Settings | None = None,
    traced: bool = False,
    evaluate: Evaluate | None = None,
    jobs: int | None = None,
) -> Analysis:
    """The analysis of events that were read already, in memory or on disk; the same either way.

    `traced` keeps what a chart of it needs. With `evaluate` messages are scored first, and only the
    readings of that scorer count.
    """
    if evaluate is not None:
        scored, found = evaluate(gathered, as_of)
        from .evaluation.scoring import settings_for

        ours = settings_for(settings or Settings(), found.scorer)
        try:
            found.must_not_have_stopped()
            analysis = analyze_gathered(scored, library, as_of=as_of, settings=ours, traced=traced, jobs=jobs)
        finally:
            if isinstance(scored, OnDisk):
                scored.close()
        return replace(analysis, evaluated=found.to_dict())
    if isinstance(gathered, Batch):
        return analyze_batch(gathered, library, as_of=as_of, settings=settings, traced=traced)
    from .out_of_core import analyze_on_disk

    settings = settings or Settings()
    return analyze_on_disk(gathered, library, settings, as_of=as_of, traced=traced, workers=jobs)


def analyze_batch(
    batch: Batch,
    library: Library,
    *,
    as_of: datetime | None = None,
    settings: Settings | None = None,
    traced: bool = False,
) -> Analysis:
    """The analysis of events that are in memory."""
    settings = settings or Settings()
    asked = as_of or (batch.events[-1].at if batch.events else EPOCH)
    programs = library.programs
    events = batch.events.until(asked)
    measuring = judged(programs, batch.events.reading_names())
    scored, unused, unmeasured = counted_events(events, measuring, settings)
    found = find(programs, scored, as_of=asked)
    vocabulary = load_vocabulary(settings.signals)
    names = scored.reading_names()
    analysis = summed_up(library, found, batch, asked if as_of or batch.events else None, names)
    return analysis.with_counts(
        events=len(events),
        subjects=events.count_subjects(),
        unused=dict(unused),
        unmeasured=dict(unmeasured),
        unknown=unread(
            strange(events, known_signals(programs, vocabulary)), batch.strays, programs, vocabulary
        ),
        traces=trace(analysis.every, scored, asked) if traced else Traces(),
    )


def with_excerpts(analysis: Analysis, events: Iterable[Event]) -> Analysis:
    """The analysis with an excerpt on every piece of evidence whose event says something."""
    every = [*analysis.detections, *(item for item, _ in analysis.muting.muted)]
    excerpted = iter(add_excerpts(every, events))
    detections = tuple(next(excerpted) for _ in analysis.detections)
    muted = tuple((next(excerpted), by) for _, by in analysis.muting.muted)
    return replace(analysis, detections=detections, muting=replace(analysis.muting, muted=muted))
