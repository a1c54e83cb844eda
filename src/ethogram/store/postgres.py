"""The PostgreSQL store: one schema of a database, for many programs at a time."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import blake2b
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, OperationalError
from sqlalchemy.exc import TimeoutError as NoConnection

from ..errors import BadUsage, EthogramError, MissingExtra, StoreFailed
from ..files.sqlite import BAD_ROW
from . import store
from .imports import get_meta, set_meta
from .moving import VERSION
from .schema import SCHEMA
from .sql import NO_CONNECTION, run, unwrapped
from .sql_store import SqlStore

DEFAULT = "ethogram"
"""The schema of a store, unless ?schema= names another."""
OPTIONS = ("sslmode", "sslrootcert", "sslcert", "sslkey", "connect_timeout", "application_name")
"""What a URL may say to the driver after the `?`."""
PATIENCE = "3s"
"""How long `scrub` waits for whoever reads a table."""
KEEPALIVE = {"keepalives_idle": 30, "keepalives_interval": 10, "keepalives_count": 3}
ADVICE = {
    "28": "check the user and the password (in the URL, PGPASSWORD or ~/.pgpass)",
    "3D000": "create the database first, for example with createdb",
    "42501": "this user lacks the right: GRANT it, or use another user",
    "25006": "the server or this user is read-only: nothing was changed",
    "53100": "the disk of the server is full: nothing was changed; free some space and run this again",
    "53": "the server is out of resources: nothing was changed; try again",
    "54": "nothing was changed",
    "55P03": "another program holds a lock: try again",
    "57": "the server stopped: what was not finished is undone; run this again",
    "08001": "start the server, or check host and port, and run this again",
    "08": "the server cannot be reached: what was not finished is undone; run this again",
}
"""What to do about an error, by the beginning of its SQLSTATE, the longest first."""
CONNECTING = {"password": "28", 'role "': "28", "does not exist": "3D000", "connection failed": "08001"}
"""The SQLSTATE of errors that come without one, by what they say; the first that fits."""
VIEW = """CREATE VIEW all_readings AS
  SELECT event, signal, number, text, scorer, width FROM readings
  UNION ALL
  SELECT event, signal, CASE WHEN kind <> 'string' THEN (value #>> '{}')::double precision END,
    CASE WHEN kind = 'string' THEN value #>> '{}' END, coalesce(scorer, 'given'), width
  FROM (
    SELECT event, signal, value, json_typeof(value) AS kind, scorer, width FROM (
      SELECT e.key AS event, j.key COLLATE "C" AS signal,
        CASE json_typeof(j.value) WHEN 'object' THEN j.value -> 'value' ELSE j.value END AS value,
        CASE json_typeof(j.value) WHEN 'object' THEN j.value ->> 'scorer' END AS scorer,
        CASE json_typeof(j.value) WHEN 'object' THEN (j.value ->> 'width')::bigint END AS width
      FROM events e, json_each(e.readings::json) j
    ) AS readings_of_events
  ) AS typed_readings"""


@store("postgresql")
class PostgresStore(SqlStore):
    """A schema of a PostgreSQL database: one program writes at a time, and readers never wait.

    Writers take turns by an advisory lock of the transaction, so that what they read is what they change.
    A sweep holds an advisory lock of its connection, which ends with its process.
    """

    def __init__(self, url: str, *, create: bool = False) -> None:
        address, self.schema = parse(url)
        self.url, self.address = shown_url(address, self.schema), url
        self.version = SCHEMA.version
        self._claims: dict[str, Connection] = {}
        self.engine = make_engine(address, self.schema)
        try:
            self._prepare(create=create)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        for name in list(self._claims):
            self.release(name)
        super().close()

    def _prepare(self, *, create: bool) -> None:
        """Check the version, and make or upgrade the tables; who may only read can open a current store."""
        if self._version() == SCHEMA.version:
            return
        with self.named_errors(), self.engine.connect() as opened, opened.begin():
            self._take_turn(opened)
            if not run(opened, "SELECT to_regnamespace(:name)", name=self.schema).scalar():
                if not create:
                    raise self._missing()
                opened.execute(text(f"CREATE SCHEMA {quoted(self.schema)}"))
        with self.writing() as connection:
            version = self._version_in(connection)
            if version is None:
                if not create:
                    raise self._missing()
                if run(connection, "SELECT 1 FROM pg_tables WHERE schemaname = :s", s=self.schema).first():
                    raise BadUsage(
                        f"{self.url}: the schema {self.schema} has tables of another program; "
                        "name another with ?schema=NAME"
                    )
            elif version > SCHEMA.version:
                raise self._newer(version)
            for step in SCHEMA.steps[version or 0 :]:
                for statement in in_postgres(step):
                    run(connection, statement)
            set_meta(connection, VERSION, SCHEMA.version)

    def _version(self) -> int | None:
        with self.reading() as connection:
            version = self._version_in(connection)
        if version is not None and version > SCHEMA.version:
            raise self._newer(version)
        return version

    def _version_in(self, connection: Connection) -> int | None:
        """The version of the tables; None where there are none."""
        query = "SELECT 1 FROM pg_tables WHERE schemaname = :s AND tablename = 'meta'"
        return get_meta(connection, VERSION) if run(connection, query, s=self.schema).first() else None

    def _missing(self) -> BadUsage:
        how = "`ethogram store import FILE --store URL` makes one"
        return BadUsage(f"there is no store at {self.url}; {how}")

    def _newer(self, version: int) -> BadUsage:
        return BadUsage(
            f"{self.url} has schema {version}, and this ethogram knows up to {SCHEMA.version}: a newer one "
            "wrote it. Upgrade ethogram, or name another schema with ?schema=NAME"
        )

    @contextmanager
    def named_errors(self) -> Iterator[None]:
        psycopg = _driver()
        try:
            with unwrapped():
                yield
        except psycopg.DataError as error:
            raise EthogramError(f"{self.url}: {explain(error)}") from error
        except psycopg.Error as error:
            raise StoreFailed(f"{self.url}: {explain(error)}") from error
        except NoConnection:
            raise StoreFailed(f"{self.url}: {NO_CONNECTION}") from None
        except UnicodeEncodeError as error:
            raise EthogramError(f"{self.url}: a text cannot be stored: {error.reason}") from error
        except BAD_ROW as error:
            raise StoreFailed(
                f"{self.url}: damaged: a row cannot be read ({type(error).__name__}); restore a backup"
            ) from error

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        with self.named_errors(), self.engine.connect() as opened:
            connection = opened.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
            with connection.begin():
                yield connection

    @contextmanager
    def writing(self, *, wait: bool = True, rows: int = 0) -> Iterator[Connection]:
        with self.named_errors(), self.engine.connect() as connection, connection.begin():
            if wait:
                self._take_turn(connection)
            else:
                query = "SELECT pg_try_advisory_xact_lock(:key)"
                if not run(connection, query, key=lock_key(self.schema, "")).scalar():
                    raise StoreFailed(f"{self.url}: another program is writing to it: try again")
            yield connection

    def _take_turn(self, connection: Connection) -> None:
        run(connection, "SELECT pg_advisory_xact_lock(:key)", key=lock_key(self.schema, ""))

    def claim(self, name: str, row: Any, now_us: int) -> bool:
        """Take the advisory lock of a name on a connection of its own, where no other process has it."""
        with self.named_errors():
            opened = self.engine.connect()
            try:
                connection = opened.execution_options(isolation_level="AUTOCOMMIT")
                key = lock_key(self.schema, name)
                is_ours = bool(run(connection, "SELECT pg_try_advisory_lock(:key)", key=key).scalar())
            except BaseException:
                opened.close()
                raise
        if is_ours:
            self._claims[name] = connection
        else:
            opened.close()
        return is_ours

    def release(self, name: str) -> None:
        """Give the lock of a name back, and end the connection that holds it.

        The end alone would do, but a busy server notices it only after a while.
        """
        connection = self._claims.pop(name, None)
        if connection is not None:
            with suppress(OperationalError, connection.dialect.loaded_dbapi.Error):  # it has released it then
                run(connection, "SELECT pg_advisory_unlock(:key)", key=lock_key(self.schema, name))
            with suppress(OperationalError):
                connection.invalidate()
                connection.close()

    def scrub(self) -> bool:
        """Rewrite the tables so that no removed row is left in them; False where somebody is reading."""
        names = "SELECT tablename FROM pg_tables WHERE schemaname = :s"
        with self.named_errors(), self.engine.connect() as opened:
            connection = opened.execution_options(isolation_level="AUTOCOMMIT")
            run(connection, f"SET lock_timeout = '{PATIENCE}'")
            try:
                for name in run(connection, names, s=self.schema).scalars().all():
                    run(connection, f"VACUUM (FULL) {quoted(name)}")
            except _driver().errors.LockNotAvailable:
                return False
            finally:
                run(connection, "RESET lock_timeout")
        return True

    def size(self) -> int:
        """Bytes of the tables and their indexes."""
        query = """SELECT sum(pg_total_relation_size(c.oid)) FROM pg_class c
          JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = :s AND c.relkind = 'r'"""
        with self.reading() as connection:
            return int(run(connection, query, s=self.schema).scalar())


def _driver() -> Any:
    try:
        import psycopg
    except ImportError:
        raise MissingExtra("psycopg", "postgres", "a store in PostgreSQL") from None
    return psycopg


def parse(url: str) -> tuple[URL, str]:
    """The address for the driver, and the schema.

    >>> parse("postgresql://ann@localhost/events?schema=test")
    (postgresql+psycopg://ann@localhost/events, 'test')
    """
    try:
        address = make_url(url)
    except (ArgumentError, ValueError):
        # Without the URL, which may hold a password.
        raise BadUsage("invalid store URL: expected postgresql://USER@HOST:PORT/DATABASE") from None
    options = {name: str(value) for name, value in address.query.items()}
    schema = options.pop("schema", DEFAULT)
    if unknown := sorted(set(options) - set(OPTIONS)):
        known = ", ".join(("schema", *OPTIONS))
        raise BadUsage(f"invalid store URL: unknown option {unknown[0]!r:.40}: expected one of {known}")
    if not re.fullmatch(r"[a-z_][a-z0-9_]{0,62}", schema) or schema.startswith("pg_"):
        raise BadUsage(
            f"invalid schema {schema!r:.80}: expected small letters, digits and _, and not pg_ at the start"
        )
    if not address.database:
        raise BadUsage("invalid store URL: it names no database: expected postgresql://USER@HOST/DATABASE")
    return address.set(drivername="postgresql+psycopg", query=options), schema


def shown_url(address: URL, schema: str) -> str:
    """The address for messages: without the password and the options.

    >>> shown_url(*parse("postgresql://ann:secret@localhost:5433/events?sslmode=require"))
    'postgresql://ann@localhost:5433/events'
    """
    query = {} if schema == DEFAULT else {"schema": schema}
    plain = URL.create(
        "postgresql", address.username, None, address.host, address.port, address.database, query
    )
    return plain.render_as_string()


def make_engine(address: URL, schema: str) -> Engine:
    """The engine of a database, whose connections see one schema."""
    _driver()
    settings = f"-c search_path={schema} -c client_encoding=UTF8 -c TimeZone=UTC"
    how = {"options": settings, "application_name": "ethogram", "connect_timeout": 10, **KEEPALIVE}
    given = {name: value for name, value in how.items() if name not in address.query}
    return create_engine(address, connect_args=given, pool_pre_ping=True, pool_size=2, max_overflow=8)


def quoted(name: str) -> str:
    """A name that `parse` or the schema allows, in quotes."""
    return f'"{name}"'


def lock_key(schema: str, name: str) -> int:
    """The number of an advisory lock of a schema; those of other programs are hardly the same."""
    digest = blake2b(f"ethogram\0{schema}\0{name}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)


def in_postgres(step: str) -> list[str]:
    """The statements of a step of the schema, as PostgreSQL takes them.

    >>> in_postgres("CREATE TABLE t (key INTEGER PRIMARY KEY, name TEXT, size REAL) STRICT;\\n")
    ['CREATE TABLE t (key BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY, name TEXT COLLATE "C",
      size DOUBLE PRECISION)']
    """
    statements = [item.strip().rstrip(";") for item in step.split(";\n")]
    return [_translated(item) for item in statements if item]


REPLACED = (
    (r"\) STRICT(, WITHOUT ROWID)?\s*$", ")"),
    (r"\bINTEGER PRIMARY KEY( AUTOINCREMENT)?", "BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY"),
    (r"\bINTEGER\b", "BIGINT"),
    (r"\bREAL\b", "DOUBLE PRECISION"),
    (r"\bBLOB\b", "BYTEA"),
    # Order by code point, as Python and SQLite do.
    (r"\bTEXT\b", 'TEXT COLLATE "C"'),
)


def _translated(statement: str) -> str:
    if statement.startswith("CREATE VIEW all_readings"):
        return VIEW
    for pattern, new in REPLACED:
        statement = re.sub(pattern, new, statement)
    return statement


def explain(error: Any) -> str:
    """What an error of the server means, in one line, and what to do about it."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    message = lines[0] if lines else type(error).__name__
    state = error.sqlstate or ("08" if isinstance(error, _driver().OperationalError) else "")
    if not error.sqlstate:  # as while connecting
        state = next((code for words, code in CONNECTING.items() if words in str(error)), state)
    known = [start for start in ADVICE if state.startswith(start)]
    return f"{message}; {ADVICE[max(known, key=len)]}" if known else message
