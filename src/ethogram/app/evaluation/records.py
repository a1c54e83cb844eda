"""Records of an evaluation: one for each message, and a summary."""

from __future__ import annotations

from collections.abc import Mapping

from ...evaluators.base import Evaluation, Usage
from ...fields import Count, Dollars, Ratio, RecordStruct, ScoredTier, Trait
from ...models.record import decimals


class EvaluationRecord(RecordStruct):
    """Scores of one message. A trait that is left out was not measured."""

    RECORD = "evaluation"
    FLAT = ("answer",)

    source: str
    id: str
    subject: str
    tier: ScoredTier
    text_digest: str
    """Digest of the text in which start and end are places."""
    answer: Evaluation


class NotMeasuredRecord(RecordStruct):
    """A message that an evaluator gave no answer for."""

    RECORD = "not_measured"

    source: str
    id: str
    reason: str


class TierCost(RecordStruct):
    """What one tier took."""

    DECIMALS = decimals(6, "cost")

    tier: ScoredTier
    messages: Count
    cost: Dollars
    usage: Usage


class EvaluateSummary(RecordStruct):
    """What was scored, left out and spent: the last line of an evaluation."""

    RECORD = "evaluate_summary"
    DECIMALS = decimals(6, "share", "spent")

    evaluator: str
    scorer: str
    messages: Count
    evaluated: Count
    share: Ratio
    kept_before: Count
    """Answers of an earlier run."""
    untrusted: Count
    """Stored answers that somebody else changed; asked again."""
    not_measured: Count
    reasons: Mapping[str, Count]
    not_asked: Count
    """Left for the next run."""
    in_batches: Count
    """In a running batch, which will be billed."""
    stopped: str | None
    """budget, interrupted, or why else."""
    spent: Dollars
    traits: Mapping[str, Count]
    not_measured_traits: list[Trait]
    indicators: Count
    dropped: Mapping[str, Count]
    tiers: list[TierCost]
    copies: Count
    unknown_language: Count
