"""The model card of the local model, generated from its measurements."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from benchmarks.local_model.measure import SAMPLED
from ethogram.evaluators.local_model import STYLE

Numbers = dict[str, Any]

WORDS = "words, same texts"

_TOP = """\
# Model card: the evaluator `local`

<!-- Written by benchmarks/local_model/train.py from what it measured; change it there. -->

`local` scores a message by its words alone, without key or network; the same text always gets the same
scores. It is a linear model over the vector of the embedder `static`, {pieces} word pieces, {style} style
measures, and the flags of the [scanner](scanner.md). It has {size} kB and no understanding: read a score as
*how much this sounds like messages that were scored high*.

Scorer `local@{version}`, trained with lexicon `{lexicon}`; another lexicon works as far as its categories
mean the same.

## Training data

- {texts} messages of {authors_of_texts} agents of one network, and the first characters of {parts} more (half
  weight), with twelve scores by **another model** (`moltbook_scored`, MIT licence).
- Texts of our own, each beside its nearest neighbour that does not show the trait: {own}.

Sets without a licence or without commercial use were not used. The package contains no text of the data:
only weights of word pieces, and none for pieces of fewer than three authors.

## Agreement

How far it agrees with **people** is in [quality](quality.md#readings-of-single-messages). Here agreement is
**with a machine**, for unseen authors: {folds} folds by author, copies of a text in one fold. Spearman rank
correlation on whole messages; intervals cover 95 % of {drawn} draws of authors. *Words* is a bag of words
trained on the same messages; *scanner* and *length* are the same kind of model on scanner flags or word count
alone.

The features, and the rule below, were chosen with figures of about thirty variants on these same texts in
sight: expect a little less.
"""

_AHEAD = """
A trait is measured only if it is ahead of the bag of words, over unseen authors and within authors (below)
added up, and clearly ahead of scanner and length. For manipulation and dismissal, which have texts of our
own, the sets that people labelled decide: {sets}. {measured}

Patterns depend on differences between messages of one author, which are harder than differences between
authors. Rank correlation within authors, and on the first 120 characters or so, labelled as whole messages:
"""

_HIGH = """
## High scores

Scores are spread like the labels, in the order the model gives: there are about as many high scores as high
labels, but often on other messages. *Right*: share of scores of 0.5 or more with such a label. *Caught*:
share of such labels with such a score. *Base*: share of such labels. *Error*: mean absolute error, beside
that of always answering the mean.
"""

_ELSEWHERE = """
## Other data

Share of messages scored 0.5 or more in harmless talk, at most {sampled} messages per set. None of it was used
for training, but it was seen: short texts lose style weight because an earlier version scored too high here.
Expect more on new data.
"""

_PROBES = """
Short messages written by hand, each kind against plain ones: pairs that the model orders as a reader would
(ties count as wrong). They were seen during development. In all {right} of {pairs}. {weak}
"""

_END = """
## Indicators

An indicator needs a phrase of a lexicon category that stands for it, in the author's own words (not negated,
quoted or mentioned), and a trait score of 0.25 or more. Its confidence is the share of such messages whose
labels name it too: measured for {own} of {categories} categories, {usual} (the share over all) for others.

## Limits

- It reads one message, without its thread.
- Most traits were trained only on posts of agents, mostly of 200 characters and more. Chat, mail and short
  messages differ: see the tables. Fewer than 3 words are *not measured*.
- From its scores the patterns that are on found none of 52 unseen histories with a pattern
  ([quality](quality.md#on-unseen-text-and-logs)).
- It knows no facts. A calm fabrication sounds like a report; `accuracy` is how a careful text sounds.
- It misses polite pressure, irony and unusual flattery, and flags loud but harmless advertising.
- Languages that the lexicon does not know are *not measured*. Only the first 4,000 characters are read.
- Traits correlate: text that sounds like spam is high on most negative ones.
- The labels come from one model, one prompt and one network, mistakes included.

Do not act on one score. Use many readings of one subject over time, or use it to choose what to read.
"""


def write_card(numbers: Numbers) -> str:
    """Return the card as Markdown."""
    probes = numbers["probes"].values()
    own = ", ".join(f"{count} pairs for {trait}" for trait, count in numbers["pairs"].items())
    words = {name.replace(" ", "_"): value for name, value in numbers.items()}
    parts = [
        _TOP.format(**{**words, "style": len(STYLE), "size": round(numbers["bytes"] / 1000), "own": own}),
        _agreement(numbers),
        _AHEAD.format(measured=_measured(numbers), sets=_sets(numbers)),
        _within(numbers),
        _HIGH,
        _high(numbers),
        _ELSEWHERE.format(sampled=f"{SAMPLED:,}"),
        _harmless(numbers),
        _PROBES.format(
            right=sum(one[0] for one in probes), pairs=sum(one[1] for one in probes), weak=_weak(numbers)
        ),
        _table(
            ("trait and kind", "ordered right"),
            ((k, f"{a} of {b}") for k, (a, b) in numbers["probes"].items() if b),
        ),
        _END.format(
            own=numbers["indicators"]["with their own"],
            categories=numbers["indicators"]["categories"],
            usual=numbers["indicators"]["usual confidence"],
        ),
    ]
    return "".join(parts)


def _agreement(numbers: Numbers) -> str:
    rows = (
        (trait, _interval(one["model"]), _interval(one["words"]), _interval(one["ahead of words"]),
         _number(one["scanner"][0]), _number(one["length"][0]),
         "yes" if trait in numbers["measured"] else "**no**")
        for trait, one in numbers["agreement"].items()
    )  # fmt: skip
    return _table(("trait", "model", "words", "ahead of words", "scanner", "length", "measured"), rows)


def _measured(numbers: Numbers) -> str:
    out = [trait for trait in numbers["agreement"] if trait not in numbers["measured"]]
    if not out:
        return "All twelve are."
    return f"Not measured: {', '.join(out)}."


def _sets(numbers: Numbers) -> str:
    rows = [(name, rows) for name, rows in numbers["sets"].items() if rows["trait"] in numbers["pairs"]]
    texts = [
        f"{row['trait']} on `{name}` {_number(row['local'][0])}, words {_number(row[WORDS][0])}"
        for name, row in rows
    ]
    return "AUROC of " + "; ".join(texts) if rows else "none was there"


def _weak(numbers: Numbers) -> str:
    weak = [name for name, (right, pairs) in numbers["probes"].items() if pairs and 2 * right <= pairs]
    return f"**No better than chance, or worse: {', '.join(weak)}.**" if weak else ""


def _within(numbers: Numbers) -> str:
    rows = (
        (trait, _interval(one), _interval(numbers["within authors"]["words"][trait]),
         _interval(numbers["parts agreement"][trait]["model"]))
        for trait, one in numbers["within authors"]["model"].items()
    )  # fmt: skip
    return _table(("trait", "within authors", "words, within authors", "beginnings"), rows)


def _high(numbers: Numbers) -> str:
    rows = (
        (trait, str(one["high"]), _interval(one["right"]) if one["right"] else "-", _share(one["caught"]),
         _share(one["base"]), _number(one["error"]), _number(one["error of the mean"]))
        for trait, one in numbers["high scores"].items()
    )  # fmt: skip
    return _table(("trait", "scores", "right", "caught", "base", "error", "of the mean"), rows)


def _harmless(numbers: Numbers) -> str:
    traits = ("manipulation", "deception", "fabrication", "dismissal", "exploitation")
    rows = (
        (
            f"`{name}`",
            f"{one['messages']:,}",
            _share(one["measured"]),
            *(_share(one.get(trait)) for trait in traits),
        )
        for name, one in numbers["harmless"].items()
    )
    return _table(("set", "messages", "measured", *traits), rows)


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "\n" + "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _interval(values: list[float]) -> str:
    value, low, high = values
    return f"{_number(value)} ({_number(low)} to {_number(high)})"


def _number(value: float) -> str:
    return f"{value:.2f}"


def _share(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.1f} %"
