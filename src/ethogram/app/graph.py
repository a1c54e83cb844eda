"""The vocabulary of a graph: dimensions, traits, indicators and patterns."""

from __future__ import annotations

from collections.abc import Mapping

from ..fields import Count, RecordStruct
from ..patterns.catalogue import indicator_catalogue
from ..patterns.library import Library
from ..store.neo4j import open_graph


class GraphReady(RecordStruct):
    """A graph and how many nodes of its vocabulary it has."""

    RECORD = "graph"

    store: str
    dimensions: Count
    traits: Count
    indicators: Count
    patterns: Count


def init_graph(url: str, library: Library, labels: Mapping[str, str]) -> GraphReady:
    """Make constraints, indexes and vocabulary where they are missing; again, it changes nothing."""
    catalogue = indicator_catalogue().values()
    traits = dict.fromkeys((item.trait, item.dimension) for item in catalogue)
    patterns = [
        {"name": program.name, "title": program.title, "confirms": list(program.confirms)}
        for program in library.programs
    ]
    with open_graph(url, labels=labels) as graph:
        counts = graph.seed(
            list(dict.fromkeys(item.dimension for item in catalogue)),
            traits,
            [(item.id, item.trait, item.name) for item in catalogue],
            patterns,
        )
        return GraphReady(
            store=graph.url,
            dimensions=counts["Dimension"],
            traits=counts["Trait"],
            indicators=counts["Indicator"],
            patterns=counts["Pattern"],
        )
