"""Labels and relationship types, under our names or those of another design."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ...errors import BadUsage, did_you_mean
from ...models.constants import GRAPH_LABELS as LABELS
from ...models.constants import GRAPH_TYPES as TYPES

NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}")
_IN_QUERY = re.compile(rf":({'|'.join((*LABELS, *TYPES))})\b")


def check_labels(labels: Mapping[str, str]) -> None:
    """Raise BadUsage where a name is not known, cannot be a label, or is given twice."""
    for ours, name in labels.items():
        if ours not in (*LABELS, *TYPES):
            raise BadUsage(f"graph.labels: unknown name {ours!r:.60}{did_you_mean(ours, (*LABELS, *TYPES))}")
        if not NAME.fullmatch(name):
            raise BadUsage(
                f"graph.labels: invalid label {name!r:.60}: expected letters, digits and underscores"
            )
    for kind in (LABELS, TYPES):
        names = [labels.get(ours, ours) for ours in kind]
        if len(set(names)) < len(names):
            raise BadUsage("graph.labels: two kinds have the same label")


def renamed(query: str, labels: Mapping[str, str]) -> str:
    """A query with the labels of a graph.

    >>> renamed("MATCH (s:Subject)-[:SENT]->(m:Message)", {"Subject": "Agent"})
    'MATCH (s:`Agent`)-[:SENT]->(m:Message)'
    """
    if not labels:
        return query
    return _IN_QUERY.sub(lambda match: f":`{labels[match[1]]}`" if match[1] in labels else match[0], query)
