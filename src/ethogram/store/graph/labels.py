"""Labels and relationship types, under our names or those of another design."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ...models.constants import GRAPH_LABELS as LABELS
from ...models.constants import GRAPH_TYPES as TYPES

_IN_QUERY = re.compile(rf":({'|'.join((*LABELS, *TYPES))})\b")


def renamed(query: str, labels: Mapping[str, str]) -> str:
    """A query with the labels of a graph.

    >>> renamed("MATCH (s:Subject)-[:SENT]->(m:Message)", {"Subject": "Agent"})
    'MATCH (s:`Agent`)-[:SENT]->(m:Message)'
    """
    if not labels:
        return query
    return _IN_QUERY.sub(lambda match: f":`{labels[match[1]]}`" if match[1] in labels else match[0], query)
