"""Patterns as text: lists, one pattern in full, backtests, and figures on labelled data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .text import detection_parts
from .wording import aligned, clean, plural, printable, stamp

if TYPE_CHECKING:
    from rich.console import RenderableType

    from ..app.backtest import BacktestResult


Record = Mapping[str, Any]


def pattern_rows(records: Iterable[Record]) -> Iterator[str]:
    """One line for each record of a list, in columns; those that are off say so."""
    rows = [
        (each["name"], _status(each), each["shape"], ", ".join(each["severities"]), _title(each))
        for each in records
    ]
    return map(printable, aligned(rows))


def pattern_lines(record: Record, origins: Mapping[str, str]) -> list[str]:
    """Everything of a full record that a person wants to read."""
    from io import StringIO

    from ruamel.yaml import YAML

    writer, meaning = YAML(), StringIO()
    writer.width = 100_000  # long expressions on one line
    writer.indent(mapping=2, sequence=4, offset=2)
    writer.dump(dict(record["meaning"]), meaning)
    origin = origins.get(f"status.{record['name']}")
    lines = [
        f"{record['name']}: {record['title']}",
        record["description"] or "",
        "",
        f"status: {_status(record)}" + ("" if origin is None else f", from {origin}"),
        f"severity: {', '.join(record['severities'])}",
        f"version: {', '.join(record['versions'].values())}",
        f"cause: {record['cause']}",
        f"group_by: {', '.join(record['group_by'])}",
        f"file: {record['path']}" + (f", pack {record['pack']}" if record.get("pack") else ""),
        *_section("parameters", map(_parameter, record["parameters"])),
        "",
        *meaning.getvalue().splitlines(),
        *_text("explanation", record["explanation"]),
        *_section("false positives", record["false_positives"]),
        *_section("misses", record["misses"]),
        *_text("triage", record["triage"]),
        *_text("recommendation", record["recommendation"]),
        *_section("fires in", record["examples"]["fires"]),
        *_section("quiet in", record["examples"]["quiet"]),
        *_section("references", record["references"]),
    ]
    return [printable(line) for line in lines]


def _status(record: Record) -> str:
    """The status, whether it is off, and what real data say."""
    text = str(record["status"]) + ("" if record["on"] else " (off)")
    return f"{text}, {record['evidence']}" if record["evidence"] else text


def _title(record: Record) -> str:
    """The title, and the pack that brought the pattern."""
    return f"{record['title']}  [pack {record['pack']}]" if record.get("pack") else str(record["title"])


def _parameter(record: Record) -> str:
    text = f"{record['name']}: {record['value']:g}, from "
    if record["from"] == "pattern file":
        return f"{text}the pattern file"
    return f"{text}{record['from']} ({record['in_file']:g} in the pattern file)"


def _section(title: str, items: Iterable[str]) -> list[str]:
    lines = [f"  - {item}" for item in items]
    return ["", f"{title}:", *lines] if lines else []


def _text(title: str, text: str | None) -> list[str]:
    return ["", f"{title}: {text}"] if text else []


# --- backtests ------------------------------------------------------------------------------


def backtest_parts(result: BacktestResult) -> Iterator[RenderableType]:
    """Every pattern: how often it matched, how often by chance, which others overlap, and examples."""
    when = "" if result.since is None else f", detected since {stamp(result.since)} UTC"
    yield f"{plural(result.events, 'event')}{when}."
    if not result.backtests:
        yield "No shadow pattern: set `status: shadow` in its file, or under status: in the settings."
    for backtest in result.backtests:
        yield ""
        severities = ", ".join(
            f"{count} {severity}" for severity, count in backtest.by_severity.items() if count
        )
        detections = plural(backtest.detections, "detection") + (f" ({severities})" if severities else "")
        histories = f"{backtest.histories:,} of {plural(backtest.looked_at, 'history')}"
        yield f"{clean(backtest.pattern)}: {detections} in {histories}"
        if (fields := result.lacking.get(backtest.pattern)) is not None:
            yield f"  not applicable: it groups events by {' or '.join(fields)}, which no event here has"
            continue
        yield f"  {chance_text(backtest.detections, backtest.shuffled, backtest.lift)}"
        if backtest.by_week:
            yield "  by week: " + ", ".join(f"{week} {count}" for week, count in backtest.by_week.items())
        for other in backtest.overlaps[:5]:
            often = f", {other.together:.1f} times as often beside it" if other.together else ""
            share = f"{other.covered:.0%} of its events{often} (Jaccard {other.jaccard:.2f})"
            yield f"  overlaps with {clean(other.other)}: {share}"
        for example in backtest.examples:
            yield ""
            yield from detection_parts(example, timed=example.source not in result.untimed)
    for pair in result.against:
        yield ""
        counts = f"{pair.both} by both, {pair.only} only by it, {pair.only_other} only by the other"
        pairs = f"{clean(pair.pattern)} against {clean(pair.other)}"
        yield f"{pairs}: {plural(pair.detections, 'detection')}, {counts}"


def chance_text(detections: int, shuffled: Sequence[int], lift: float | None) -> str:
    """How often a pattern matches in shuffled histories.

    >>> chance_text(8, [1, 3], 4.0)
    'in shuffled histories 2.0 on average: 4.0 times as many in the real ones'
    """
    if not shuffled:
        return "not compared with shuffled histories"
    mean = sum(shuffled) / len(shuffled)
    if lift is None:
        return f"none in {plural(len(shuffled), 'shuffle')} of the same histories"
    return f"in shuffled histories {mean:.1f} on average: {lift:.1f} times as many in the real ones"


# --- labelled data --------------------------------------------------------------------------

HEAD = f"{'precision (95 %)':18}  {'recall':18}  {'false alarms':18}  AUROC"
FIGURES = {"precision": "precision", "recall": "recall", "false_alarms": "false alarms", "auroc": "AUROC"}


def labelled_lines(records: Sequence[Record]) -> Iterator[str]:
    """The figures, split by split."""
    whole = records[-1]
    limit = f" (severity {whole['severity']} or above)" if whole["severity"] != "any" else ""
    yield f"{whole['set']}: {plural(whole['things'], 'label')}, {plural(whole['targets'], 'target')}{limit}"
    if whole["not_found"]:
        some = ", ".join(whole["not_found_first"])
        yield f"Skipped: {plural(whole['not_found'], 'label')} that no event matches; first: {some}"
    rows = [record for record in records if record["record"] == "labelled"]
    for split in dict.fromkeys(row["split"] for row in rows):
        yield from _split(split, [row for row in rows if row["split"] == split])
    for record in records:
        if record["record"] == "labelled_compared":
            yield from _compared(record)


def too_little(records: Sequence[Record]) -> str:
    """What cannot be measured with these labels; '' where there are both kinds.

    >>> too_little([{"record": "labelled"}, {"things": 3, "targets": 0}])
    'no label is a target: recall is undefined, and every detection is a false alarm'
    """
    whole = records[-1]
    if not any(record["record"] == "labelled" for record in records[:-1]):
        return "no label is about a pattern that was checked"
    if not whole["targets"]:
        return "no label is a target: recall is undefined, and every detection is a false alarm"
    if whole["targets"] == whole["things"]:
        return "every label is a target: false alarms are undefined, and no detection can be wrong"
    return ""


def _split(split: str, rows: Sequence[Record]) -> Iterator[str]:
    yield ""
    # All together says nothing more where there is one pattern.
    rows = rows if len(rows) > 2 else rows[-1:]
    first = rows[0]
    counts = f"{plural(first['things'], 'label')} in {plural(first['groups'], 'group')}"
    yield f"{_split_name(split)}: {counts}, {plural(first['targets'], 'target')}"
    shown = [row for row in rows if row["marked"]]
    trivial = {
        "(marking all)" if each["name"] == "all" else f"({each['name']} alone)": each
        for each in first["trivial"]
    }
    width = max(len(text) for text in ("pattern", *trivial, *(row["pattern"] for row in shown)))
    yield f"  {'pattern':{width}}  marked  {HEAD}"
    for row in shown:
        figures = "  ".join(f"{_within(row[key]):18}" for key in ("precision", "recall", "false_alarms"))
        yield f"  {row['pattern']:{width}}  {row['marked']:6}  {figures}  {_within(row['auroc'])}"
    for text, each in trivial.items():
        yield f"  {text:{width}}       -  {_number(each['precision']):18}  {'':38}  {each['auroc']:.2f}"
    if quiet := unmarked(rows):
        yield f"  nothing marked: {', '.join(quiet)}"
    for row in shown:
        yield from _when(row)


def _split_name(split: str) -> str:
    return "all" if split == "any" else f"split {split}"


def unmarked(rows: Sequence[Record]) -> list[str]:
    """The patterns that mark nothing in any of their forms, by the names of their files."""
    marked = {row["pattern"].partition("@")[0] for row in rows if row["marked"]}
    names = dict.fromkeys(row["pattern"].partition("@")[0] for row in rows)
    return [name for name in names if name not in marked and name != "any"]


def p_text(p: float) -> str:
    """A p-value.

    >>> p_text(0.0321), p_text(0.0001)
    ('p = 0.032', 'p < 0.001')
    """
    return f"p = {p:.3f}" if p >= 0.0005 else "p < 0.001"


def _when(row: Record) -> Iterator[str]:
    ahead, after = row["horizon"], row["recovery"]
    if ahead["count"]:
        skipped = f"; {ahead['left_out']} skipped, already open" if ahead["left_out"] else ""
        lead = f"detected {plural(round(ahead['median']), 'event')} before the target (median)"
        yield f"  {row['pattern']}: {lead}, in {ahead['count']} of {ahead['of']}{skipped}"
    if after["of"]:
        lag = f"closed {_number(after['median'], 0)} events after the target ended (median)"
        yield f"  {row['pattern']}: {lag}, in {after['count']} of {after['of']} that were open then"


def _compared(record: Record) -> Iterator[str]:
    yield ""
    counts = f"right on {record['better']} where the other is wrong, wrong on {record['worse']}"
    p = p_text(record["p"])
    yield f"against the other version, {_split_name(record['split'])}: {counts} where it is right ({p})"
    for key, words in FIGURES.items():
        if (figure := record[key]) is not None:
            bounds = f"{figure['low']:+.2f} to {figure['high']:+.2f}"
            yield f"  {words:14} {figure['value']:+.2f} ({bounds}), {p_text(figure['p'])}"


def _within(figure: Record | None) -> str:
    if figure is None or figure["value"] is None:
        return "-"
    return f"{figure['value']:.2f} ({figure['low']:.2f}-{figure['high']:.2f})"


def _number(value: float | None, digits: int = 2) -> str:
    return "-" if value is None else f"{value:.{digits}f}"
