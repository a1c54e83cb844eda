"""`ethogram signals`: the names a pattern may use, and what measures them: lexicon and evaluators."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from ..report.wording import aligned, plural, printable
from . import options as o
from .output import Progress, emit, write_line

if TYPE_CHECKING:
    from ..app.evaluation.agreement import Side
    from ..app.evaluation.questions import Sampling
    from ..config import Settings
    from ..ingest import Batch
    from ..patterns.library import Library


Row = dict[str, Any]
INDICATOR_COLUMNS = ("name", "trait", "dimension", "polarity", "description", "definition")
SIGNAL_COLUMNS = ("name", "kind", "range", "cost", "version", "description")


# --- names ----------------------------------------------------------------------------------


def list_names(
    indicators: Annotated[bool, o.opt("List the indicators an evaluator may find.", "--indicators")] = False,
    attributes: Annotated[bool, o.opt("List the attributes an event may carry.", "--attributes")] = False,
    tables: Annotated[bool, o.opt("List the tables of weights.", "--tables")] = False,
    as_json: o.AsJson = False,
    config: o.Config = "",
) -> None:
    """List signals, indicators, attributes or tables."""
    kinds: list[tuple[bool, Callable[[], Iterator[Row]], Sequence[str]]] = [
        (indicators, indicator_rows, INDICATOR_COLUMNS),
        (attributes, attribute_rows, ("name", "kind", "description")),
        (tables, table_rows, ("name", "entries")),
    ]
    chosen = [(list(rows()), columns) for wanted, rows, columns in kinds if wanted]
    if not chosen:
        chosen = [(list(signal_rows(o.load_config(config).settings.signals)), SIGNAL_COLUMNS)]
    for rows, columns in chosen:
        cells = [list(columns), *([_cell(name, row) for name in columns] for row in rows)]
        emit(rows, aligned(cells), as_json=as_json)


def signal_rows(declared: Mapping[str, str]) -> Iterator[Row]:
    """Every signal by name: measured here, in the catalogue of what scorers supply, or declared.

    `cost` is that of measuring it here: free, cheap or model; supplied ones come with the events.
    """
    from .. import registry
    from ..patterns.catalogue import load_vocabulary, signal_catalogue

    load_vocabulary(declared)  # a declaration that contradicts what is known is an error here too
    rows = {name: _signal(name, kind, None, "declared in the settings") for name, kind in declared.items()}
    rows |= {
        name: _signal(name, entry.kind, entry.range, entry.description)
        for name, entry in signal_catalogue().items()
    }
    rows |= {
        name: _signal(
            name, signal.kind, signal.range, signal.description, cost=signal.cost, version=signal.version
        )
        for name, signal in registry.signals.items()
    }
    yield from (rows[name] for name in sorted(rows))


def _signal(
    name: str, kind: str, allowed: Any, description: str, cost: str = "supplied", version: int | None = None
) -> Row:
    from ..patterns.listing import SignalRow

    return SignalRow(
        name=name,
        kind=kind,
        range=_range(kind, allowed),
        cost=cost,
        version=version,
        description=description,
    ).to_dict()


def _range(kind: str, allowed: Any) -> Any:
    """[low, high] with null for no end; the categories; null for anything."""
    if allowed is None:
        return None
    if kind != "number":
        return list(allowed)
    return [None if math.isinf(end) else end for end in allowed]


def indicator_rows() -> Iterator[Row]:
    """Every indicator in the order of the catalogue, with its definition."""
    from ..patterns.catalogue import indicator_catalogue
    from ..patterns.listing import IndicatorRow

    for indicator in indicator_catalogue().values():
        yield IndicatorRow(
            name=indicator.id,
            trait=indicator.trait,
            dimension=indicator.dimension,
            polarity=indicator.polarity,
            description=indicator.name.replace("_", " "),
            definition=indicator.definition,
        ).to_dict()


def attribute_rows() -> Iterator[Row]:
    """Every attribute in the catalogue, by name."""
    from ..patterns.catalogue import attribute_catalogue
    from ..patterns.listing import AttributeRow

    for _, attribute in sorted(attribute_catalogue().items()):
        yield AttributeRow(
            name=attribute.name, kind=attribute.kind, description=attribute.description
        ).to_dict()


def table_rows() -> Iterator[Row]:
    """Every table by name, with its numbers."""
    from ..patterns.catalogue import load_tables
    from ..patterns.listing import TableRow

    for name, values in sorted(load_tables().items()):
        yield TableRow(name=name, entries=len(values), values=values).to_dict()


def _cell(name: str, row: Row) -> str:
    value = row.get(name)
    if name == "range":
        return range_text(row["kind"], value)
    return "-" if value is None else printable(str(value))


def range_text(kind: str, allowed: Sequence[Any] | None) -> str:
    """A range in words.

    >>> range_text("number", [0, None]), range_text("category", None), range_text("category", ["a", "b"])
    ('0 or more', 'any', 'a, b')
    """
    from ..signals.base import describe_range

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
    from ..patterns.listing import CategoryRow

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
    lines = [
        f"lexicon {loaded.version}, {sum(len(category.phrases) for category in loaded.categories)} phrases",
        f"{'trait':<16}{'category':<24}{'phrases':>7}  {'per 10,000':>10}  precision",
        *(
            f"{row.trait:<16}{row.name:<24}{row.phrases:>7}  {row.hits_per_10000:>10g}  "
            f"{row.right} of {row.sampled}"
            for row in records
        ),
    ]
    emit(records, lines, as_json=as_json)


def measure_lexicon(
    data: Annotated[Path, o.opt("Read conversations (*.jsonl, *.jsonl.gz) from here.", "--data")],
    rate: Annotated[str, o.opt("Measure rates on this file.", "--rate")] = "moltbook_threads",
) -> None:
    """Count the hits of every category, and show some to judge.

    Nothing is written: the messages stay where they are.
    """
    from ..lexicon.measure import measure

    for measured in measure(_messages(data), rate):
        head = f"{measured.category.trait} / {measured.category.name}: {measured.hits_per_10000:g} per 10,000"
        write_line(f"{head}, {plural(measured.found, 'different text')}, {len(measured.samples)} shown")
        for sample in measured.samples:
            text = f"{sample.before}[[{sample.hit}]]{sample.after}"
            write_line(printable(f"  {sample.file:<18} {' '.join(text.split())}"))
        if measured.never:
            write_line(printable(f"  never hit: {'; '.join(measured.never)}"))


def _messages(folder: Path) -> Iterator[tuple[str, str]]:
    """File and text of every turn in every conversation."""
    from ..errors import BadUsage

    paths = sorted([*folder.glob("*.jsonl"), *folder.glob("*.jsonl.gz")])
    if not paths:
        raise BadUsage(f"no conversations in {str(folder)!r}; name a folder with *.jsonl or *.jsonl.gz in it")
    for path in paths:
        name = path.name.partition(".")[0]
        for line in _lines(path):
            record: Any = json.loads(line)
            turns = record.get("turns", [record]) if isinstance(record, dict) else []
            for turn in turns:
                if isinstance(text := turn.get("text"), str):
                    yield name, text


def _lines(path: Path) -> Iterator[str]:
    import gzip

    opener: Callable[..., Any] = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8", errors="replace") as stream:
        yield from stream


# --- evaluators -----------------------------------------------------------------------------


def evaluators(as_json: o.AsJson = False) -> None:
    """List the evaluators, and what each needs."""
    from inspect import getdoc

    from .. import registry
    from ..patterns.listing import EvaluatorRow

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
    patterns: o.Patterns = o.NONE,
    option_a: Annotated[list[str], o.opt("Set an option of A.", "--option-a", metavar="NAME=VALUE")] = o.NONE,
    option_b: Annotated[list[str], o.opt("Set an option of B.", "--option-b", metavar="NAME=VALUE")] = o.NONE,
    as_json: o.AsJson = False,
    skip_bad: o.SkipBad = False,
    config: o.Config = "",
    source: o.Source = "",
    budget: o.Budget = None,
    sample: o.Sample = None,
    answers: o.AnswersFile = "",
) -> None:
    """Compare two evaluators on the same messages."""
    from dataclasses import replace

    from ..app.analyze import load_library
    from ..app.evaluation.agreement import compared
    from ..report.scoring import comparison_lines

    options = o.InputOptions(data, config=config, source=source, skip_bad=skip_bad, as_json=as_json)
    loaded, progress = options.loaded(), Progress()
    settings, library = loaded.settings, load_library(patterns or None, loaded)
    if answers:
        settings = replace(settings, answers=answers)
    named = ((first, option_a), (second, option_b))
    makers = [_Maker(name, texts, settings, library) for name, texts in named]
    batch = options.read(library, settings, progress)
    sampling = _sampling(makers, sample)
    with progress.checking("scoring"):
        a, b = [maker.side(batch, sampling, budget) for maker in makers]
    with progress.checking("comparing"):
        record = compared(a, b, library, settings)
    emit([record], comparison_lines(record), as_json=as_json)


class _Maker:
    """One of the two evaluators, made before anything is read so that a mistake shows at once."""

    def __init__(self, name: str, options: Sequence[str], settings: Settings, library: Library) -> None:
        from ..app.evaluation.scoring import evaluator_of
        from ..errors import BadUsage
        from ..models import INPUT_SCORER

        self.settings, self.library = settings, library
        self.evaluator = None if name == INPUT_SCORER else evaluator_of(settings, name, o.options_of(options))
        if self.evaluator is None and name != INPUT_SCORER:
            raise BadUsage(f"{name!r:.40} scores nothing; name an evaluator, or `given`")

    def side(self, batch: Batch, sampling: Sampling, budget: float | None) -> Side:
        """Its scores of the messages."""
        from ..app.evaluation.agreement import side_of, supplied_side
        from ..app.evaluation.scoring import paying_for

        if self.evaluator is None:
            return supplied_side(batch.events, sampling)
        paying = paying_for(self.evaluator, self.settings, self.library, budget=budget)
        return side_of(batch.events, self.evaluator, sampling, paying)


def _sampling(makers: Sequence[_Maker], share: float | None) -> Sampling:
    """All messages where that costs nothing; else flagged ones and a few more."""
    from ..app.evaluation.questions import Sampling

    if share is not None:
        return Sampling(share)
    paid = any(maker.evaluator is not None and maker.evaluator.paid for maker in makers)
    return Sampling() if paid else Sampling(1.0)
