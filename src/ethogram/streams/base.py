"""What all brokers have in common: addresses, messages, and how they are read and acknowledged."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple, NoReturn, Protocol
from urllib.parse import parse_qsl, unquote, urlsplit

from ..errors import BadUsage, EthogramError, MissingExtra, did_you_mean
from ..models.slotted import dataclass, field

SCHEMES: Mapping[str, str] = {
    "redis": "redis",
    "rediss": "redis",
    "nats": "nats",
    "tls": "nats",
    "kafka": "kafka",
}
"""Scheme of an address to the module of its broker."""
PASSWORDS = {"redis": "REDISCLI_AUTH", "nats": "NATS_PASSWORD", "kafka": "KAFKA_PASSWORD"}
"""The variables with passwords, which a command line would show to everybody on the machine."""
COMMON = ("group", "partitions")
GROUP = "ethogram"
MOST_PARTITIONS = 1_000
CONNECT_SECONDS = 10.0
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,200}")


class BrokerError(EthogramError):
    """A broker cannot be reached, or refuses what a consumer needs."""


class Message(NamedTuple):
    """A message of a stream. Delivered again, it has the same position, number and time."""

    position: str
    """Where it is: stream or partition, and id or offset."""
    body: bytes | None
    """None where the broker has it no longer."""
    at: datetime | None
    """When the broker got it, where that is known."""
    seq: int | None
    """Grows with the position in a partition, where that has an order."""
    handle: Any = None
    """What the broker needs to acknowledge it."""


class Stream(Protocol):
    """A position in the partitions of a stream that the broker keeps."""

    def read(self, most: int, wait: float) -> list[Message]:
        """The next messages; first those that were delivered before and not acknowledged.

        Waits up to `wait` seconds for the first one. Within a partition they come in order.
        """

    def acknowledge(self, messages: Sequence[Message]) -> None:
        """Record that these messages are dealt with: a later consumer does not get them."""

    def close(self) -> None:
        """Close the connection."""


@dataclass(frozen=True, slots=True)
class Address:
    """`SCHEME://[USER[:PASSWORD]@]HOST[:PORT][,...]/NAME[?group=...&partitions=0,1]`."""

    scheme: str
    hosts: tuple[str, ...]
    name: str
    """Of the stream or topic."""
    group: str = GROUP
    """Who reads: each group gets every message, and the broker keeps a position for each."""
    partitions: tuple[int, ...] = ()
    """Those to read; none: all, or as the broker assigns them."""
    user: str = ""
    password: str = ""
    options: Mapping[str, str] = field(default_factory=dict)
    """Of the broker."""

    @classmethod
    def of(cls, url: str) -> Address:
        """Read an address; errors repeat no password.

        >>> Address.of("kafka://a:9092,b:9092/events?partitions=0,2-3").partitions
        (0, 2, 3)
        """
        # Several hosts are no valid URL where one is in brackets.
        scheme, _, rest = url.partition("://")
        place, _, query = rest.partition("?")
        place, _, path = place.partition("/")
        user, _, hosts = place.rpartition("@")
        name, _, password = user.partition(":")
        scheme, stream = scheme.lower(), unquote(path)
        if not all(hosts.split(",")) or not _NAME.fullmatch(stream):
            raise BadUsage(
                f"{scheme}://{hosts}/{path}: expected {scheme}://HOST/NAME with the name of a stream"
            )
        options = dict(parse_qsl(query, keep_blank_values=True))
        group = options.pop("group", GROUP)
        if not _NAME.fullmatch(group):
            raise BadUsage(f"invalid group {group!r:.60}: expected letters, digits, '_', '.' and '-'")
        partitions = _partitions(options.pop("partitions", ""))
        secret = unquote(password) or os.environ.get(PASSWORDS[SCHEMES[scheme]], "")
        return cls(scheme, tuple(hosts.split(",")), stream, group, partitions, unquote(name), secret, options)

    @property
    def broker(self) -> str:
        """The module of the broker."""
        return SCHEMES[self.scheme]

    def __str__(self) -> str:
        """The address without user, password and options."""
        return f"{self.scheme}://{','.join(self.hosts)}/{self.name}"

    def servers(self, port: int) -> list[str]:
        """Hosts with their ports, or this one.

        >>> Address.of("kafka://a,[::1]:9/events").servers(9092)
        ['a:9092', '[::1]:9']
        """
        try:
            ports = [urlsplit(f"//{host}").port for host in self.hosts]
        except ValueError:
            raise BadUsage(f"{self}: invalid port: expected HOST:PORT") from None
        return [
            f"{host.removesuffix(f':{own}')}:{own or port}"
            for host, own in zip(self.hosts, ports, strict=True)
        ]

    def check_options(self, known: Collection[str]) -> None:
        """BadUsage where there is an option that the broker does not have."""
        for name in self.options:
            if name not in known:
                raise BadUsage(
                    f"{self}: unknown option {name!r:.60}: expected {', '.join(sorted({*COMMON, *known}))}"
                    f"{did_you_mean(name, {*COMMON, *known})}"
                )

    def missing(self, package: str) -> MissingExtra:
        """The error where the client is not installed."""
        return MissingExtra(package, "streams", f"reading {self.scheme}://")

    def fail(self, error: BaseException | str) -> NoReturn:
        """Raise BrokerError with the first line of an error."""
        text = str(error).partition("\n")[0].strip() or type(error).__name__
        if self.password:
            text = text.replace(self.password, "***")
        raise BrokerError(f"{self}: {text[:300]}") from None


def _partitions(text: str) -> tuple[int, ...]:
    """
    >>> _partitions("0-2,7")
    (0, 1, 2, 7)
    """
    numbers: set[int] = set()
    for part in text.split(",") if text else ():
        first, _, last = part.partition("-")
        if not (first.isdecimal() and (last or first).isdecimal()) or int(last or first) >= MOST_PARTITIONS:
            raise BadUsage(f"invalid partitions {text!r:.60}: expected numbers from 0, like 0,1 or 0-3")
        numbers.update(range(int(first), int(last or first) + 1))
    return tuple(sorted(numbers))
