"""NATS JetStream: `nats://HOST/NAME` reads the stream NAME; partitions are its subjects NAME.0, ..."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Sequence
from contextlib import suppress
from datetime import UTC
from typing import Any, TypeVar

from ..errors import BadUsage
from .base import CONNECT_SECONDS, Address, BrokerError, Message

PORT = 4222
OPTIONS = ("ack_wait", "creds")
ACK_WAIT = 30.0
"""Seconds after which a message that was not acknowledged is delivered again."""
FETCH_SECONDS = 2.0
PENDING = 10_000
"""Messages that may be delivered and not acknowledged."""
Result = TypeVar("Result")


def connect(address: Address) -> NatsStream:
    """Bind to a durable consumer for each partition, and make those that are missing."""
    address.check_options(OPTIONS)
    try:
        import nats
    except ImportError:
        raise address.missing("nats-py") from None
    try:
        ack_wait = float(address.options.get("ack_wait", ACK_WAIT))
    except ValueError:
        raise BadUsage(f"{address}: invalid ack_wait: expected seconds") from None
    if "." in address.name:
        raise BadUsage(f"{address}: a stream of NATS has no '.' in its name")
    return NatsStream(address, nats, ack_wait)


class NatsStream:
    """Pull consumers, one for each partition. The client runs in a thread of its own, to answer pings."""

    def __init__(self, address: Address, nats: Any, ack_wait: float) -> None:
        self._address, self._nats, self._errors = address, nats, (nats.errors.Error, OSError)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="nats", daemon=True)
        self._thread.start()
        self._client: Any = None
        self._last = ""
        """The last error of the connection, which nothing else reports."""
        self._fetches: dict[Any, asyncio.Task[list[Any]]] = {}
        try:
            self._subscriptions = self._run(self._open(ack_wait), CONNECT_SECONDS)
        except BaseException:
            self.close()
            raise

    def _run(self, work: Coroutine[Any, Any, Result], seconds: float) -> Result:
        future = asyncio.run_coroutine_threadsafe(asyncio.wait_for(work, seconds), self._loop)
        try:
            return future.result()
        except TimeoutError:
            self._address.fail(self._last or f"no answer within {seconds:g} seconds")
        except self._nats.js.errors.NotFoundError:
            self._address.fail("no such stream: make one with nats stream add")
        except self._errors as error:
            self._address.fail(error)
        except KeyboardInterrupt:
            future.cancel()
            raise

    async def _open(self, ack_wait: float) -> list[Any]:
        address = self._address

        async def note(error: Exception) -> None:
            self._last = str(error)

        secrets: dict[str, str] = {}
        if address.user:
            both = {"user": address.user, "password": address.password}
            secrets = both if address.password else {"token": address.user}
        self._client = await self._nats.connect(
            servers=[f"{address.scheme}://{server}" for server in address.servers(PORT)],
            **secrets,
            user_credentials=address.options.get("creds"),
            error_cb=note,
            max_reconnect_attempts=-1,
            name="ethogram",
        )
        stream = self._client.jetstream()
        await stream.stream_info(address.name)
        group = address.group.replace(".", "_")
        names = {f"{group}-{number}": f"{address.name}.{number}" for number in address.partitions}
        return [
            await stream.pull_subscribe(
                subject,
                durable=durable,
                stream=address.name,
                config=self._nats.js.api.ConsumerConfig(ack_wait=ack_wait, max_ack_pending=PENDING),
            )
            for durable, subject in (names or {group: ""}).items()
        ]

    def read(self, most: int, wait: float) -> list[Message]:
        return self._run(self._read(most, wait), wait + CONNECT_SECONDS)

    async def _read(self, most: int, wait: float) -> list[Message]:
        for own in self._subscriptions:
            if own not in self._fetches:
                self._fetches[own] = asyncio.ensure_future(own.fetch(most, timeout=FETCH_SECONDS))
        done, _ = await asyncio.wait(
            self._fetches.values(), timeout=wait, return_when=asyncio.FIRST_COMPLETED
        )
        messages: list[Message] = []
        for own in [own for own, fetch in self._fetches.items() if fetch in done]:
            with suppress(TimeoutError):  # nothing came
                messages += map(self._message, self._fetches.pop(own).result())
        return messages

    def _message(self, item: Any) -> Message:
        seq, at = item.metadata.sequence.stream, item.metadata.timestamp.astimezone(UTC)
        return Message(f"{self._address.name}/{seq}", item.data, at, seq, item)

    def acknowledge(self, messages: Sequence[Message]) -> None:
        with suppress(BrokerError):  # without a connection they come again
            self._run(self._acknowledge(messages), CONNECT_SECONDS)

    async def _acknowledge(self, messages: Sequence[Message]) -> None:
        for message in messages:
            await message.handle.ack()
        await self._client.flush()

    def close(self) -> None:
        async def end() -> None:
            fetches = self._fetches.values()
            if self._client is not None:
                for fetch in fetches:
                    if fetch.done() and fetch.exception() is None:
                        for item in fetch.result():
                            await item.nak()  # so that another consumer need not wait
                await self._client.close()
            await asyncio.gather(*fetches, return_exceptions=True)

        with suppress(BrokerError):
            self._run(end(), CONNECT_SECONDS)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(timeout=5)
