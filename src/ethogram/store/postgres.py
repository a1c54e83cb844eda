"""The PostgreSQL store: one schema of a database, for many programs at a time."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from hashlib import blake2b
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from ..errors import BadUsage, EthogramError, MissingExtra, StoreFailed
from ..files.sqlite import BAD_ROW
from . import store
from .kinds import Row
from .moving import VERSION
from .numbers import get_meta, set_meta
from .old_staging import LAST_VERSION, take_staged
from .pool import Pool
from .schema import SCHEMA
from .sql import SqlStore
from .statements import EVENT_COLUMNS, POSTGRES

MOST_CONNECTIONS = 10
DEFAULT = "ethogram"
"""The schema of a store, unless ?schema= names another."""
OPTIONS = ("sslmode", "sslrootcert", "sslcert", "sslkey", "connect_timeout", "application_name")
"""What a URL may say to the driver after the `?`."""
SCRUB_TIMEOUT = "3s"
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

    dialect = POSTGRES

    def __init__(self, url: str, *, create: bool = False) -> None:
        super().__init__()
        self._server, self.schema = parse(url)
        self.url, self.address = shown_url(self._server, self.schema), url
        self.version = SCHEMA.version
        self._claims: dict[str, Any] = {}
        _driver()
        self.pool = Pool(self.url, self._connect, MOST_CONNECTIONS)
        try:
            self._prepare(create=create)
        except BaseException:
            self.close()
            raise

    def _connect(self) -> Any:
        return _driver().connect(**self._server.arguments(self.schema), autocommit=True)

    def close(self) -> None:
        for name in list(self._claims):
            self.release(name)
        super().close()

    def _prepare(self, *, create: bool) -> None:
        """Check the version, and make or upgrade the tables; who may only read can open a current store."""
        if self._version() == SCHEMA.version:
            return
        with self.writing() as raw:
            if not raw.execute("SELECT to_regnamespace(%s)", [self.schema]).fetchone()[0]:
                if not create:
                    raise self._missing()
                raw.execute(f"CREATE SCHEMA {quoted(self.schema)}")
        with self.writing() as raw:
            version = self._version_in(raw)
            if version is None:
                if not create:
                    raise self._missing()
                if raw.execute("SELECT 1 FROM pg_tables WHERE schemaname = %s", [self.schema]).fetchone():
                    raise BadUsage(
                        f"{self.url}: the schema {self.schema} has tables of another program; "
                        "name another with ?schema=NAME"
                    )
            elif version > SCHEMA.version:
                raise self._newer(version)
            staged = take_staged(raw) if version and version <= LAST_VERSION else []
            for step in SCHEMA.steps[version or 0 :]:
                for statement in in_postgres(step):
                    raw.execute(statement)
            self.write("staged", staged)
            set_meta(self, VERSION, SCHEMA.version)

    def _version(self) -> int | None:
        with self.reading() as raw:
            version = self._version_in(raw)
        if version is not None and version > SCHEMA.version:
            raise self._newer(version)
        return version

    def _version_in(self, raw: Any) -> int | None:
        """The version of the tables; None where there are none."""
        query = "SELECT 1 FROM pg_tables WHERE schemaname = %s AND tablename = 'meta'"
        return get_meta(self.view(raw), VERSION) if raw.execute(query, [self.schema]).fetchone() else None

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
            yield
        except psycopg.DataError as error:
            raise EthogramError(f"{self.url}: {explain(error)}") from error
        except psycopg.Error as error:
            raise StoreFailed(f"{self.url}: {explain(error)}") from error
        except UnicodeEncodeError as error:
            raise EthogramError(f"{self.url}: a text cannot be stored: {error.reason}") from error
        except BAD_ROW as error:
            raise StoreFailed(
                f"{self.url}: damaged: a row cannot be read ({type(error).__name__}); restore a backup"
            ) from error

    def begin(self, raw: Any, *, writes: bool, wait: bool = True) -> None:
        if not writes:
            raw.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            return
        raw.execute("BEGIN")
        key = [lock_key(self.schema, "")]
        if wait:
            raw.execute("SELECT pg_advisory_xact_lock(%s)", key)
        elif not raw.execute("SELECT pg_try_advisory_xact_lock(%s)", key).fetchone()[0]:
            raise StoreFailed(f"{self.url}: another program is writing to it: try again")

    def check(self, raw: Any) -> None:
        raw.execute("SELECT 1")

    def undo(self, raw: Any) -> None:
        with suppress(_driver().Error):
            raw.rollback()

    def is_sound(self, raw: Any) -> bool:
        return not raw.closed and raw.info.transaction_status == _driver().pq.TransactionStatus.IDLE

    def insert_new(self, raw: Any, events: Sequence[Row], rows: Iterable[Row]) -> list[int]:
        known = self.known(raw, events)
        here = [place for place, event in enumerate(events) if (event[1], event[3]) in known]
        left_out = set(here)
        copy = f"COPY events ({', '.join(EVENT_COLUMNS)}) FROM STDIN"
        with raw.cursor() as cursor, cursor.copy(copy) as into:
            for place, row in enumerate(rows):
                if place not in left_out:
                    into.write_row(row)
        return here

    def claim(self, name: str, row: Any, now_us: int) -> bool:
        """Take the advisory lock of a name on a connection of its own, where no other process has it."""
        with self.named_errors():
            raw = self._connect()
            try:
                key = [lock_key(self.schema, name)]
                is_ours = bool(raw.execute("SELECT pg_try_advisory_lock(%s)", key).fetchone()[0])
            except BaseException:
                raw.close()
                raise
        if is_ours:
            self._claims[name] = raw
        else:
            raw.close()
        return is_ours

    def release(self, name: str) -> None:
        """Give the lock of a name back, and end the connection that holds it.

        The end alone would do, but a busy server notices it only after a while.
        """
        raw = self._claims.pop(name, None)
        if raw is not None:
            with suppress(_driver().Error):  # it has released it then
                raw.execute("SELECT pg_advisory_unlock(%s)", [lock_key(self.schema, name)])
            raw.close()

    def scrub(self) -> bool:
        """Rewrite the tables so that no removed row is left in them; False where somebody is reading."""
        names = "SELECT tablename FROM pg_tables WHERE schemaname = %s"
        with self.connection() as raw:
            raw.execute(f"SET lock_timeout = '{SCRUB_TIMEOUT}'")
            try:
                for (name,) in raw.execute(names, [self.schema]).fetchall():
                    raw.execute(f"VACUUM (FULL) {quoted(name)}")
            except _driver().errors.LockNotAvailable:
                return False
            finally:
                raw.execute("RESET lock_timeout")
        return True

    def size(self) -> int:
        """Bytes of the tables and their indexes."""
        query = """SELECT sum(pg_total_relation_size(c.oid)) FROM pg_class c
          JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = %s AND c.relkind = 'r'"""
        with self.reading() as raw:
            return int(raw.execute(query, [self.schema]).fetchone()[0])


def _driver() -> Any:
    try:
        import psycopg
    except ImportError:
        raise MissingExtra("psycopg", "postgres", "a store in PostgreSQL") from None
    return psycopg


class Address(NamedTuple):
    """Where a server and a database are, and what the URL says to the driver."""

    user: str | None
    password: str | None
    host: str | None
    port: int | None
    database: str
    options: Mapping[str, str]

    def arguments(self, schema: str) -> dict[str, Any]:
        """What the driver takes, for connections that see one schema."""
        settings = f"-c search_path={schema} -c client_encoding=UTF8 -c TimeZone=UTC"
        how = {"options": settings, "application_name": "ethogram", "connect_timeout": 10, **KEEPALIVE}
        given = {
            "user": self.user, "password": self.password, "host": self.host, "port": self.port,
            "dbname": self.database,
        }  # fmt: skip
        return {**how, **self.options, **{name: value for name, value in given.items() if value is not None}}

    def to_url(self, query: Mapping[str, str], *, with_password: bool = True) -> str:
        """The address as a URL."""
        who = "" if self.user is None else quote(self.user, safe=" +")
        if with_password and self.password is not None:
            who += f":{quote(self.password, safe=' +')}"
        host = f"[{self.host}]" if ":" in (self.host or "") else self.host or ""
        port = "" if self.port is None else f":{self.port}"
        options = f"?{urlencode(query)}" if query else ""
        return f"postgresql://{who}{'@' * bool(who)}{host}{port}/{self.database}{options}"


def parse(url: str) -> tuple[Address, str]:
    """The address for the driver, and the schema.

    >>> parse("postgresql://ann@localhost/events?schema=test")[1]
    'test'
    """
    try:
        parts = urlsplit(url)
        port = parts.port
        query = dict(parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query)))
    except ValueError:
        # Without the URL, which may hold a password.
        raise BadUsage("invalid store URL: expected postgresql://USER@HOST:PORT/DATABASE") from None
    schema = query.pop("schema", DEFAULT)
    if unknown := sorted(set(query) - set(OPTIONS)):
        known = ", ".join(("schema", *OPTIONS))
        raise BadUsage(f"invalid store URL: unknown option {unknown[0]!r:.40}: expected one of {known}")
    if not re.fullmatch(r"[a-z_][a-z0-9_]{0,62}", schema) or schema.startswith("pg_"):
        raise BadUsage(
            f"invalid schema {schema!r:.80}: expected small letters, digits and _, and not pg_ at the start"
        )
    if not parts.path.strip("/"):
        raise BadUsage("invalid store URL: it names no database: expected postgresql://USER@HOST/DATABASE")
    user, password = (None if text is None else unquote(text) for text in (parts.username, parts.password))
    host = None if parts.hostname is None else unquote(parts.hostname)
    return Address(user, password, host, port, unquote(parts.path[1:]), query), schema


def shown_url(address: Address, schema: str) -> str:
    """The address for messages: without the password and the options.

    >>> shown_url(*parse("postgresql://ann:secret@localhost:5433/events?sslmode=require"))
    'postgresql://ann@localhost:5433/events'
    """
    return address.to_url({} if schema == DEFAULT else {"schema": schema}, with_password=False)


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
    # Where the database's own numbers stand.
    (r"seq FROM sqlite_sequence WHERE name = 'changes'", "last_value FROM changes_key_seq WHERE is_called"),
    (
        r"seq FROM sqlite_sequence WHERE name = 'imports'",
        "last_value FROM imports_number_seq WHERE is_called",
    ),
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
