"""Scores as text: scans, evaluations, and two evaluators compared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .coverage import untrusted_answers
from .wording import plural, printable

if TYPE_CHECKING:
    from ..app.evaluation.scoring import Evaluated
    from ..app.evaluation.triage import Scanned


MOST = 20
"""Messages without an answer that are named one by one."""


def scan_lines(scan: Scanned) -> Iterator[str]:
    """Tiers, categories, subjects and the cost of evaluating."""
    record = scan.to_dict()
    yield f"{plural(scan.messages, 'message')} in {plural(scan.threads, 'thread')}"
    if scan.without_text:
        yield f"{plural(scan.without_text, 'event')} without text skipped"
    yield f"{plural(scan.copies, 'message')} repeated by their subject, counted once"
    if scan.unknown_language:
        yield f"{plural(scan.unknown_language, 'message')} in a language the lexicon does not cover"
    yield ""
    yield "tier                messages   share   expected"
    for tier in record["tiers"]:
        low, high = tier["expected"]
        expected = f"at least {low:.0%}" if low else f"at most {high:.0%}"
        mark = "" if tier["as_expected"] else "   not as expected"
        yield f"{tier['tier']:18}  {tier['messages']:8}  {tier['share']:6.2%}   {expected}{mark}"
    yield f"{scan.upgraded} upgraded by their thread, {scan.sampled} sampled from those without a flag"
    yield ""
    yield from _named("thread signals", scan.signals.most_common())
    yield from _named("most frequent categories", scan.by_category.most_common(10))
    flagged = [
        (row["subject"], f"{row['messages']} ({row['flags']} flags)") for row in record["most_flagged"]
    ]
    yield from _named("most flagged subjects, by messages", flagged)
    yield ""
    yield "cost of evaluating        messages   low      high"
    for tier, (low, high) in record["cost"]["llm"].items():
        count = scan.evaluated.get(tier, sum(scan.evaluated.values()))
        yield f"{tier:18}  {count:14}   ${low:<8.2f}${high:.2f}"
    yield "with the evaluator `local`: nothing"


def _named(title: str, rows: Sequence[tuple[str, object]]) -> Iterator[str]:
    if rows:
        yield f"{title}: " + ", ".join(f"{printable(str(name))} {value}" for name, value in rows)


def evaluation_lines(result: Evaluated) -> Iterator[str]:
    """How many messages were scored, at what cost, and which were not."""
    record = result.to_dict()
    scored = f"{record['evaluated']:,} of {plural(record['messages'], 'message')} scored"
    yield f"{scored} ({record['share']:.1%}) by {printable(result.scorer)}"
    if record["kept_before"]:
        yield f"{plural(record['kept_before'], 'answer')} reused from before, at no cost"
    if record["untrusted"]:
        yield untrusted_answers(record["untrusted"])
    if record["copies"]:
        yield f"{plural(record['copies'], 'message')} repeated by their subject, not scored again"
    if record["unknown_language"]:
        count = plural(record["unknown_language"], "message")
        yield f"{count} in a language the lexicon does not cover, not scored"
    yield ""
    yield "tier                messages   cost"
    for tier in record["tiers"]:
        cost = "unknown" if tier["cost"] is None else f"${tier['cost']:.4f}"
        yield f"{tier['tier']:18}  {tier['messages']:8,}   {cost}"
    spent = "unknown: no price for this model" if record["spent"] is None else f"${record['spent']:.4f}"
    yield f"spent: {spent}"
    yield f"indicators found: {record['indicators']:,}"
    if record["not_measured_traits"] and result.answers:
        yield f"traits it does not measure: {', '.join(record['not_measured_traits'])}"
    for reason, n in record["dropped"].items():
        yield f"dropped from answers: {n:,} x {reason}"
    final = Counter(why.reason for why in result.missing.values() if why.final)
    for reason, n in final.most_common():
        yield f"not scored, {plural(n, 'message')}: {reason}"
    if again := [(name, why.reason) for (_, name), why in result.missing.items() if not why.final]:
        yield ""
        yield f"not scored, {plural(len(again), 'message')}; the same command tries again:"
        yield from (printable(f"  {name}: {reason}") for name, reason in again[:MOST])
    if len(again) > MOST:
        yield f"  ... and {len(again) - MOST:,} more (all with --json)"
    if result.unasked:
        left = f"{plural(result.unasked, 'message')} not scored yet ({printable(result.stopped)})"
        yield f"{left}; run the same command again to continue"
    if result.in_jobs:
        yield f"{result.in_jobs:,} of them are in a running batch and will be billed"


def comparison_lines(record: Mapping[str, Any]) -> Iterator[str]:
    """How far two evaluators agree, what they cost, and which detections differ."""
    yield plural(record["messages"], "message")
    for name in ("a", "b"):
        side = record[name]
        cost = "cost unknown" if side["cost"] is None else f"${side['cost']:.4f}"
        missing = f", {side['not_measured']:,} not scored" if side["not_measured"] else ""
        yield printable(f"{name.upper()}: {side['scorer']}, {cost}, {side['seconds']:.1f} s{missing}")
    yield ""
    yield "trait           both   rank correlation (95 %)   mean A  mean B   strong in both / either"
    for trait in record["traits"]:
        if not trait["both"]:
            by = "A" if trait["measured_a"] else "B"
            yield f"{trait['trait']:14}     -   measured by {by} alone"
            continue
        bounds = f"({_number(trait['low'])} to {_number(trait['high'])})"
        means = f"{trait['mean_a']:6.2f}  {trait['mean_b']:6.2f}"
        strong = f"{trait['strong_both']:,} / {trait['strong_either']:,}"
        head = f"{trait['trait']:14} {trait['both']:5,}   {_number(trait['correlation'])}"
        yield f"{head} {bounds}   {means}   {strong}"
    signs, detections = record["indicators"], record["detections"]
    yield ""
    yield f"indicators: {signs['a']:,} by A, {signs['b']:,} by B, {signs['both']:,} by both"
    alone = f"{detections['only_a']:,} with A alone, {detections['only_b']:,} with B alone"
    yield f"detections: {detections['both']:,} with both, {alone}"
    for name, counts in detections["by_pattern"].items():
        yield printable(
            f"  {name}: {counts['both']} both, {counts['only_a']} A alone, {counts['only_b']} B alone"
        )


def _number(value: float | None) -> str:
    return "   - " if value is None else f"{value:5.2f}"
