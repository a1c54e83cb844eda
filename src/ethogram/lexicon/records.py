"""The result of a scan: flags on a message, and what they add up to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING

from ..models.record import Record
from ..models.slotted import dataclass

if TYPE_CHECKING:
    from ..fields import Amount, Count, Name, Tier


# The traits whose flags raise the tier.
NEGATIVE = frozenset(
    ("manipulation", "deception", "fabrication", "broken_logic", "dismissal", "exploitation")
)
HARD_CONSTRAINT = "hard_constraint"  # in place of a trait, of the seven hard constraints
TIERS = ("standard", "focused", "deep", "deep_with_context")  # how closely a message is evaluated
DEEP_FROM = 4  # flags from which a message is evaluated thoroughly


@dataclass(frozen=True, slots=True)
class Flag(Record):
    """A phrase of the lexicon that stands in a text, from `start` up to and without `end`.

    `phrase` names the entry of the lexicon. A flag that is `negated` ("no need to act now"), `quoted`
    ("he said 'act now'") or `mentioned` ("the phrase act now") is kept but does not count.
    """

    trait: Name
    category: Name
    phrase: Name
    start: Count
    end: Count
    negated: bool = False
    quoted: bool = False
    mentioned: bool = False

    @property
    def counts(self) -> bool:
        """Whether the author uses the phrase, rather than denies, quotes or mentions it."""
        return not (self.negated or self.quoted or self.mentioned)

    @property
    def raises(self) -> bool:
        """Whether it raises the tier."""
        return self.counts and (self.trait in NEGATIVE or self.trait == HARD_CONSTRAINT)


@dataclass(frozen=True, slots=True)
class Scan(Record):
    """What the scanner finds in one message. Counts are null where the language is not known.

    `language` is None where it is none the lexicon knows: then nothing was measured, and the counts are
    None, which is not 0. `lexicon` is the version of the lexicon. `cut` says that the text was longer
    than is looked at.
    """

    RECORD = "scan"
    JSON = "tier count negative density by_trait by_category hard_constraint words language cut lexicon flags"

    flags: tuple[Flag, ...]
    words: Count
    language: str | None
    lexicon: Name
    cut: bool = False

    @property
    def measured(self) -> bool:
        """Whether the text could be looked at."""
        return self.language is not None

    @property
    def count(self) -> Count | None:
        """How many flags count, of all traits."""
        return sum(flag.counts for flag in self.flags) if self.measured else None

    @property
    def negative(self) -> Count | None:
        """How many flags of negative traits and hard constraints count."""
        return sum(flag.raises for flag in self.flags) if self.measured else None

    @property
    def density(self) -> Amount | None:
        """Flags that count per 100 words."""
        count = self.count
        return None if count is None else 100 * count / max(1, self.words)

    @property
    def by_trait(self) -> Mapping[str, Count] | None:
        """How many flags count, for each trait that has any."""
        return self._counts("trait")

    @property
    def by_category(self) -> Mapping[str, Count] | None:
        """How many flags count, for each category that has any."""
        return self._counts("category")

    @property
    def hard_constraint(self) -> tuple[Name, ...]:
        """The hard constraints that are touched: a reason to look closely, never a finding."""
        categories = {flag.category for flag in self.flags if flag.trait == HARD_CONSTRAINT and flag.counts}
        return tuple(sorted(categories))

    @property
    def tier(self) -> Tier:
        """How closely this message by itself is to be looked at; one that was not measured is standard."""
        negative = self.negative
        if not negative:
            return "standard"
        if self.hard_constraint:
            return "deep_with_context"
        return "deep" if negative >= DEEP_FROM else "focused"

    def _counts(self, field: str) -> Mapping[str, int] | None:
        if not self.measured:
            return None
        if not self.flags:
            return {}
        return dict(sorted(Counter(getattr(flag, field) for flag in self.flags if flag.counts).items()))
