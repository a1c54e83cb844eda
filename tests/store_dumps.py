"""Stores as text: a schema of PostgreSQL and a graph in Neo4j, written to a file and restored exactly."""

from __future__ import annotations

import base64
import json
import os
import re
import subprocess
from collections import defaultdict
from pathlib import Path
from typing import Any

DUMPED = "dumped_schema"
"""The name of the schema in a dump."""


# --- PostgreSQL -----------------------------------------------------------------------------


def schema_in(url: str) -> str:
    """The schema that the URL of a store names."""
    return url.partition("schema=")[2].partition("&")[0]


def dump_postgres(url: str, programs: Path) -> str:
    """The schema of a store as SQL, by pg_dump."""
    server, schema = url.partition("?")[0], schema_in(url)
    command = [programs / "pg_dump", "--no-owner", "--no-privileges", "--rows-per-insert=200"]
    text = subprocess.run(
        [*command, f"--schema={schema}", server],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        env=os.environ,
    ).stdout
    kept = [line for line in text.splitlines() if line.strip() and not line.startswith(("--", "\\"))]
    return re.sub(rf"\b{schema}\b", DUMPED, "\n".join(kept) + "\n")


def restore_postgres(dump: str, url: str) -> None:
    """Make the schema of a URL what the dump says."""
    import psycopg

    with psycopg.connect(url.partition("?")[0], autocommit=True) as connection:
        connection.execute(dump.replace(DUMPED, schema_in(url)))  # type: ignore[arg-type]


# --- Neo4j ----------------------------------------------------------------------------------


def to_json(value: Any) -> Any:
    """A property as JSON: bytes and times are marked as such."""
    if isinstance(value, bytes | bytearray):
        return {"bytes": base64.b64encode(value).decode()}
    if hasattr(value, "iso_format"):
        return {"time": value.iso_format()}
    return [to_json(item) for item in value] if isinstance(value, list) else value


def from_json(value: Any) -> Any:
    """The property that `to_json` wrote."""
    from neo4j.time import DateTime

    if isinstance(value, dict):
        if "bytes" in value:
            return base64.b64decode(value["bytes"])
        return DateTime.from_iso_format(value["time"])
    return [from_json(item) for item in value] if isinstance(value, list) else value


def properties(entity: Any) -> dict[str, Any]:
    """The properties of a node or relationship as JSON."""
    return {name: to_json(value) for name, value in sorted(entity.items())}


def dump_neo4j(driver: Any) -> str:
    """Every constraint, index, node and relationship of a database, one a line."""
    with driver.session() as session:
        made = session.run(
            "SHOW CONSTRAINTS YIELD name, createStatement RETURN createStatement ORDER BY name"
        )
        schema = [row[0] for row in made]
        owned = "WHERE owningConstraint IS NULL AND type <> 'LOOKUP'"
        made = session.run(
            f"SHOW INDEXES YIELD name, type, owningConstraint, createStatement {owned} "
            "RETURN createStatement ORDER BY name"
        )
        schema += [row[0] for row in made]
        nodes = [row[0] for row in session.run("MATCH (n) RETURN n ORDER BY id(n)")]
        links = [row[0] for row in session.run("MATCH ()-[r]->() RETURN r ORDER BY id(r)")]
    number = {node.element_id: n for n, node in enumerate(nodes)}
    lines: list[Any] = [{"schema": statement} for statement in schema]
    lines += [{"labels": sorted(node.labels), "properties": properties(node)} for node in nodes]
    for link in links:
        ends = [number[link.start_node.element_id], number[link.end_node.element_id]]
        lines.append({"type": link.type, "ends": ends, "properties": properties(link)})
    return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)


def restore_neo4j(dump: str, driver: Any) -> None:
    """Make an empty database what the dump says."""
    nodes: dict[tuple[str, ...], list[tuple[int, dict[str, Any]]]] = defaultdict(list)
    links: dict[str, list[tuple[list[int], dict[str, Any]]]] = defaultdict(list)
    with driver.session() as session:
        for number, line in enumerate(
            item for item in map(json.loads, dump.splitlines()) if restore_schema(item, session)
        ):
            values = {name: from_json(value) for name, value in line["properties"].items()}
            if "labels" in line:
                nodes[tuple(line["labels"])].append((number, values))
            else:
                links[line["type"]].append((line["ends"], values))
        ids: dict[int, str] = {}
        for labels, rows in nodes.items():
            names = "".join(f":`{label}`" for label in labels)
            query = f"UNWIND $rows AS row CREATE (n{names}) SET n = row RETURN elementId(n)"
            found = session.run(query, rows=[values for _, values in rows])
            ids |= {number: row[0] for (number, _), row in zip(rows, found, strict=True)}
        for kind, links_of_kind in links.items():
            query = (
                "UNWIND $rows AS row MATCH (a), (b) WHERE elementId(a) = row.a AND elementId(b) = row.b "
                f"CREATE (a)-[r:`{kind}`]->(b) SET r = row.values"
            )
            rows = [{"a": ids[a], "b": ids[b], "values": values} for (a, b), values in links_of_kind]
            session.run(query, rows=rows).consume()


def restore_schema(line: dict[str, Any], session: Any) -> bool:
    """Make a constraint or index that a line of a dump names; true for other lines."""
    if statement := line.get("schema"):
        session.run(
            re.sub(r"^CREATE (\w+ )*?(CONSTRAINT|INDEX) (\S+) ", r"\g<0>IF NOT EXISTS ", statement)
        ).consume()
    return "schema" not in line
