"""The model card of the local model, made from what was measured: no number in it is typed by hand."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from benchmarks.local_model.measure import SAMPLED
from ethogram.evaluators.local_model import STYLE

Numbers = dict[str, Any]

_TOP = """\
# Model card: the evaluator `local`

<!-- Written by benchmarks/local_model/train.py from what it measured; change it there. -->

`local` scores a message by its words alone, with no key and no network, and the same text gets the same
scores every time. It is a linear model over hashed words, pairs of words and runs of 3 to 5
characters, {style} measures of style, and what the [scanner](scanner.md) finds. It is small ({size} kB) and
knows no meaning: read its scores as *how much this sounds like messages that were scored high*.

Scorer `local@{version}`, trained with lexicon `{lexicon}`. With another lexicon it works as well as the
categories still mean the same.

## What it was trained on

{texts} messages of {authors_of_texts} agents of one network, and the beginnings of {parts} more (which
count half), all with twelve scores that **another model** gave (`moltbook_scored`, MIT licence). Nothing
else: sets without a licence or with one that forbids commercial use were not trained on, and pairs of
harmless and harmful talk from different places teach the place. No text and no word of the data is in the
package: n-grams are known by their hash alone, and those that fewer than three authors used have no weight.

## How far it agrees

**Agreement here is agreement with a machine**, not with people. All figures are for authors that the model
had not seen: {folds} folds by author, copies of a text in one fold, settings chosen within the folds. Rank
correlation (Spearman) on whole messages, with the interval that holds 95 % of {drawn} draws of authors. The
mean as an answer has none (0). *Scanner* is the same kind of model on the scanner's flags alone, *length*
on the number of words, *style* on the measures of style.

Only the penalty and the shares of style and scanner were chosen within the folds. Which features there are,
and what beginnings count, was chosen by comparing some twenty variants, and three versions of the whole, on
these same texts: expect a little less than the table says.
"""

_AHEAD = """
A trait is measured only where the whole interval of what the model is ahead of the scanner, and of length,
is above 0. {measured}

What sets one agent apart from another is easier to see than what sets one message of an agent apart from
its others, and patterns live on the second. So here is the rank correlation within authors, and, in the
last column, on beginnings of about 120 characters, whose labels are for the whole message:
"""

_HIGH = """
## What a score of 0.5 is worth

What the model adds up is brought to the scale of the labels: scores are *spread* like the labels are, in
the order the model gives. So there are about as many high scores as high labels, but they are often not on
the same messages. *Right* is the share of scores of 0.5 and more whose label is 0.5 or more; *caught* the
share of such labels that got such a score; *base* how often such labels are. The last two columns are the
mean absolute error, beside that of always answering with the mean.
"""

_ELSEWHERE = """
## Elsewhere

The share of messages scored 0.5 or more in talk that gives no cause, {sampled} messages of each set at
most. None of it was trained on, but it was looked at: that the style of short texts is believed less was
decided because an earlier version gave too many high scores here. So this is no test, and new talk will
have more of them:
"""

_FILM = """
Film dialogues, manipulative or not as people judged (AUROC, 0.5 is chance). Not trained on; the figures of
earlier versions were seen. {film}
"""

_PROBES = """
Short messages written by hand, each kind against plain ones: how many of the pairs the model orders as a
reader would (a tie counts as wrong). They were seen while the model was made, as the sets above.
In all {right} of {pairs}. {weak}
"""

_END = """
## Indicators

An indicator is given only with the words that show it: a phrase of a category of the lexicon that stands
for it, in the author's own words (not denied, quoted or mentioned), and only where the trait's score is
0.25 or more. Its confidence is the share of such messages whose labels name the indicator as well: measured
for {own} categories of {categories}, and {usual} for all others, which is the share over all of them.

## Where it is blind

- It reads one message. What a promise, a threat or a joke is in its thread, it cannot tell.
- It is trained on posts of agents, most of 200 characters and more. Chat, mail and short messages sound
  different: see the tables above. Fewer than 3 words are *not measured*, and the style of short texts is
  believed less.
- It knows no facts. A fabrication that is calmly put sounds like a report, and `accuracy` is how a careful
  text sounds.
- Polite pressure, irony and flattery without the usual words pass; loud but harmless advertising does not.
- Texts in a language that the lexicon does not know are *not measured*. Only the first 8,000 characters are
  read.
- Traits go together: a text that sounds like spam is high on most negative ones at once.
- The labels come from one model, one prompt and one network. Their mistakes are learned too.

Do not act on one score. What it is for is many readings of one subject over time, and choosing what to look
at more closely.
"""


def write_card(numbers: Numbers) -> str:
    """The card as a page."""
    probes = numbers["probes"].values()
    words = {name.replace(" ", "_"): value for name, value in numbers.items()}
    parts = [
        _TOP.format(**{**words, "style": len(STYLE), "size": round(numbers["bytes"] / 1000)}),
        _agreement(numbers),
        _AHEAD.format(measured=_measured(numbers)),
        _within(numbers),
        _HIGH,
        _high(numbers),
        _ELSEWHERE.format(sampled=f"{SAMPLED:,}"),
        _harmless(numbers),
        _FILM.format(film=_film(numbers)),
        _table(("what is asked", "AUROC"), ((name, _interval(one)) for name, one in numbers["film"].items())),
        _PROBES.format(
            right=sum(one[0] for one in probes), pairs=sum(one[1] for one in probes), weak=_weak(numbers)
        ),
        _table(
            ("trait and kind", "ordered right"),
            ((k, f"{a} of {b}") for k, (a, b) in numbers["probes"].items()),
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
        (trait, _interval(one["model"]), _interval(one["scanner"]), _interval(one["ahead of scanner"]),
         _number(one["length"][0]), _number(one["style"][0]),
         "yes" if trait in numbers["measured"] else "**no**")
        for trait, one in numbers["agreement"].items()
    )  # fmt: skip
    return _table(("trait", "model", "scanner", "ahead of scanner", "length", "style", "measured"), rows)


def _measured(numbers: Numbers) -> str:
    out = [trait for trait in numbers["agreement"] if trait not in numbers["measured"]]
    if not out:
        return "That is so for all twelve."
    return f"That is not so for {', '.join(out)}: there is no reading of these."


def _film(numbers: Numbers) -> str:
    best = max((one[0] for name, one in numbers["film"].items() if name.startswith("model")), default=0.0)
    if not numbers["film"] or best > numbers["film"]["length"][2]:
        return ""
    return "**The model tells them apart no better than their length does.**"


def _weak(numbers: Numbers) -> str:
    weak = [name for name, (right, pairs) in numbers["probes"].items() if 2 * right <= pairs]
    return f"**No better than chance, or worse: {', '.join(weak)}.**" if weak else ""


def _within(numbers: Numbers) -> str:
    rows = (
        (trait, _interval(one), _interval(numbers["parts agreement"][trait]["model"]))
        for trait, one in numbers["within authors"].items()
    )
    return _table(("trait", "within authors", "beginnings"), rows)


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
