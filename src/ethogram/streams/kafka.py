"""Kafka: `kafka://HOST/NAME` reads the topic NAME, with its partitions as the group assigns them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from ..models import EPOCH
from .base import CONNECT_SECONDS, Address, Message

PORT = 9092


def connect(address: Address) -> KafkaStream:
    """Join the group, or take the partitions that the address names. Options with a dot are the client's."""
    address.check_options([name for name in address.options if "." in name])
    try:
        import confluent_kafka
    except ImportError:
        raise address.missing("confluent-kafka") from None
    return KafkaStream(address, confluent_kafka)


class KafkaStream:
    """A consumer whose offsets are committed only by `acknowledge`."""

    def __init__(self, address: Address, kafka: Any) -> None:
        self._address, self._kafka = address, kafka
        self._early: list[Any] = []
        """What came while the group was joined."""
        secrets = {"sasl.username": address.user, "sasl.password": address.password} if address.user else {}
        config = {
            "log_level": 0,
            "auto.offset.reset": "earliest",
            **secrets,
            **address.options,
            "bootstrap.servers": ",".join(address.servers(PORT)),
            "group.id": address.group,
            "enable.auto.commit": False,
        }
        try:
            self._consumer = kafka.Consumer(config)
            self._begin()
        except kafka.KafkaException as error:
            address.fail(_words(error))

    def _begin(self) -> None:
        name, partition = self._address.name, self._kafka.TopicPartition
        known = self._consumer.list_topics(name, timeout=CONNECT_SECONDS).topics[name]
        if known.error is not None:
            self._address.fail(known.error.str())
        if not self._address.partitions:
            self._join(name)
            return
        if missing := set(self._address.partitions) - set(known.partitions):
            self._address.fail(f"no partition {min(missing)}: the topic has {len(known.partitions)}")
        self._consumer.assign(
            [partition(name, number, self._kafka.OFFSET_STORED) for number in self._address.partitions]
        )

    def _join(self, name: str) -> None:
        """Subscribe, and wait until the group has assigned partitions, which takes seconds."""
        assigned: list[Any] = []
        self._consumer.subscribe([name], on_assign=lambda _, partitions: assigned.append(partitions))
        until = time.monotonic() + CONNECT_SECONDS
        while not assigned and not self._early and time.monotonic() < until:
            self._early = self._consumer.consume(1, 0.1)

    def read(self, most: int, wait: float) -> list[Message]:
        messages: list[Message] = []
        try:
            items, self._early = self._early or self._consumer.consume(1, wait), []
            if items:  # the rest without waiting for more
                items += self._consumer.consume(most - 1, 0.01)
        except self._kafka.KafkaException as error:
            self._address.fail(_words(error))
        passing = (self._kafka.KafkaError._PARTITION_EOF, self._kafka.KafkaError._MAX_POLL_EXCEEDED)
        for item in items:
            fault = item.error()
            if fault is None:
                messages.append(self._message(item))
            elif fault.code() not in passing and not fault.retriable():
                self._address.fail(fault.str())
        return messages

    def _message(self, item: Any) -> Message:
        _, ms = item.timestamp()
        at = EPOCH + timedelta(milliseconds=ms) if ms > 0 else None
        position = f"{item.topic()}/{item.partition()}/{item.offset()}"
        return Message(position, item.value(), at, item.offset(), (item.partition(), item.offset()))

    def acknowledge(self, messages: Sequence[Message]) -> None:
        last: dict[int, int] = {}
        for partition, offset in (message.handle for message in messages):
            last[partition] = max(offset, last.get(partition, 0))
        make, error_of = self._kafka.TopicPartition, self._kafka.KafkaError
        offsets = [make(self._address.name, number, offset + 1) for number, offset in last.items()]
        try:
            self._consumer.commit(offsets=offsets, asynchronous=False)
        except self._kafka.KafkaException as error:
            # What cannot be committed comes again, to whom the group gave the partition or once it is back.
            others = (error_of.ILLEGAL_GENERATION, error_of.UNKNOWN_MEMBER_ID, error_of.REBALANCE_IN_PROGRESS)
            fault = error.args[0]
            is_local = fault.code() < 0 and not fault.fatal()
            if not (is_local or fault.retriable() or fault.code() in others):
                self._address.fail(_words(error))

    def close(self) -> None:
        self._consumer.close()


def _words(error: Any) -> str:
    text: str = error.args[0].str()
    return text
