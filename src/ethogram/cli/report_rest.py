"""What an analysis says beside its detections: quiet, unanswered, left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from ..report.words import gravest_first, mute_text, until_text
from .text import clean, pairs_text, plural

if TYPE_CHECKING:
    from ..app.analyze import Analysis
    from ..engine.match import Insufficient
    from ..ingest import Gathered
    from ..language.program import Program
    from ..models import Detection
    from ..models.mute import Mute
    from ..patterns.library import Library


OWN = "your own"
MOST = 4
"""Signals named one by one."""


def rest(
    analysis: Analysis, library: Library, batch: Gathered, *, all_insufficient: bool = False
) -> Iterator[str]:
    """Lines about everything that is not a detection."""
    if not analysis.events:
        yield from left_out(analysis, batch)
        return
    families = family_of(library)
    quiet, without = quiet_and_without(analysis, library, batch)
    if quiet:
        yield f"Checked and quiet: {grouped(quiet, families)}"
    if without:
        lacking = "no event has the readings, or the target or thread, they need"
        yield f"Nothing to go by ({lacking}): {grouped(without, families)}"
    yield from evaluated_lines(analysis, library, batch, without)
    yield from insufficient_lines(analysis, all_insufficient)
    if analysis.kept:
        counts = Counter(one.pattern for one in analysis.kept)
        names = ", ".join(f"{name} {n}" for name, n in sorted(counts.items()))
        yield f"Shadow patterns, not reported above: {plural(len(analysis.kept), 'detection')} ({names})"
    yield from muted_lines(analysis)
    yield from unused_lines(analysis.unused, analysis.evaluated)
    for (signal, reason), n in sorted(analysis.unmeasured.items()):
        yield f"Not measured: {clean(signal)} at {plural(n, 'event')}: {clean(reason)}"
    yield from left_out(analysis, batch)


def evaluated_lines(
    analysis: Analysis, library: Library, batch: Gathered, without: Sequence[str]
) -> Iterator[str]:
    """Who scored how many messages; or that somebody could, where patterns wait for it."""
    said = analysis.evaluated
    if said is None:
        from ..app.evaluation.scoring import looks_at_scores

        waiting = any(one.name in without and looks_at_scores(one) for one in library.programs)
        if waiting and any(event.text for event in batch.events):
            yield "Some need scores of messages: --evaluator local gives them, without key or network"
        return
    yield (
        f"Scored by {clean(said['scorer'])}: {said['evaluated']:,} of {plural(said['messages'], 'message')} "
        f"({said['share']:.1%})" + (f", for ${said['spent']:.4f}" if said["spent"] else "")
    )
    if said["untrusted"]:
        yield untrusted_line(said["untrusted"])
    if said["not_measured"]:
        yield f"Not measured: {plural(said['not_measured'], 'message')} the evaluator gave no answer for"
    if said["not_asked"]:
        left = f"{plural(said['not_asked'], 'message')} ({said['stopped']})"
        yield f"Not asked about: {left}; the same command goes on"


def untrusted_line(count: int) -> str:
    """What is said of kept answers that are not believed."""
    return f"Not used: {plural(count, 'kept answer')}, whose tag is missing or wrong (not yours, or changed)"


def family_of(library: Library) -> dict[str, str]:
    """Program to the folder its pattern is in, for those that ship; others are the user's own."""
    from ..patterns.library import SHIPPED

    def family(path: str) -> str:
        from pathlib import Path

        folder = Path(path).resolve().parent
        return folder.name if folder.is_relative_to(SHIPPED.resolve()) else OWN

    files = library.files
    return {one.name: family(files[one.pattern].path) for one in library.programs}


def quiet_and_without(analysis: Analysis, library: Library, batch: Gathered) -> tuple[list[str], list[str]]:
    """Patterns that could have been found and were not; and those for which there was nothing to read.

    A combination looks at its parts, so it could have been found where all its parts could.
    """
    from ..engine.combination import parts_meant

    programs = {one.name: one for one in library.programs}
    checked = {one.pattern: one for one in analysis.checked}

    def could(name: str) -> bool:
        program = programs[name]
        if not program.is_combination:
            found = checked.get(name)
            return (
                has_what_it_reads(program, batch) if found is None else found.histories > found.insufficient
            )
        meant = [[one for one in programs if parts_meant((part,), one)] for part in program.parts]
        needed = any if getattr(program.body, "kind", "") == "any_of" else all
        return needed(any(map(could, names)) for names in meant)

    silent = [one for one in analysis.checked if not one.detections]
    quiet = [one.pattern for one in silent if could(one.pattern)]
    without = [one.pattern for one in silent if not one.insufficient and one.pattern not in quiet]
    return quiet, without


def has_what_it_reads(program: Program, batch: Gathered) -> bool:
    """Whether some event would be in one of its histories; signals measured here count as there.

    For parts of combinations that were not asked for: nobody counted their histories.
    """
    from .. import registry
    from ..language.history import belongs

    measured = any(name in registry.signals for name in program.signals)
    return measured or any(belongs(program, event) for event in batch.events)


def grouped(names: Iterable[str], families: Mapping[str, str]) -> str:
    """Names by family; values of one for_each pattern together, and `name@k` only without `name`.

    >>> grouped(["loop", "spiral.tokens", "spiral.calls", "darvo", "darvo@2"], {"darvo": "conversation"})
    'conversation: darvo; your own: loop, spiral (calls, tokens)'
    """
    known = set(names)
    told: dict[str, dict[str, list[str]]] = {}
    for name in sorted(known):
        if "@" in name and name.partition("@")[0] in known:
            continue
        base, _, value = name.partition(".")
        told.setdefault(families.get(name, OWN), {}).setdefault(base, []).extend([value] if value else [])
    return "; ".join(
        f"{family}: " + ", ".join(f"{n} ({', '.join(v)})" if v else n for n, v in sorted(found.items()))
        for family, found in sorted(told.items())
    )


def insufficient_lines(analysis: Analysis, every: bool) -> Iterator[str]:
    """How many histories had too little data, by pattern and reason; or each of them."""
    if not analysis.insufficient:
        return
    total = plural(len(analysis.insufficient), "history")
    tail = "" if every else " (each of them: --insufficient)"
    yield f"Insufficient data for {total}: neither found nor quiet{tail}"
    if every:
        yield from (f"  {_one(one)}" for one in analysis.insufficient)
        return
    counts = Counter((one.program.name, one.reason) for one in analysis.insufficient)
    for (name, reason), n in sorted(counts.items()):
        yield f"  {clean(name)}: {plural(n, 'history')}: {clean(reason)}"


def _one(one: Insufficient) -> str:
    who = pairs_text(dict(zip(one.program.group_by, one.key, strict=True)))
    need = f", needs {one.need}" if one.need else ""
    return f"{clean(one.program.name)}: {who}: has {plural(one.have, 'event')}{need}: {clean(one.reason)}"


def muted_lines(analysis: Analysis) -> Iterator[str]:
    """How many detections were muted, by entry; and which entries have expired."""
    muting = analysis.muting
    yield from untrusted_lines(muting.shown)
    if muting.muted:
        yield f"Muted: {plural(len(muting.muted), 'detection')} (told with --muted)"
    for one in muting.entries:
        if n := muting.count(one):
            until = until_text(one, muting.expired)
            said = f"{mute_text(one)}: {clean(one.reason)} (until: {until})"
            yield f"  {one.id}: {plural(n, 'detection')}: {said}"
        elif one.id in muting.expired:
            yield f"Mute {one.id} has {until_text(one, muting.expired)} and mutes nothing: {mute_text(one)}"


def untrusted_lines(shown: Sequence[tuple[Detection, Mute]]) -> Iterator[str]:
    """What an untrusted file mutes, one line each under a heading that names the file."""
    if not shown:
        return
    file = clean(shown[0][1].untrusted)
    yield f"Muted by {file}, which is not trusted (--fail-on counts them):"
    by = {one.id: entry.id for one, entry in shown}
    for one in gravest_first([one for one, _ in shown]):
        who = f"{clean(one.title or one.pattern)}, {clean(one.subject)}"
        yield f"  {one.severity.upper()}  {who} ({clean(one.pattern)}; id {one.id}; muted by {by[one.id]})"


def unused_lines(
    unused: Mapping[tuple[str, str], int], evaluated: Mapping[str, object] | None = None
) -> Iterator[str]:
    """Readings by other scorers, and what would make them count."""
    counts: Counter[str] = Counter()
    signals: dict[str, set[str]] = {}
    for (signal, scorer), n in unused.items():
        counts[scorer] += n
        signals.setdefault(scorer, set()).add(signal)
    for scorer, n in sorted(counts.items()):
        named = sorted(clean(one) for one in signals[scorer])
        told = ", ".join(named[:MOST]) + (f" and {len(named) - MOST} more" if len(named) > MOST else "")
        readings = f"{plural(n, 'reading')} by {clean(scorer)} ({told})"
        if evaluated is not None:
            yield f"Not used: {readings}, since {clean(str(evaluated['scorer']))} was asked"
            continue
        yield f"Not used: {readings}. To use them: {_use(scorer, named)}"


def _use(scorer: str, signals: Sequence[str]) -> str:
    """The option and the setting that make a scorer's readings count; of few signals, for those alone."""
    import json
    import shlex

    by, chosen = clean(scorer), signals if len(signals) <= MOST else ["*"]
    options = [shlex.quote(by if one == "*" else f"{one}={by}") for one in chosen]
    entries = ", ".join(f"{json.dumps(one) if one == '*' else one}: {json.dumps(by)}" for one in chosen)
    return f"{' '.join(f'--scorer {one}' for one in options)}, or in ethogram.yaml scorers: {{{entries}}}"


def left_out(analysis: Analysis, batch: Gathered) -> Iterator[str]:
    """What was read and did not count."""
    counts = {
        "repeated": analysis.repeated,
        "later than the moment asked about": analysis.after_as_of,
    }
    for what, n in counts.items():
        if n:
            yield f"Left out: {plural(n, 'event')} {what}"
    if analysis.bad_count:
        yield f"Left out: {plural(analysis.bad_count, 'bad line')}"
    for what, n in sorted(batch.skipped.items()):
        yield f"Left out: {skipped_text(what, n, batch.not_events)}"
    for one in analysis.unknown:
        near = " or ".join(map(repr, one.near))
        yield f"Nobody reads {clean(one.signal)!r} ({plural(one.count, 'reading')}); did you mean {near}?"


def skipped_text(what: str, n: int, names: Sequence[str] = ()) -> str:
    """How much of what was skipped; of files, the names of the first.

    >>> skipped_text("files that are not events", 1, ["a/notes.md"])
    '1 file that is not events: a/notes.md'
    """
    if what != "files that are not events":
        return f"{n:,} {clean(what)}"
    told = ", ".join(clean(one) for one in names) + (", ..." if 0 < len(names) < n else "")
    return (f"{n:,} files that are" if n != 1 else "1 file that is") + " not events" + (told and f": {told}")
