"""What an analysis covered: patterns without a match, not judged, insufficient data, muted, left out."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import BadUsage
from ..models.detection import base_pattern
from .rendering import rendered
from .wording import clean, listed, plural, ranked, title_of

if TYPE_CHECKING:
    from ..app.result import Analysis
    from ..ingest import Gathered
    from ..language.program import Program
    from ..models import Detection
    from ..models.mute import Mute
    from ..patterns.library import Library


OWN = "your own"
SCARCE = 0.1
"""Share of scored messages below which no match of a score says nothing."""
HARDLY = "Not judged, hardly any message was scored"
SCORES = "scores of messages"
MOST = 4
"""Signals named one by one."""


@dataclass(frozen=True, slots=True)
class Coverage:
    """Patterns by family without a match, those that were not applicable, and further notes."""

    no_match: Mapping[str, Sequence[str]] = field(default_factory=dict)
    not_applicable: Mapping[str, Sequence[str]] = field(default_factory=dict)
    needs: str = ""
    """What the input lacks for those."""
    notes: Sequence[str] = ()

    @classmethod
    def of(cls, analysis: Analysis, library: Library, batch: Gathered) -> Coverage:
        """The coverage of one analysis."""
        if not analysis.events:
            return cls(notes=[*left_out(analysis, batch)])
        no_match, unsure, not_applicable = judged(analysis, library, batch)
        families, notes = family_of(library), list[str]()
        if unsure:
            notes.append(f"{HARDLY}: {grouped(unsure, families)}")
        if analysis.kept:
            notes.append(f"{plural(len(analysis.kept), 'detection')} of shadow patterns, not shown here")
        notes += rendered("coverage_notes", analysis=analysis, **_not_used(analysis))
        notes += left_out(analysis, batch)
        needs = needs_text(not_applicable, analysis, library, batch)
        return cls(by_family(no_match, families), by_family(not_applicable, families), needs, notes)


def coverage_lines(
    analysis: Analysis, library: Library, batch: Gathered, *, verbose: bool = False, histories: bool = False
) -> Iterator[str]:
    """Lines about everything that is not a detection; `histories` lists each with insufficient data."""
    from ..evaluators.base import looks_at_scores

    if not analysis.events:
        yield from left_out(analysis, batch)
        return
    no_match, unsure, not_applicable = judged(analysis, library, batch)
    counts = [
        (no_match, "without a match"),
        (unsure, "not judged (hardly any message was scored)"),
    ]
    parts = [f"{plural(_files(names), 'pattern')} {what}" for names, what in counts if names]
    if lacking := analysis.insufficient.counts():
        what = f"with insufficient data for {plural(lacking.total(), 'history')}"
        parts.append(f"{plural(_files(name for name, _ in lacking), 'pattern')} {what}")
    if parts and not verbose:
        yield f"Checked: {', '.join(parts)} (--verbose lists them)."
    if not_applicable and not verbose:
        needs = needs_text(not_applicable, analysis, library, batch)
        count = _files(not_applicable)
        verb = "needs" if count == 1 else "need"
        yield f"Not applicable: {plural(count, 'pattern')}, which {verb} {needs}."
    scored = {program.name for program in library.programs if looks_at_scores(program)}
    is_waiting = verbose and bool(scored.intersection(not_applicable)) and _could_be_scored(analysis, batch)
    # Runs are judged by their steps.
    is_untimed = analysis.is_untimed and not any(
        str(kind).startswith("action") for kind in batch.events.counts("kind")
    )
    more = (analysis.evaluated, analysis.kept, analysis.unused, analysis.unmeasured, analysis.unknown)
    skipped = (analysis.repeated, analysis.after_as_of, analysis.bad_count, batch.skipped)
    muted = (analysis.muting.entries, analysis.muting.shown)
    if not any((verbose, histories, is_waiting, is_untimed, *more, *skipped, *muted)):
        return  # nothing more to say, as mostly: do not load templates for that
    yield from rendered(
        "coverage",
        analysis=analysis,
        batch=batch,
        verbose=verbose,
        histories=histories,
        no_match=no_match,
        unsure=unsure,
        not_applicable=not_applicable,
        hardly=HARDLY,
        families=family_of(library),
        grouped=grouped,
        is_waiting=is_waiting,
        is_untimed=is_untimed,
        is_scored=any(item.pattern in scored for item in analysis.detections),
        untrusted_lines=untrusted_lines,
        **_not_used(analysis),
    )


def unjudged_lines(analysis: Analysis, library: Library, batch: Gathered) -> Iterator[str]:
    """One line about patterns that could not be judged; nothing where all could."""
    from ..evaluators.base import looks_at_scores

    _, _, names = judged(analysis, library, batch) if analysis.events else ([], [], [])
    reasons = [f"{plural(_files(names), 'pattern')} whose signals are missing"] if names else []
    if analysis.is_untimed:
        reasons.append("patterns over hours or days, since no event has a time (`at`)")
    if not reasons:
        return
    scored = any(looks_at_scores(program) for program in library.programs if program.name in names)
    is_waiting = scored and _could_be_scored(analysis, batch)
    hint = " Add --evaluator local to score messages (offline, no key)." if is_waiting else ""
    yield f"Not judged: {'; '.join(reasons)} (`ethogram analyze --verbose` lists them).{hint}"


def needs_text(names: Iterable[str], analysis: Analysis, library: Library, batch: Gathered) -> str:
    """What the input lacks for patterns that are not applicable, with the number of patterns for each.

    'messages (17), times (`at`) (6)'
    """
    from ..engine.combination import parts_meant

    programs = {program.name: program for program in library.programs}
    families, counts, has_text = family_of(library), dict[str, set[str]](), batch.has_text

    def needed(name: str) -> str:
        program = programs[name]
        if program.is_combination:
            part = next((other for other in programs if parts_meant(program.parts, other)), None)
            return needed(part) if part else "its parts"
        return _need(program, families[name], analysis, has_text=has_text)

    for name in names:
        counts.setdefault(needed(name), set()).add(base_pattern(name))
    needs = sorted(counts.items(), key=lambda item: (-len(item[1]), item[0]))
    hint = ": --evaluator local" if _could_be_scored(analysis, batch) else ""
    return ", ".join(
        f"{need} ({len(patterns):,}{hint if need == SCORES else ''})" for need, patterns in needs
    )


def _need(program: Program, family: str, analysis: Analysis, *, has_text: bool) -> str:
    """What would make one pattern applicable that is not a combination."""
    from ..evaluators.base import looks_at_scores

    if family == OWN:
        missing = next((row.missing for row in analysis.checked if row.pattern == program.name), ())
        return f"readings of {listed(sorted(missing or program.signals), MOST)}"
    if family == "run":
        return "agent runs"
    if family == "usage":
        return "times (`at`)" if analysis.is_untimed else "weeks of use"
    if not has_text:
        return "messages"
    if looks_at_scores(program):
        return SCORES
    return "chats with a model" if family == "risk" else "messages"


def _could_be_scored(analysis: Analysis, batch: Gathered) -> bool:
    """Whether there are messages to score, and no scores, which those of an evaluator would replace."""
    return analysis.evaluated is None and batch.has_text and not batch.has_scores


def left_out(analysis: Analysis, batch: Gathered) -> Iterator[str]:
    """What was read and not analysed."""
    return rendered("left_out", analysis=analysis, batch=batch)


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


def judged(analysis: Analysis, library: Library, batch: Gathered) -> tuple[list[str], list[str], list[str]]:
    """Patterns without a match; of those, which hardly any score could show; and those not applicable."""
    from ..evaluators.base import looks_at_scores

    no_match, not_applicable = without_match(analysis, library, batch)
    if analysis.evaluated is None or analysis.evaluated["share"] >= SCARCE:
        return no_match, [], not_applicable
    scored = {program.name for program in library.programs if looks_at_scores(program)}
    certain = [name for name in no_match if name not in scored]
    return certain, [name for name in no_match if name in scored], not_applicable


def check_judged(analysis: Analysis, library: Library, batch: Gathered) -> list[str]:
    """The chosen patterns that --fail-on cannot answer for; BadUsage where that is all of them."""
    if not analysis.events:
        raise BadUsage("--fail-on: there are no events in this input, so nothing was checked")
    quiet, _ = without_match(analysis, library, batch)
    missed = [row for row in analysis.checked if not row.detections and row.pattern not in quiet]
    if len(missed) < len(analysis.checked):
        return [row.pattern for row in missed]
    lacking = sorted({name for row in missed for name in row.missing})
    why = f"no event has {listed(lacking, MOST)}" if lacking else "insufficient data (--verbose says which)"
    raise BadUsage(f"--fail-on: no pattern could be judged: {why}")


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


# --- muted ----------------------------------------------------------------------------------


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


def _not_used(analysis: Analysis) -> dict[str, Any]:
    """As templates take them: readings by other scorers, by scorer; signals not measured, by reason."""
    counts: dict[str, tuple[int, list[str]]] = {}
    for (signal, scorer), n in sorted(analysis.unused.items(), key=lambda item: item[0][::-1]):
        count, signals = counts.get(scorer, (0, []))
        counts[scorer] = (count + n, [*signals, signal])
    unmeasured: dict[tuple[str, int], list[str]] = {}
    for (signal, reason), n in sorted(analysis.unmeasured.items()):
        unmeasured.setdefault((reason, n), []).append(signal)
    return {"unused": counts, "unmeasured": unmeasured, "scorer_hint": scorer_hint}


def scorer_hint(scorer: str, signals: Sequence[str]) -> str:
    """The option and the setting that use readings of a scorer; of few signals, for those alone."""
    by, chosen = clean(scorer), list(map(clean, signals)) if len(signals) <= MOST else ["*"]
    options = [f"--scorer {shlex.quote(by if name == '*' else f'{name}={by}')}" for name in chosen]
    entries = [f"{json.dumps(name) if name == '*' else name}: {json.dumps(by)}" for name in chosen]
    return f"{' '.join(options)}, or in ethogram.yaml scorers: {{{', '.join(entries)}}}"
