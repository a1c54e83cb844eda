"""`ethogram signals`: the names a pattern may use, and what measures them: lexicon and evaluators."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from inspect import getdoc
from typing import Annotated, Any

from .. import registry
from ..errors import BadUsage, did_you_mean
from ..models import INPUT_SCORER
from ..patterns import catalogue
from ..patterns.listing import AttributeRow, CategoryRow, EvaluatorRow, IndicatorRow, SignalRow, TableRow
from ..report.rendering import rendered
from ..report.wording import aligned, printable
from ..signals.base import describe_range
from . import options as o
from .output import Progress, emit
from .scoring import AnswersFile, Budget, Sample, options_of

# --- names ----------------------------------------------------------------------------------


def list_names(
    indicators: Annotated[bool, o.opt("List the indicators an evaluator may find.", "--indicators")] = False,
    attributes: Annotated[bool, o.opt("List the attributes an event may carry.", "--attributes")] = False,
    tables: Annotated[bool, o.opt("List the tables of weights.", "--tables")] = False,
    as_json: o.AsJson = False,
    config: o.Config = "",
    plugins: o.Plugins = o.NONE,
) -> None:
    """List signals, indicators, attributes or tables."""
    lists: list[list[Any]] = []
    if indicators:
        rows = [
            IndicatorRow(
                name=indicator.id,
                trait=indicator.trait,
                dimension=indicator.dimension,
                polarity=indicator.polarity,
                description=indicator.name.replace("_", " "),
                definition=indicator.definition,
            )
            for indicator in catalogue.indicator_catalogue().values()
        ]
        lists.append(rows)
    if attributes:
        known = [attribute for _, attribute in sorted(catalogue.attribute_catalogue().items())]
        lists.append([AttributeRow(each.name, each.kind, each.description) for each in known])
    if tables:
        lists.append(
            [TableRow(name, len(values), values) for name, values in sorted(catalogue.load_tables().items())]
        )
    for records in lists or [signal_rows(o.load_config(config).settings.signals)]:
        columns = [name for name in records[0].__struct_fields__ if name != "values"]
        cells = [columns, *([_cell(name, record) for name in columns] for record in records)]
        emit(records, aligned(cells), as_json=as_json)


def signal_rows(declared: Mapping[str, str]) -> list[SignalRow]:
    """Every signal by name: measured here, in the catalogue of what scorers supply, or declared.

    `cost` is that of measuring it here: free, cheap or model; supplied ones come with the events.
    """
    catalogue.load_vocabulary(declared)  # a declaration that contradicts what is known is an error here too
    rows = {
        name: SignalRow(name, kind, None, "supplied", None, "declared in the settings")
        for name, kind in declared.items()
    }
    for name, entry in (*catalogue.signal_catalogue().items(), *registry.signals.items()):
        cost, version = getattr(entry, "cost", "supplied"), getattr(entry, "version", None)
        rows[name] = SignalRow(
            name, entry.kind, _range(entry.kind, entry.range), cost, version, entry.description
        )
    return [rows[name] for name in sorted(rows)]


def _range(kind: str, allowed: Any) -> Any:
    """[low, high] with null for no end; the categories; null for anything."""
    if allowed is None:
        return None
    if kind != "number":
        return list(allowed)
    return [None if math.isinf(end) else end for end in allowed]


def _cell(name: str, record: Any) -> str:
    value = getattr(record, name)
    if name == "range":
        return range_text(record.kind, value)
    return "-" if value is None else printable(str(value))


def range_text(kind: str, allowed: Sequence[Any] | None) -> str:
    """A range in words.

    >>> range_text("number", [0, None]), range_text("category", None), range_text("category", ["a", "b"])
    ('0 or more', 'any', 'a, b')
    """
    if allowed is None:
        return "any"
    if kind != "number":
        return printable(describe_range(tuple(allowed)))
    low, high = allowed
    return describe_range((-math.inf if low is None else low, math.inf if high is None else high))


# --- lexicon --------------------------------------------------------------------------------


def lexicon(as_json: o.AsJson = False) -> None:
    """List the categories of the lexicon with their measured precision."""
    from ..lexicon.lexicon import load_lexicon

    loaded = load_lexicon()
    records = [
        CategoryRow(
            name=category.name,
            trait=category.trait,
            language=category.language,
            description=category.about,
            indicator=category.indicator,
            phrases=len(category.phrases),
            hits_per_10000=category.hits_per_10000,
            right=category.precision[0],
            sampled=category.precision[1],
            lexicon=loaded.version,
        )
        for category in loaded.categories
    ]
    emit(records, rendered("lexicon", rows=records), as_json=as_json)


# --- samples --------------------------------------------------------------------------------


def try_samples(
    name: Annotated[str, o.arg("Name a signal or an evaluator.", "NAME")],
    texts: Annotated[list[str], o.arg("Try it on these texts, one after the other.", "TEXT")],
    option: Annotated[
        list[str], o.opt("Set an option of the evaluator.", "--option", metavar="NAME=VALUE")
    ] = o.NONE,
    as_json: o.AsJson = False,
    config: o.Config = "",
    plugins: o.Plugins = o.NONE,
) -> None:
    """Try a signal or an evaluator on sample texts.

    An evaluator that costs money is asked, and paid, once for each text.
    """
    from ..app.evaluation.scoring import evaluator_of
    from ..evaluators.base import Evaluation
    from ..patterns.listing import SampleRow
    from ..signals import Options
    from ..testing import measure, score

    settings, rows = o.load_config(config, as_json=as_json).settings, list[SampleRow]()
    if not texts:
        raise BadUsage("missing texts: name one or more to try it on")
    if name in registry.signals:
        if option:
            raise BadUsage("--option is for evaluators")
        values = measure(name, texts, Options.of(settings))
        rows = [SampleRow(name=name, number=n, value=value) for n, value in enumerate(values, start=1)]
    else:
        known = [*registry.signals.names(), *registry.evaluators.names()]
        if name not in registry.evaluators:
            raise BadUsage(f"no signal or evaluator is named {name!r:.60}{did_you_mean(name, known)}")
        evaluator = evaluator_of(settings, name, options_of(option))
        assert evaluator is not None
        for n, answer in enumerate(score(evaluator, texts), start=1):
            if isinstance(answer, Evaluation):
                indicators = {sign.id: sign.confidence for sign in answer.indicators}
                rows.append(SampleRow(name=name, number=n, scores={**answer.traits, **indicators}))
            else:
                rows.append(SampleRow(name=name, number=n, reason=answer.reason))
    emit(rows, (_sample_line(row) for row in rows), as_json=as_json)


def _sample_line(row: Any) -> str:
    if row.scores is not None:
        scores = ", ".join(f"{name} {value:.2f}" for name, value in row.scores.items() if value)
        return printable(f"{row.number}. {scores or 'all 0'}")
    if row.reason is not None or row.value is None:
        return printable(f"{row.number}. not measured{f': {row.reason}' if row.reason else ''}")
    return printable(f"{row.number}. {row.value}")


# --- evaluators -----------------------------------------------------------------------------


def evaluators(as_json: o.AsJson = False, plugins: o.Plugins = o.NONE) -> None:
    """List the evaluators, and what each needs."""
    rows = [
        (name, str(getattr(evaluator, "needs", "")), (getdoc(evaluator) or "").split("\n", 1)[0])
        for name, evaluator in registry.evaluators.items()
    ]
    records = (EvaluatorRow(name=name, needs=needs, description=about) for name, needs, about in rows)
    emit(records, map(printable, aligned(rows)), as_json=as_json)


def compare(
    first: Annotated[str, o.arg("Name an evaluator, or `given` for scores in the data.", "A")],
    second: Annotated[str, o.arg("Name another one.", "B")],
    data: Annotated[list[str], o.opt("Read messages from these files.", "--data", metavar="PATH")],
    options: Annotated[o.InputOptions, "patterns as_json skip_bad config source plugins"] = o.NO_INPUT,
    option_a: Annotated[list[str], o.opt("Set an option of A.", "--option-a", metavar="NAME=VALUE")] = o.NONE,
    option_b: Annotated[list[str], o.opt("Set an option of B.", "--option-b", metavar="NAME=VALUE")] = o.NONE,
    budget: Budget = None,
    sample: Sample = None,
    answers: AnswersFile = "",
) -> None:
    """Compare two evaluators on the same messages."""
    from ..app.evaluation.agreement import compared, side_of, supplied_side
    from ..app.evaluation.questions import Sampling
    from ..app.evaluation.scoring import evaluator_of, paying_for

    options = replace(options, paths=data)
    loaded, progress = options.loaded(), Progress()
    settings, library = loaded.settings, options.library(loaded)
    if answers:
        settings = replace(settings, answers=answers)
    pair = []
    for name, texts in ((first, option_a), (second, option_b)):
        # Made before anything is read, so that a mistake shows at once.
        evaluator = None if name == INPUT_SCORER else evaluator_of(settings, name, options_of(texts))
        if evaluator is None and name != INPUT_SCORER:
            raise BadUsage(f"{name!r:.40} scores nothing; name an evaluator, or `given`")
        pair.append(evaluator)
    batch = options.read(library.kinds, settings, progress)
    paid = any(evaluator is not None and evaluator.paid for evaluator in pair)
    # All messages where that costs nothing; else flagged ones and a few more.
    sampling = Sampling() if sample is None and paid else Sampling(1.0 if sample is None else sample)
    sides = []
    with progress.checking("scoring"):
        for evaluator in pair:
            if evaluator is None:
                sides.append(supplied_side(batch.events, sampling))
            else:
                paying = paying_for(evaluator, settings, library, budget=budget)
                sides.append(side_of(batch.events, evaluator, sampling, paying))
    with progress.checking("comparing"):
        record = compared(sides[0], sides[1], library, settings)
    emit([record], rendered("comparison", **record), as_json=options.as_json)
