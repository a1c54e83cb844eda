"""Connect to Neo4j, run queries in transactions, and say what went wrong in our own words."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from urllib.parse import unquote, urlsplit

from ...errors import BadUsage, EthogramError, MissingExtra, StoreFailed
from .labels import renamed

if TYPE_CHECKING:
    from neo4j import Driver

T = TypeVar("T")
logging.getLogger("neo4j").addHandler(logging.NullHandler())  # errors are raised, and told once
SCHEMES = ("neo4j", "bolt")
STEP = 5000
"""Nodes that one transaction changes."""
FETCH = 2000
"""Records that are read ahead."""
IDLE_SECONDS = 5
"""After so long a connection is tested before it is used: the server may have been restarted."""
WRITER = """MATCH (w:Ethogram {name: 'store'}) SET w.writes = coalesce(w.writes, 0) + 1
  RETURN w.copying"""
"""Takes the lock that writers wait for, since Neo4j itself locks no more than what is touched."""


class Address(NamedTuple):
    """Where a graph is. `shown` has no password."""

    server: str
    user: str | None
    password: str
    database: str | None
    shown: str


def parse(url: str) -> Address:
    """Read a URL of a server and database.

    >>> parse("neo4j://ann:s%40fe@db.example:7687/graph").shown
    'neo4j://ann@db.example:7687/graph'
    """
    try:
        parts = urlsplit(url)
        port = "" if parts.port is None else f":{parts.port}"
    except ValueError:
        raise BadUsage("invalid store URL: expected neo4j://USER:PASSWORD@HOST:PORT/DATABASE") from None
    if parts.scheme.partition("+")[0] not in SCHEMES or not parts.hostname or parts.query:
        raise BadUsage("invalid store URL: expected neo4j://USER:PASSWORD@HOST:PORT/DATABASE")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    server = f"{parts.scheme}://{host}{port}"
    user = None if parts.username is None else unquote(parts.username)
    who = "" if parts.username is None else f"{parts.username}@"
    database = unquote(parts.path.strip("/")) or None
    shown = f"{parts.scheme}://{who}{host}{port}" + (f"/{database}" if database else "")
    return Address(server, user, unquote(parts.password or ""), database, shown)


def connect(url: str) -> tuple[Driver, Address]:
    """A driver for a URL, and what the URL says; nothing is sent yet."""
    try:
        import neo4j
    except ModuleNotFoundError:
        raise MissingExtra("neo4j", "neo4j", "a store in Neo4j") from None
    address = parse(url)
    auth = None if address.user is None else (address.user, address.password)
    driver = neo4j.GraphDatabase.driver(
        address.server,
        auth=auth,
        user_agent="ethogram",
        notifications_min_severity="OFF",
        liveness_check_timeout=IDLE_SECONDS,
    )
    return driver, address


@contextmanager
def named_errors(url: str) -> Iterator[None]:
    """Turn errors of the server and the driver into a StoreFailed, or for a bad query an EthogramError."""
    from neo4j.exceptions import AuthError, DriverError, IncompleteCommit, Neo4jError, ServiceUnavailable

    try:
        yield
    except AuthError:
        raise BadUsage(f"{url}: the server refuses this user name and password; {_LOGIN}") from None
    except IncompleteCommit:
        raise StoreFailed(
            f"{url}: the connection broke while a write was committed: it is stored whole or not at all; "
            "run the command again"
        ) from None
    except ServiceUnavailable as error:
        check = "start it, or check host, port and TLS (neo4j+s), and run this again"
        raise StoreFailed(f"{url}: no Neo4j server answers: {_reason(error)}; {check}") from error
    except Neo4jError as error:
        code = error.code or ""
        hint = _HINTS.get(code) or (_BROKEN if code.startswith("Neo.DatabaseError.") else "")
        kind = EthogramError if code.startswith("Neo.ClientError.Statement.") else StoreFailed
        raise kind(f"{url}: {_first_line(error.message or error).rstrip('.')}{hint}") from error
    except DriverError as error:
        raise StoreFailed(f"{url}: {_first_line(error)}") from error


_LOGIN = "expected neo4j://USER:PASSWORD@HOST:PORT, with @ : / in a password as %40 %3A %2F"
_BROKEN = "; nothing was changed: look at the server's log and disk, restart it and run this again"
_HINTS = {
    "Neo.ClientError.Security.CredentialsExpired": " until its password is changed: `ALTER CURRENT USER SET "
    "PASSWORD FROM 'old' TO 'new'` on the database system",
    "Neo.ClientError.Security.Forbidden": "; the user needs the right to do this",
    "Neo.ClientError.Database.DatabaseNotFound": "; name an existing one at the end of the URL",
    "Neo.TransientError.General.MemoryPoolOutOfMemoryError": "; raise dbms.memory.transaction.total.max",
}


def unfinished_copy(url: str) -> str:
    """What to do about a copy into a graph that is under way or was interrupted."""
    return f"{url}: a copy into this store is not finished: wait for it, or run `ethogram store copy` again"


def _reason(error: BaseException) -> str:
    """Why a server cannot be reached: the innermost error, which the driver wraps several times."""
    inner: BaseException | None = error
    while inner is not None:
        error = inner
        grouped = inner.exceptions if isinstance(inner, BaseExceptionGroup) else ()
        inner = grouped[0] if grouped else inner.__cause__
    return error.strerror or _first_line(error) if isinstance(error, OSError) else _first_line(error)


def _first_line(error: object) -> str:
    return str(error).strip().partition("\n")[0][:300]


class Transaction:
    """A transaction; queries name labels as this package does, whatever the graph calls them."""

    def __init__(self, tx: Any, labels: Mapping[str, str]) -> None:
        self._tx, self._labels = tx, labels
        self.held: dict[int, Any] = {}
        """What is written before the next query, and can be completed until then."""
        self._write_held: Callable[[dict[int, Any]], None] | None = None

    def hold(self, items: dict[int, Any], write: Callable[[dict[int, Any]], None]) -> None:
        """Hold items back, and write them before the next query."""
        self.flush()
        self.held, self._write_held = items, write

    def stream(self, query: str, **values: Any) -> Any:
        """The records of a query as they come."""
        self.flush()
        return self._tx.run(renamed(query, self._labels), values)

    def flush(self) -> None:
        """Write what was held back."""
        if self.held and self._write_held is not None:
            items, self.held = self.held, {}
            self._write_held(items)

    def run(self, query: str, **values: Any) -> list[Any]:
        """The rows of a query, each a tuple."""
        return [tuple(record.values()) for record in self.stream(query, **values)]

    def value(self, query: str, **values: Any) -> Any:
        """The first value of the first row, or None."""
        rows = self.run(query, **values)
        return rows[0][0] if rows else None


class Graph:
    """A connection with reading and writing transactions; base of the store."""

    url: str
    labels: Mapping[str, str]
    driver: Driver
    database: str | None
    copy_token: str | None = None
    """Set while this store takes over the rows of another, and nobody else may write."""

    def __init__(self) -> None:
        self._local = threading.local()

    @property
    def current(self) -> Transaction | None:
        """The transaction that this thread is in."""
        transaction: Transaction | None = getattr(self._local, "transaction", None)
        return transaction

    def ask(self, work: Callable[[Transaction], T]) -> T:
        """The result of queries that only read; repeated where the connection breaks."""
        if self.current is not None:
            return work(self.current)
        with named_errors(self.url), self._session() as session:
            result: T = session.execute_read(lambda tx: work(Transaction(tx, self.labels)))
            return result

    def change(self, work: Callable[[Transaction], T]) -> T:
        """The result of queries that write all or nothing, while no other store writes.

        Repeated where the connection breaks before the commit, so `work` must not change anything else.
        Inside another write of the thread it is part of that.
        """
        if self.current is not None:
            return work(self.current)

        def locked(tx: Any) -> T:
            transaction = Transaction(tx, self.labels)
            self._take_turn(transaction)
            with self._entered(transaction):
                result = work(transaction)
                transaction.flush()
            return result

        with named_errors(self.url), self._session() as session:
            result: T = session.execute_write(locked)
            return result

    def in_steps(self, query: str, **values: Any) -> None:
        """Repeat a write of at most `$most` nodes until it returns 0: a transaction must fit into memory."""
        while self.change(lambda tx: tx.value(query, most=STEP, **values)):
            pass

    @contextmanager
    def reading(self) -> Iterator[Transaction]:
        """A transaction whose rows are read as they come: that of the thread, or one of its own."""
        if self.current is not None:
            yield self.current
            return
        with named_errors(self.url), self._session() as session, session.begin_transaction() as tx:
            yield Transaction(tx, self.labels)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Be in one transaction of the thread, while no other store writes."""
        with named_errors(self.url), self._session() as session, session.begin_transaction() as tx:
            transaction = Transaction(tx, self.labels)
            self._take_turn(transaction)
            with self._entered(transaction):
                yield
                transaction.flush()
            tx.commit()

    def stream(self, query: str, **values: Any) -> Iterator[Any]:
        """The records of a query as they come."""
        with self.reading() as tx:
            yield from tx.stream(query, **values)

    @contextmanager
    def _entered(self, transaction: Transaction) -> Iterator[None]:
        self._local.transaction = transaction
        try:
            yield
        finally:
            self._local.transaction = None

    def _take_turn(self, tx: Transaction) -> None:
        """Wait until no other store writes. BadUsage where a copy into this one is not finished."""
        if tx.value(WRITER) != self.copy_token:
            raise BadUsage(unfinished_copy(self.url))

    def _session(self) -> Any:
        return self.driver.session(database=self.database, fetch_size=FETCH)
