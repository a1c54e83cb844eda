"""Values, times and names in words: printable and masked, whatever the input held."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import zip_longest
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from ..models import SEVERITIES, rank

if TYPE_CHECKING:
    from ..models import Detection
    from ..models.mute import Mute
    from ..risk.accuracy import Precision
    from ..risk.assessment import Assessment


LONGEST = 300
STYLES = {"critical": "bold red", "high": "red", "medium": "yellow", "low": "cyan"}
"""How rich shows a severity."""
_NUMBER = re.compile(r"[-+<$]?[\d,.]*\d%?|-|")


def printable(text: str) -> str:
    """The text on one line, without the control characters a terminal would obey.

    >>> printable("a\\x1b[2Jb\\nc")
    'a\\\\x1b[2Jb\\\\nc'
    """
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode("ascii") for char in text
    )


def clean(text: object, most: int = LONGEST) -> str:
    """Any text of the input on one printable line of at most `most` characters, cut between words.

    >>> clean("a" * 400)[-6:], clean("agent_22, agent_23, agent_24", 22)
    ('aaa...', 'agent_22, agent_23...')
    """
    whole = str(text)
    full = printable(whole[: most + 1])
    if len(full) <= most:
        return full
    end = full.rfind(" ", 0, most - 2)
    return full[: end if end > most // 2 else most - 3].rstrip(" ,;") + "..."


def inert(text: str) -> str:
    """The text with no line that the runner of GitHub would obey.

    >>> inert("::error::x ##[stop-commands]y")
    '| ::error::x ## [stop-commands]y'
    """
    # It obeys `##[command]` anywhere in a line, and `::command` at its start, after blanks too.
    lines = text.replace("##[", "## [").splitlines(keepends=True)
    return "".join(f"| {line}" if line.lstrip().startswith("::") else line for line in lines)


def plural(n: int, noun: str) -> str:
    """A number with its noun.

    >>> plural(1, "event"), plural(1200, "history"), plural(2, "person"), plural(3, "day")
    ('1 event', '1,200 histories', '2 people', '3 days')
    """
    return f"{n:,} {noun if n == 1 else _many(noun)}"


def _many(noun: str) -> str:
    if noun == "person":
        return "people"
    if noun.endswith("y") and noun[-2:-1] not in "aeiou":
        return noun[:-1] + "ies"
    return noun + ("es" if noun.endswith(("s", "x", "ch", "sh")) else "s")


def aligned(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Rows of cells as lines with aligned columns, those of numbers at their right.

    >>> list(aligned([["name", "n"], ["a", "10"], ["b"]]))
    ['name   n', 'a     10', 'b']
    """
    columns = list(zip_longest(*rows, fillvalue=""))
    widths = [max(map(len, column)) for column in columns]
    places = [">" if all(map(_NUMBER.fullmatch, column[1:])) else "<" for column in columns]
    for row in rows:
        cells = zip(row, places, widths, strict=False)
        yield "  ".join(f"{cell:{place}{width}}" for cell, place, width in cells).rstrip()


def listed(names: Sequence[str], most: int) -> str:
    """Names with commas, and how many more there are.

    >>> listed(["a", "b", "c"], 2)
    'a, b and 1 more'
    """
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def stamp(at: datetime, *, timed: bool = True) -> str:
    """A time in UTC; for a source without times, the number of the event.

    >>> from datetime import UTC
    >>> stamp(datetime(2026, 1, 5, 12, 30, tzinfo=UTC))
    '2026-01-05 12:30'
    >>> stamp(datetime(1970, 1, 1, 0, 0, 4, tzinfo=UTC), timed=False)
    'no. 5'
    """
    if not timed:
        return f"no. {int(at.timestamp()) + 1}"
    return at.strftime("%Y-%m-%d %H:%M:%S" if at.second else "%Y-%m-%d %H:%M")


def span(start: datetime, end: datetime | None, *, timed: bool = True) -> str:
    """A period; the day is not repeated, and without an end it is still open."""
    if end is None:
        return f"since {stamp(start, timed=timed)}, still open"
    if end == start:
        return stamp(start, timed=timed)
    last = stamp(end, timed=timed)
    if timed and start.date() == end.date():
        last = last.partition(" ")[2]
    return f"{stamp(start, timed=timed)} – {last}"


def value_text(value: Any) -> str:
    """A number, category or list in words; categories are masked.

    >>> value_text(0.30000000000000004), value_text(None), value_text(["a", 2.0])
    ('0.3', 'not measured', 'a, 2')
    >>> value_text("no access for ann@example.com")
    'no access for [e-mail]'
    """
    # Not at the top: every command imports this file, and few need these.
    from ..language.templates import write
    from ..models.redaction import mask

    if isinstance(value, (list, tuple)):
        return ", ".join(value_text(item) for item in value) or "none"
    if isinstance(value, str):
        return clean(mask(value))
    return clean(write(value, "") if isinstance(value, (float, int)) or value is None else mask(str(value)))


def pairs_text(values: Mapping[str, Any]) -> str:
    """Names with their values, on one line."""
    return ", ".join(f"{clean(name)} {value_text(value)}" for name, value in values.items())


# --- detections -----------------------------------------------------------------------------


def title_of(detection: Detection, most: int = 120) -> str:
    """The title of its pattern."""
    return clean(detection.title or detection.pattern, most)


def whom(detection: Detection) -> str:
    """Who did it, and to whom or where."""
    who = clean(detection.subject)
    if detection.target is not None:
        who += f" → {clean(detection.target)}"
    more = [
        # The name of a run is how it is found again, so that it is shown as it is.
        f"{name} {clean(value) if name == 'thread' else value_text(value)}"
        for name, value in detection.history.items()
        if name not in ("subject", "target")
    ]
    return f"{who} ({clean(', '.join(more))})" if more else who


def sentence(detection: Detection) -> str:
    """The explanation, masked except for the names that the detection shows anyway."""
    from ..models.redaction import mask

    names = [detection.subject, detection.target, detection.thread]
    return clean(mask(detection.explanation, keep=[name for name in names if name]), 2 * LONGEST)


def sureness(detection: Detection, *, exact: bool = False) -> str:
    """How confident a detection is: a word or, with `exact`, the number; and what verdicts say of that."""
    confidence = detection.confidence
    word = "high" if confidence >= 0.8 else "medium" if confidence >= 0.5 else "low"
    text = f"confidence {confidence:.2f}" if exact else f"{word} confidence"
    if detection.probability is None:
        return text
    return f"{text} (by verdicts, right in {detection.probability:.0%} of such cases)"


def ranked(detections: Iterable[Detection]) -> list[Detection]:
    """By severity from the highest, and in output order within a severity."""
    return sorted(detections, key=lambda detection: (-rank(detection.severity), detection.order))


def by_cause(detections: Iterable[Detection]) -> list[tuple[Detection, tuple[Detection, ...]]]:
    """Detections in their order, each with later ones of the same cause at the same time and place.

    A loop and the error it meets, or a drop in use and the withdrawal, are one thing that happened.
    """
    groups: list[tuple[Detection, list[Detection]]] = []
    # First detections of one place do not overlap, so that by their start they are in order of their end too.
    places: dict[tuple[object, ...], list[tuple[datetime, int]]] = {}
    for detection in detections:
        cause = detection.cause or detection.pattern
        key = (detection.source, detection.subject, detection.target, detection.thread, cause)
        known = places.setdefault(key, [])
        opened, closed = detection.opened_at, detection.closed_at
        low = bisect_left(known, opened, key=itemgetter(0))
        high = len(known) if closed is None else bisect_right(known, closed, key=itemgetter(0))
        if low:
            before = groups[known[low - 1][1]][0].closed_at
            low -= before is None or before >= opened
        if low < high:
            groups[min(number for _, number in known[low:high])][1].append(detection)
        else:
            known.insert(low, (opened, len(groups)))
            groups.append((detection, []))
    return [(first, tuple(others)) for first, others in groups]


def also_text(detection: Detection, others: Iterable[Detection]) -> str:
    """The other names of one cause: ' (also Action loop)'; '' without any."""
    names = dict.fromkeys(title_of(other) for other in others)
    names.pop(title_of(detection), None)
    return f" (also {', '.join(names)})" if names else ""


def by_severity(detections: Iterable[Detection]) -> str:
    """Counts by severity, highest first.

    >>> by_severity([])
    ''
    """
    counts = Counter(detection.severity for detection in detections)
    return ", ".join(
        f"{counts[severity]} {severity}" for severity in reversed(SEVERITIES) if counts[severity]
    )


# --- mutes ----------------------------------------------------------------------------------


def mute_text(entry: Mute) -> str:
    """The criteria of an entry."""
    whose = f" (from {clean(entry.untrusted, 120)}, not trusted)" if entry.untrusted else ""
    return ", ".join(f"{name} {clean(glob, 120)}" for name, glob in entry.criteria.items()) + whose


def until_text(entry: Mute, expired: frozenset[str]) -> str:
    """When an entry ends or ended."""
    if entry.until is None:
        return "no end"
    return f"{'expired ' if entry.id in expired else 'until '}{stamp(entry.until)}"


def mute_line(entry: Mute, now: datetime) -> str:
    """An entry on one line."""
    expired = frozenset({entry.id} if entry.is_expired(now) else ())
    return f"{entry.id}  {mute_text(entry)}  ({clean(entry.reason)}; {until_text(entry, expired)})"


# --- durations and costs --------------------------------------------------------------------


def duration_text(seconds: float) -> str:
    """A length of time in one or two units.

    >>> duration_text(0.4), duration_text(190), duration_text(7500), duration_text(200_000)
    ('under 1 s', '3 min 10 s', '2 h 5 min', '2 d 7 h')
    """
    if seconds < 1:
        return "under 1 s" if seconds else "0 s"
    left, parts = round(seconds), []
    for unit, size in (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1)):
        whole, left = divmod(left, size)
        if whole:
            parts.append(f"{whole:,} {unit}")
        elif parts:
            break
    return " ".join(parts[:2])


def times(n: int) -> str:
    """How often.

    >>> times(1), times(2), times(1200)
    ('once', 'twice', '1,200 times')
    """
    return {1: "once", 2: "twice"}.get(n, f"{n:,} times")


def costs(tokens: float | None, seconds: float | None, cost: float | None) -> list[str]:
    """What is known of tokens, time and money spent."""
    parts = [] if tokens is None else [plural(round(tokens), "token")]
    if seconds is not None:
        parts.append(duration_text(seconds))
    return parts if cost is None else [*parts, f"${cost:,.2f}" if cost >= 0.1 or not cost else f"${cost:.4f}"]


# --- figures --------------------------------------------------------------------------------


def within(value: float, low: float | None, high: float | None) -> str:
    """A figure with its interval."""
    return f"{value:.2f}" if low is None or high is None else f"{value:.2f} ({low:.2f} to {high:.2f})"


def p_text(p: float) -> str:
    """A p-value.

    >>> p_text(0.0321), p_text(0.0001)
    ('p = 0.032', 'p < 0.001')
    """
    return f"p = {p:.3f}" if p >= 0.0005 else "p < 0.001"


def risk_number(value: float) -> str:
    """A risk to two places; one that rounds to nothing is shown as such.

    >>> risk_number(0.412), risk_number(0.0), risk_number(0.0004)
    ('0.41', '0.00', '<0.01')
    """
    # A risk is known to six places, and its parts are no more exact.
    return "<0.01" if 0 < round(value, 6) < 0.005 else f"{value:.2f}"


def risk_text(assessment: Assessment, timed: bool) -> str:
    """A risk with its severity, and the time it is as of."""
    severity = f" ({assessment.composition.mode})" if assessment.composition.mode else ""
    as_of = f", as of {stamp(assessment.as_of)} UTC" if timed else ""
    return f"{risk_number(assessment.overall_risk)}{severity}{as_of}"


def counts_text(precision: Precision) -> str:
    """The counts of verdicts.

    >>> from ethogram.risk.accuracy import Precision
    >>> from ethogram.risk.verdicts import Counts
    >>> counts_text(Precision(Counts(confirmed=3, missed=1)))
    '3 confirmed, 0 false alarms, 1 missed, 0 correct silences'
    """
    counts = precision.counts
    parts = [f"{counts.confirmed:,} confirmed", plural(counts.false_alarm, "false alarm")]
    parts += [f"{counts.missed:,} missed", plural(counts.correct_silence, "correct silence")]
    return ", ".join([*parts, f"{counts.disputed:,} disputed"] if counts.disputed else parts)


def precision_text(precision: Precision) -> str:
    """Precision with its interval, or that there are too few verdicts."""
    if precision.precision is None:
        return f"insufficient verdicts ({precision.counts.judged} of {precision.minimum})"
    return within(precision.precision, precision.precision_low, precision.precision_high)


# --- input and scores -----------------------------------------------------------------------


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


def skipped_text(what: str, n: int, names: Sequence[str] = ()) -> str:
    """How much of what was skipped; of files, the names of the first.

    >>> skipped_text("files that are not events", 1, ["a/notes.md"])
    '1 file that is not events: a/notes.md'
    """
    if what != "files that are not events":
        return f"{n:,} {clean(what)}"
    some = ", ".join(map(clean, names)) + (", ..." if 0 < len(names) < n else "")
    return (f"{n:,} files that are" if n != 1 else "1 file that is") + " not events" + (some and f": {some}")
