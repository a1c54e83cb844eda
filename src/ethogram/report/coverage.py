"""What an analysis covered: patterns without a match, not judged, insufficient data, muted, left out."""

from __future__ import annotations

import json
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..models.detection import base_pattern
from .wording import clean, listed, mute_text, pairs_text, plural, ranked, title_of, until_text

if TYPE_CHECKING:
    from ..app.result import Analysis
    from ..ingest import Gathered
    from ..models import Detection
    from ..models.mute import Mute
    from ..patterns.library import Library


OWN = "your own"
SCARCE = 0.1
"""Share of scored messages below which no match of a score says nothing."""
HARDLY = "Not judged, hardly any message was scored"
MOST = 4
"""Signals named one by one."""


@dataclass(frozen=True, slots=True)
class Coverage:
    """Patterns by family without a match, those that were not applicable, and further notes."""

    no_match: Mapping[str, Sequence[str]] = field(default_factory=dict)
    not_applicable: Mapping[str, Sequence[str]] = field(default_factory=dict)
    notes: Sequence[str] = ()

    @classmethod
    def of(cls, analysis: Analysis, library: Library, batch: Gathered) -> Coverage:
        """The coverage of one analysis."""
        if not analysis.events:
            return cls(notes=[*left_out(analysis, batch)])
        no_match, not_applicable = without_match(analysis, library, batch)
        families = family_of(library)
        unsure = hardly_scored(analysis, library, no_match)
        further = notes(analysis, batch)
        if unsure:
            further.insert(0, f"{HARDLY}: {grouped(unsure, families)}")
        known = by_family([name for name in no_match if name not in unsure], families)
        return cls(known, by_family(not_applicable, families), further)


def coverage_lines(
    analysis: Analysis, library: Library, batch: Gathered, *, verbose: bool = False, histories: bool = False
) -> Iterator[str]:
    """Lines about everything that is not a detection; `histories` lists each with insufficient data."""
    if not analysis.events:
        yield from left_out(analysis, batch)
        return
    no_match, not_applicable = without_match(analysis, library, batch)
    unsure = hardly_scored(analysis, library, no_match)
    no_match = [name for name in no_match if name not in unsure]
    lacking = analysis.insufficient.counts()
    if verbose:
        families = family_of(library)
        if no_match:
            yield f"No match: {grouped(no_match, families)}"
        if unsure:
            yield f"{HARDLY}: {grouped(unsure, families)}"
        if not_applicable:
            yield f"Could not be judged, required signals are missing: {grouped(not_applicable, families)}"
            yield from missing_lines(analysis)
    else:
        counts = [
            (no_match, "without a match"),
            (unsure, "not judged (hardly any message was scored)"),
            (not_applicable, "that could not be judged"),
        ]
        parts = [f"{plural(_files(names), 'pattern')} {what}" for names, what in counts if names]
        if lacking:
            what = f"with insufficient data for {plural(lacking.total(), 'history')}"
            parts.append(f"{plural(_files(name for name, _ in lacking), 'pattern')} {what}")
        if parts:
            yield f"Checked: {', '.join(parts)} (--verbose lists them)."
    yield from evaluated_lines(analysis, library, batch, not_applicable)
    if verbose or histories:
        yield from insufficient_lines(analysis, histories)
    if analysis.kept:
        counts_of = Counter(detection.pattern for detection in analysis.kept)
        names = ", ".join(f"{name} {n}" for name, n in sorted(counts_of.items()))
        yield f"Not shown, shadow patterns: {plural(len(analysis.kept), 'detection')} ({names})"
    yield from muted_lines(analysis)
    yield from unused_lines(analysis.unused, analysis.evaluated)
    yield from unmeasured_lines(analysis)
    yield from left_out(analysis, batch)


def notes(analysis: Analysis, batch: Gathered) -> list[str]:
    """Further notes of a page, one line each."""
    lines = []
    if analysis.kept:
        lines.append(f"{plural(len(analysis.kept), 'detection')} of shadow patterns, not shown here")
    lines += unused_lines(analysis.unused, analysis.evaluated)
    return [*lines, *unmeasured_lines(analysis), *left_out(analysis, batch)]


def evaluated_lines(
    analysis: Analysis, library: Library, batch: Gathered, not_applicable: Sequence[str]
) -> Iterator[str]:
    """How many messages were scored, and by whom; or that they could be, where patterns need it."""
    from ..evaluators.base import looks_at_scores

    summary = analysis.evaluated
    if summary is None:
        waiting = any(
            program.name in not_applicable and looks_at_scores(program) for program in library.programs
        )
        if waiting and batch.has_text:
            yield "Some patterns need scores of messages: add --evaluator local (offline, no key)."
        return
    yield scored_line(summary)
    scored = {program.name for program in library.programs if looks_at_scores(program)}
    if summary["indicators"] and not any(item.pattern in scored for item in analysis.detections):
        better = "" if summary["spent"] else "; --evaluator anthropic or openai judges them in their thread"
        found = plural(summary["indicators"], "indicator")
        yield (
            f"Only in single messages: {found}, such as flattery, isolation or guilt, and no pattern over "
            f"time; `ethogram scan` with the same files shows whose they are{better}."
        )
    if summary["not_measured_traits"] and summary["evaluated"]:
        yield f"Not measured by this evaluator: {', '.join(summary['not_measured_traits'])}"
    if summary["unknown_language"]:
        strange = plural(summary["unknown_language"], "message")
        yield f"Not scored: the language of {strange} is not understood"
    if summary["untrusted"]:
        yield untrusted_answers(summary["untrusted"])
    if summary["not_measured"]:
        yield f"Not scored: the evaluator gave no answer for {plural(summary['not_measured'], 'message')}"
    if summary["not_asked"]:
        left = f"{plural(summary['not_asked'], 'message')} ({summary['stopped']})"
        yield f"Not scored yet: {left}; run the same command again to continue"


def scored_line(summary: Mapping[str, Any]) -> str:
    """How many messages were scored, by whom, and at what cost."""
    return (
        f"Scored by {clean(summary['scorer'])}: {summary['evaluated']:,} of "
        f"{plural(summary['messages'], 'message')} ({summary['share']:.1%})"
        + (f", for ${summary['spent']:.4f}" if summary["spent"] else "")
    )


def untrusted_answers(count: int) -> str:
    """The line about saved answers that fail their check."""
    return f"Not used: {plural(count, 'saved answer')} with a missing or wrong tag (not yours, or changed)"


# --- patterns -------------------------------------------------------------------------------


def family_of(library: Library) -> dict[str, str]:
    """Program -> folder of its pattern, for those that ship; others are the user's own."""
    from ..patterns.library import SHIPPED

    def family(path: str) -> str:
        folder = Path(path).resolve().parent
        return folder.name if folder.is_relative_to(SHIPPED.resolve()) else OWN

    files = library.files
    return {program.name: family(files[program.pattern].path) for program in library.programs}


def without_match(analysis: Analysis, library: Library, batch: Gathered) -> tuple[list[str], list[str]]:
    """Patterns that could have matched and did not; and those for which required signals are missing.

    A combination could have matched where all its parts could.
    """
    from .. import registry
    from ..engine.combination import parts_meant
    from ..language.history import belongs

    programs = {program.name: program for program in library.programs}
    checked = {row.pattern: row for row in analysis.checked}

    def could_match(name: str) -> bool:
        program = programs[name]
        if not program.is_combination:
            if (row := checked.get(name)) is not None:
                return not row.missing and row.histories > row.insufficient
            # A part of a combination that was not selected: nobody counted its histories. Signals that are
            # measured here count as present.
            measured = any(signal in registry.signals for signal in program.signals)
            return measured or any(belongs(program, event) for event in batch.events)
        parts = [[other for other in programs if parts_meant((part,), other)] for part in program.parts]
        needed = any if getattr(program.body, "kind", "") == "any_of" else all
        return needed(any(map(could_match, names)) for names in parts)

    silent = [row for row in analysis.checked if not row.detections]
    no_match = [row.pattern for row in silent if could_match(row.pattern)]
    missing = [
        row.pattern for row in silent if row.pattern not in no_match and (row.missing or not row.insufficient)
    ]
    return no_match, missing


def hardly_scored(analysis: Analysis, library: Library, names: Iterable[str]) -> list[str]:
    """Those of these patterns that look at scores, where an evaluator gave hardly any."""
    from ..evaluators.base import looks_at_scores

    if analysis.evaluated is None or analysis.evaluated["share"] >= SCARCE:
        return []
    scored = {program.name for program in library.programs if looks_at_scores(program)}
    return [name for name in names if name in scored]


def missing_lines(analysis: Analysis) -> Iterator[str]:
    """What patterns lack of which some signals were there."""
    for row in analysis.checked:
        if row.missing and row.histories:
            yield f"  {clean(row.pattern)}: no event has {listed(row.missing, MOST)}"


def by_family(names: Iterable[str], families: Mapping[str, str]) -> dict[str, list[str]]:
    """Names by the family of their pattern; `name@k` only where `name` is not there.

    >>> by_family(["darvo", "darvo@2", "loop"], {"darvo": "conversation", "loop": "run"})
    {'conversation': ['darvo'], 'run': ['loop']}
    """
    known, groups = set(names), dict[str, list[str]]()
    for name in sorted(known):
        if name.partition("@")[0] not in known - {name}:
            groups.setdefault(families.get(name, OWN), []).append(name)
    return dict(sorted(groups.items()))


def grouped(names: Iterable[str], families: Mapping[str, str]) -> str:
    """Names by family; values of one for_each pattern together.

    >>> grouped(["loop", "spiral.tokens", "spiral.calls", "darvo", "darvo@2"], {"darvo": "conversation"})
    'conversation: darvo; your own: loop, spiral (calls, tokens)'
    """

    def joined(members: Iterable[str]) -> str:
        values: dict[str, list[str]] = {}
        for name in members:
            base, _, value = name.partition(".")
            values.setdefault(base, []).extend([value] if value else [])
        return ", ".join(f"{name} ({', '.join(of)})" if of else name for name, of in sorted(values.items()))

    return "; ".join(f"{family}: {joined(of)}" for family, of in by_family(names, families).items())


def _files(names: Iterable[str]) -> int:
    """How many pattern files programs come from: `spiral.tokens` and `darvo@2` are no files of their own."""
    return len({base_pattern(name) for name in names})


def insufficient_lines(analysis: Analysis, every: bool) -> Iterator[str]:
    """How many histories had insufficient data, by pattern and reason; or each of them."""
    if not analysis.insufficient:
        return
    tail = "" if every else " (--insufficient lists each)"
    yield f"Insufficient data for {plural(len(analysis.insufficient), 'history')}{tail}:"
    for each in analysis.insufficient if every else ():
        name, who = clean(each.program.name), dict(zip(each.program.group_by, each.key, strict=True))
        need = f", needs {each.need}" if each.need > each.have else ""
        have = f"has {plural(each.have, 'event')}{need}"
        yield f"  {name}: {pairs_text(who)}: {have}: {clean(each.reason)}"
    if every:
        return
    for (name, reason), n in sorted(analysis.insufficient.counts().items()):
        yield f"  {clean(name)}: {plural(n, 'history')}: {clean(reason)}"


# --- muted ----------------------------------------------------------------------------------


def muted_lines(analysis: Analysis) -> Iterator[str]:
    """How many detections were muted, by entry; and which entries have expired."""
    muting = analysis.muting
    yield from untrusted_lines(muting.shown)
    if muting.muted:
        yield f"Muted: {plural(len(muting.muted), 'detection')} (--muted shows them)"
    for entry in muting.entries:
        if n := muting.count(entry):
            text = f"{mute_text(entry)}: {clean(entry.reason)} ({until_text(entry, muting.expired)})"
            yield f"  {entry.id}: {plural(n, 'detection')}: {text}"
        elif entry.id in muting.expired:
            yield f"Mute {entry.id} has {until_text(entry, muting.expired)}, not applied: {mute_text(entry)}"


def untrusted_lines(shown: Sequence[tuple[Detection, Mute]]) -> Iterator[str]:
    """What an untrusted file mutes, one line each under a heading that names the file."""
    if shown:
        file = clean(shown[0][1].untrusted)
        yield f"Muted by {file}, which is not trusted (--fail-on counts them):"
        yield from (f"  {line}" for line in untrusted_rows(shown))


def untrusted_rows(shown: Sequence[tuple[Detection, Mute]]) -> Iterator[str]:
    """One line for each detection that an untrusted file mutes."""
    by = {detection.id: entry.id for detection, entry in shown}
    for item in ranked(detection for detection, _ in shown):
        who, names = f"{title_of(item)}, {clean(item.subject)}", f"{clean(item.pattern)}; id {clean(item.id)}"
        yield f"{item.severity.upper()}  {who} ({names}; muted by {by[item.id]})"


# --- left out -------------------------------------------------------------------------------


def unused_lines(
    unused: Mapping[tuple[str, str], int], evaluated: Mapping[str, object] | None = None
) -> Iterator[str]:
    """Readings by other scorers, and which option would use them."""
    counts: Counter[str] = Counter()
    signals: dict[str, set[str]] = {}
    for (signal, scorer), n in unused.items():
        counts[scorer] += n
        signals.setdefault(scorer, set()).add(signal)
    for scorer, n in sorted(counts.items()):
        named = sorted(map(clean, signals[scorer]))
        readings = f"{plural(n, 'reading')} by {clean(scorer)} ({listed(named, MOST)})"
        if evaluated is not None:
            yield f"Not used: {readings}; {clean(evaluated['scorer'])} was used instead"
        else:
            # Of few signals, the option and the setting for those alone.
            by, chosen = clean(scorer), named if len(named) <= MOST else ["*"]
            options = [f"--scorer {shlex.quote(by if name == '*' else f'{name}={by}')}" for name in chosen]
            entries = [f"{json.dumps(name) if name == '*' else name}: {json.dumps(by)}" for name in chosen]
            hint = f"{' '.join(options)}, or in ethogram.yaml scorers: {{{', '.join(entries)}}}"
            yield f"Not used: {readings}. To use them: {hint}"


def unmeasured_lines(analysis: Analysis) -> Iterator[str]:
    """Signals that could not be measured, and why."""
    for (signal, reason), n in sorted(analysis.unmeasured.items()):
        yield f"Not measured: {clean(signal)} at {plural(n, 'event')}: {clean(reason)}"


def left_out(analysis: Analysis, batch: Gathered) -> Iterator[str]:
    """What was read and not analysed."""
    for what, n in {"repeated": analysis.repeated, "after --as-of": analysis.after_as_of}.items():
        if n:
            yield f"Skipped: {plural(n, 'event')} {what}"
    if analysis.bad_count:
        yield f"Skipped: {plural(analysis.bad_count, 'invalid line')}"
    for what, n in sorted(batch.skipped.items()):
        yield f"Skipped: {skipped_text(what, n, batch.not_events)}"
    for unread in analysis.unknown:
        near = " or ".join(map(repr, unread.near))
        readings = plural(unread.count, "reading")
        yield f"No pattern reads {clean(unread.signal)!r} ({readings}); did you mean {near}?"


def skipped_text(what: str, n: int, names: Sequence[str] = ()) -> str:
    """How much of what was skipped; of files, the names of the first.

    >>> skipped_text("files that are not events", 1, ["a/notes.md"])
    '1 file that is not events: a/notes.md'
    """
    if what != "files that are not events":
        return f"{n:,} {clean(what)}"
    some = ", ".join(map(clean, names)) + (", ..." if 0 < len(names) < n else "")
    return (f"{n:,} files that are" if n != 1 else "1 file that is") + " not events" + (some and f": {some}")
