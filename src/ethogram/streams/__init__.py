"""Streams of messages in brokers: Redis Streams, NATS JetStream, Kafka (extra: streams)."""

from __future__ import annotations

from importlib import import_module

from .base import SCHEMES, Address, BrokerError, Message, Stream

__all__ = ["Address", "BrokerError", "Message", "Stream", "is_stream", "open_stream"]


def is_stream(text: str) -> bool:
    """Whether a text is the address of a stream, and not a path.

    >>> is_stream("redis://localhost/events"), is_stream("events.jsonl")
    (True, False)
    """
    return text.partition("://")[0].lower() in SCHEMES and "://" in text


def open_stream(url: str) -> Stream:
    """Connect to the stream at an address; BadUsage where that is wrong, BrokerError where nobody answers."""
    address = Address.of(url)
    stream: Stream = import_module(f".{address.broker}", __package__).connect(address)
    return stream
