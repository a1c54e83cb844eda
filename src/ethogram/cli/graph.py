"""`ethogram graph init`: prepare a graph in Neo4j."""

from __future__ import annotations

from ..report.wording import plural, printable
from . import options as o
from .output import emit


def init(store: o.StoreUrl, as_json: o.AsJson = False, config: o.Config = "") -> None:
    """Add constraints, indicators and patterns to a graph in Neo4j."""
    from ..app.analyze import load_library
    from ..app.graph import init_graph

    loaded = o.InputOptions((), config=config).loaded()
    done = init_graph(store, load_library(["*"], loaded), loaded.settings.graph["labels"])
    counts = [
        plural(done.dimensions, "dimension"),
        plural(done.traits, "trait"),
        plural(done.indicators, "indicator"),
        plural(done.patterns, "pattern"),
    ]
    emit([done], [printable(f"{done.store} has {', '.join(counts)}.")], as_json=as_json)
