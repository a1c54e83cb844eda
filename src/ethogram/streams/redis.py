"""Redis Streams: `redis://HOST/NAME` reads the stream NAME, with partitions NAME.0, NAME.1, ..."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from ..errors import BadUsage
from ..models import EPOCH
from .base import CONNECT_SECONDS, Address, Message

PORT = 6379
OPTIONS = ("db", "field")
FIELD = "event"
NEW = ">"
BLOCK_SECONDS = 5.0
LAST_MS = 2**42
"""In the year 2109."""
PAUSES = (0.2, 1.0, 5.0)
"""Seconds until a lost connection is tried again."""


def connect(address: Address) -> RedisStream:
    """Join the group of each stream; a stream that is not there yet is made, and begins empty."""
    address.check_options(OPTIONS)
    try:
        import redis
    except ImportError:
        raise address.missing("redis") from None
    return RedisStream(address, redis)


class RedisStream:
    """One consumer of a group. Every consumer of a partition has the same name, and so the same messages."""

    def __init__(self, address: Address, redis: Any) -> None:
        server, *others = address.servers(PORT)
        host, _, port = server.rpartition(":")
        database = address.options.get("db", "0")
        if others or not database.isdecimal():
            raise BadUsage(f"{address}: expected one HOST, and a number for db")
        self._address, self._errors = address, (redis.ConnectionError, redis.TimeoutError)
        self._redis_error = redis.RedisError
        self._field = address.options.get("field", FIELD).encode()
        # Without retries of its own: an answer that was lost is pending, and must be asked for again.
        self._client = redis.Redis(
            host=host.strip("[]"),
            port=int(port),
            db=int(database),
            username=address.user or None,
            password=address.password or None,
            ssl=address.scheme == "rediss",
            socket_connect_timeout=CONNECT_SECONDS,
            socket_timeout=CONNECT_SECONDS,
            protocol=2,
            retry=redis.retry.Retry(redis.backoff.NoBackoff(), 0),
        )
        names = [f"{address.name}.{number}" for number in address.partitions] or [address.name]
        self._next = dict.fromkeys(names, "0")
        """Stream to the id after which pending messages are read; then NEW."""
        for name in names:
            self._join(name)

    def _join(self, name: str) -> None:
        try:
            self._client.xgroup_create(name, self._address.group, id="0", mkstream=True)
        except self._redis_error as error:
            if not str(error).startswith("BUSYGROUP"):
                self._address.fail(error)

    def read(self, most: int, wait: float) -> list[Message]:
        for pause in (*PAUSES, None):
            try:
                return self._read(most, wait)
            except self._errors as error:
                self._next = dict.fromkeys(self._next, "0")
                if pause is None:
                    self._address.fail(error)
                time.sleep(pause)
            except self._redis_error as error:
                self._address.fail(error)
        raise AssertionError

    def _read(self, most: int, wait: float) -> list[Message]:
        group = self._address.group
        block = max(1, int(min(wait, BLOCK_SECONDS) * 1000))  # 0 would mean for ever
        messages: list[Message] = []
        while not messages:
            is_new = all(place == NEW for place in self._next.values())
            answer: Any = self._client.xreadgroup(group, group, self._next, count=most, block=block)
            for key, entries in dict(answer or ()).items():
                name = key.decode()
                if self._next[name] != NEW:
                    self._next[name] = entries[-1][0].decode() if entries else NEW
                messages += [self._message(name, id_.decode(), fields) for id_, fields in entries]
            if is_new:
                break
        return messages

    def _message(self, name: str, id_: str, fields: dict[bytes, bytes] | None) -> Message:
        body: bytes | None = None
        if fields:
            body = fields.get(self._field, next(iter(fields.values())) if len(fields) == 1 else b"")
        ms, _, number = id_.partition("-")
        since = min(int(ms), LAST_MS)  # ids may be made up
        seq = since * 2**20 + min(int(number or 0), 2**20 - 1)
        return Message(f"{name}/{id_}", body, EPOCH + timedelta(milliseconds=since), seq, (name, id_))

    def acknowledge(self, messages: Sequence[Message]) -> None:
        ids: defaultdict[str, list[str]] = defaultdict(list)
        for message in messages:
            name, id_ = message.handle
            ids[name].append(id_)
        try:
            for name, own in ids.items():
                self._client.xack(name, self._address.group, *own)
        except self._errors:
            self._next = dict.fromkeys(self._next, "0")  # they come again, which changes nothing
        except self._redis_error as error:
            self._address.fail(error)

    def close(self) -> None:
        self._client.close()
