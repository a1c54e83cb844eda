"""Constraints, indexes and the version of a graph; the vocabulary that `ethogram graph init` puts into it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ...errors import BadUsage, EthogramError, did_you_mean
from ...models.constants import GRAPH_LABELS as LABELS
from ...models.constants import GRAPH_TYPES as TYPES
from ..kinds import KINDS
from .connection import Graph, Transaction, named_errors, unfinished_copy
from .labels import renamed
from .migration import migrate
from .queries import LABELS_OF_KINDS

VERSION = 2
NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}")
UNIQUE: dict[str, tuple[str, ...]] = {
    label: KINDS[kind].key for kind, label in LABELS_OF_KINDS.items()
} | {
    "Ethogram": ("name",),
    "Subject": ("source", "id"),
    "Message": ("source", "id"),
    "Import": ("key",),
    "Pattern": ("name",),
    "Indicator": ("name",),
    "Trait": ("name",),
    "Dimension": ("name",),
}  # fmt: skip
"""The properties by which a node is known. Node keys would need the Enterprise edition."""
INDEXES: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("Message", ("key",)),
    ("Message", ("at_us", "seq", "id")),
    ("Message", ("source", "subject", "at_us")),
    ("Message", ("source", "thread")),
    ("Change", ("detection",)),
    ("Change", ("told",)),
    ("Verdict", ("detection",)),
    ("State", ("subject",)),
    ("UsageEvent", ("person",)),
)


def check_labels(labels: Mapping[str, str]) -> None:
    """Raise BadUsage where a name is not known, cannot be a label, or stands for something else too."""
    for ours, name in labels.items():
        if ours not in (*LABELS, *TYPES):
            raise BadUsage(f"graph.labels: unknown name {ours!r:.60}{did_you_mean(ours, (*LABELS, *TYPES))}")
        if not NAME.fullmatch(name):
            raise BadUsage(
                f"graph.labels: invalid label {name!r:.60}: expected letters, digits and underscores"
            )
    used: dict[str, str] = {}
    for ours in dict.fromkeys((*LABELS, *TYPES, *UNIQUE, "Measured")):
        name = labels.get(ours, ours)
        # Names of constraints are in lower case.
        if (other := used.setdefault(name.lower(), ours)) != ours:
            raise BadUsage(f"graph.labels: {name} would be the name of {other} and of {ours}: choose another")


def statements(labels: Mapping[str, str]) -> dict[str, str]:
    """Every constraint and index by its name."""
    made: dict[str, str] = {}
    for label, names in UNIQUE.items():
        name = f"ethogram_{labels.get(label, label)}_unique".lower()
        which = ", ".join(f"n.`{item}`" for item in names)
        made[name] = f"CREATE CONSTRAINT {name} IF NOT EXISTS FOR (n:{label}) REQUIRE ({which}) IS UNIQUE"
    exhibits = labels.get("EXHIBITS_PATTERN", "EXHIBITS_PATTERN")
    name = f"ethogram_{exhibits}_unique".lower()
    made[name] = (
        f"CREATE CONSTRAINT {name} IF NOT EXISTS FOR ()-[r:EXHIBITS_PATTERN]-() REQUIRE r.id IS UNIQUE"
    )
    for label, names in INDEXES:
        name = f"ethogram_{labels.get(label, label)}_{'_'.join(names)}".lower()
        which = ", ".join(f"n.`{item}`" for item in names)
        made[name] = f"CREATE INDEX {name} IF NOT EXISTS FOR (n:{label}) ON ({which})"
    return {name: renamed(statement, labels) for name, statement in made.items()}


class Schema(Graph):
    """The version, labels and constraints of a graph."""

    def open(self, *, create: bool, labels: Mapping[str, str] | None = None) -> None:
        """Read the version and labels, or make both. BadUsage where there is no store, or another's."""
        with named_errors(self.url):
            self.driver.verify_connectivity()  # at once, without repeating it for a while
        query = "MATCH (e:Ethogram {name: 'store'}) RETURN e.schema, e.labels, e.copying"
        found = self.ask(lambda tx: tx.run(query))
        if found:
            ((schema, names, copying),) = found
            self._check(schema, names, labels)
            if copying and not create:
                raise BadUsage(unfinished_copy(self.url))
        elif not create:
            how = "`ethogram graph init` and `ethogram store import` make one"
            raise BadUsage(f"there is no store in {self.url}; {how}")
        else:
            self.labels = dict(labels or {})
            check_labels(self.labels)
        is_old = bool(found) and schema < VERSION
        if create or is_old:
            self._constrain()
            self.ask(lambda tx: tx.run("CALL db.awaitIndexes(300)"))
        if not found:
            make = (
                """MERGE (e:Ethogram {name: 'store'}) ON CREATE SET e.schema = $schema, e.labels = $labels"""
            )
            values = {"schema": VERSION, "labels": json.dumps(self.labels, sort_keys=True)}
            self.change(lambda tx: tx.run(make, **values))
        elif is_old:
            migrate(self, VERSION)

    def _check(self, schema: int, names: str, labels: Mapping[str, str] | None) -> None:
        if schema > VERSION:
            raise EthogramError(
                f"{self.url} has schema {schema}, and this version of ethogram knows {VERSION}: "
                "nothing was changed; upgrade ethogram"
            )
        self.labels = json.loads(names)
        if labels and dict(labels) != self.labels:
            raise BadUsage(
                f"{self.url} was made with other labels ({names}): labels are chosen once, "
                "with an empty graph"
            )

    def _constrain(self) -> None:
        known = set(
            self.ask(
                lambda tx: [
                    name
                    for show in ("SHOW CONSTRAINTS YIELD name", "SHOW INDEXES YIELD name")
                    for (name,) in tx.run(show)
                ]
            )
        )
        missing = {name: text for name, text in statements(self.labels).items() if name not in known}

        def make(tx: Transaction) -> None:
            for text in missing.values():
                tx.run(text)

        if missing:
            # Not `write`: a transaction changes the schema or data, never both.
            with named_errors(self.url), self._session() as session:
                session.execute_write(lambda tx: make(Transaction(tx, {})))

    def seed(
        self,
        dimensions: Sequence[str],
        traits: Iterable[tuple[str, str]],
        indicators: Iterable[tuple[str, str, str]],
        patterns: Iterable[Mapping[str, Any]],
    ) -> dict[str, int]:
        """Add the vocabulary: names, (trait, dimension), (indicator, trait, title), and patterns.

        A pattern has `name`, `title` and `confirms`. Again, it changes nothing. Returns how many nodes
        of each label there are.
        """
        values = {
            "dimensions": list(dimensions),
            "traits": [list(item) for item in traits],
            "indicators": [list(item) for item in indicators],
            "patterns": [dict(item) for item in patterns],
        }

        def work(tx: Transaction) -> dict[str, int]:
            for statement in _SEEDS:
                tx.run(statement, **values)
            labels = ("Dimension", "Trait", "Indicator", "Pattern")
            return {label: tx.value(f"MATCH (n:{label}) RETURN count(n)") for label in labels}

        return self.change(work)


_SEEDS = (
    "UNWIND $dimensions AS name MERGE (:Dimension {name: name})",
    """UNWIND $traits AS row MATCH (d:Dimension {name: row[1]})
      MERGE (t:Trait {name: row[0]}) MERGE (t)-[:OF]->(d)""",
    """UNWIND $indicators AS row MATCH (t:Trait {name: row[1]})
      MERGE (i:Indicator {name: row[0]}) SET i.title = row[2] MERGE (i)-[:OF]->(t)""",
    """UNWIND $patterns AS row MERGE (p:Pattern {name: row.name})
      SET p.title = row.title""",
    """UNWIND $patterns AS row UNWIND row.confirms AS indicator
      MATCH (p:Pattern {name: row.name})
      MERGE (i:Indicator {name: indicator}) MERGE (p)-[:CONFIRMS]->(i)""",
)
