"""Accuracy: what the verdicts of a store come to, those too that are gone, and how far judges agree."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from ..config import Settings
from ..config.settings import learning_in
from ..errors import BadUsage, did_you_mean
from ..library.parts import base
from ..records import Detection, Verdict
from ..risk.accuracy import Accuracy, accuracy
from ..risk.judges import Agreement, agreement, second_look
from ..risk.tally import Counts, Slot, added, tally
from ..stores.protocol import Store
from .risk import every_file


def counts_of(store: Store, as_of: datetime | None = None) -> dict[Slot, Counts]:
    """The counts of all verdicts, those that are gone too."""
    said = store.verdicts()
    ids = {one.detection for one in said if one.detection is not None}
    untimed = {one.name for one in store.sources().values() if not one.timed}
    found, ends = store.detections(ids=ids), store.silence_ends()
    return added(store.verdict_counts(), tally(said, found, ends=ends, untimed=untimed, as_of=as_of))


def accuracies(
    store: Store, pattern: str | None = None, *, minimum: int, silences: int = 0
) -> list[Accuracy]:
    """What is known of each version of a pattern, or of all.

    `silences` is how many stretches without a detection there were, where those judged were drawn at random;
    BadUsage where more were judged.
    """
    counts = counts_of(store)
    names = sorted({slot.pattern for slot in counts})
    chosen = [one for one in names if pattern is None or pattern in (one, base(one))]
    unjudged = _unjudged(store, chosen)
    found = [
        one
        for name in chosen
        for one in accuracy(counts, name, minimum=minimum, unjudged=unjudged, silences=silences)
    ]
    for one in found:
        looked_at = one.whole.counts.missed + one.whole.counts.correct_silence
        if 0 < silences < looked_at:
            raise BadUsage(
                f"of {one.pattern} {looked_at} silences were judged, which cannot be drawn from {silences}: "
                "say how many there were in all"
            )
    return found


def check_pattern(store: Store, pattern: str, settings: Settings) -> None:
    """BadUsage where there is no pattern of that name, in the library, in detections or in verdicts."""
    names = {slot.pattern for slot in store.verdict_counts()} | {one.pattern for one in store.verdicts()}
    known = names | {base(one) for one in names}
    if pattern in known or store.detections(patterns=[pattern]):
        return
    files = every_file(settings)
    if base(pattern) not in files:
        raise BadUsage(f"there is no pattern {pattern!r:.60}{did_you_mean(pattern, {*files, *known})}")


def _unjudged(store: Store, patterns: Iterable[str]) -> dict[tuple[str, str], int]:
    """How many detections that stand nobody has judged, by pattern and version."""
    judged = {one.detection for one in store.verdicts()}
    found = store.detections(patterns=patterns, states=["opened", "closed"])
    going = store.settled_detections()
    out: dict[tuple[str, str], int] = {}
    for one in found:
        if one.id not in judged and one.id not in going:
            out[one.pattern, one.version] = out.get((one.pattern, one.version), 0) + 1
    return out


def agreed(store: Store, pattern: str | None = None, *, blind: bool = False) -> Agreement:
    """How far judges agree; `blind`: only where all but the first could not see what was said before."""
    said = [one for one in store.verdicts() if pattern is None or pattern in (one.pattern, base(one.pattern))]
    return agreement(_blind(said) if blind else said)


def _blind(said: Sequence[Verdict]) -> list[Verdict]:
    """Of each detection the first judge's verdicts, and those of later ones who were not told of them."""
    first: dict[str | None, str] = {}
    for one in said:
        first.setdefault(one.detection, one.by)
    return [one for one in said if one.blind or first[one.detection] == one.by]


def to_look_at(store: Store, judge: str, settings: Settings, pattern: str | None = None) -> list[Detection]:
    """Detections that a second judge should judge too, in an order that tells nothing of what was said."""
    said = [one for one in store.verdicts() if pattern is None or pattern in (one.pattern, base(one.pattern))]
    ids = second_look(said, judge, share=learning_in(settings)["second_look"])
    found = {one.id: one for one in store.detections(ids=ids)}
    return [found[one] for one in ids if one in found]
