"""The registered consumers of a stream, for enhanced fan-out."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Literal

from kinesis_emulator.limits import RateWindow

ConsumerStatus = Literal["CREATING", "ACTIVE", "DELETING"]


@dataclass(eq=False)
class ShardSubscription:
    """A consumer's subscription to one shard. A new subscription to the same shard ends it."""

    started_s: float
    is_open: bool = False
    """Whether it sends events now."""


@dataclass(eq=False)
class RegisteredConsumer:
    """One registered consumer. Its status is computed from the time."""

    name: str
    stream_arn: str
    created_s: int
    active_ms: int
    tags: dict[str, str] = field(default_factory=dict)
    policy: str | None = None
    gone_ms: int | None = None
    """When the deregistered consumer disappears; None while it is registered."""
    subscriptions: dict[str, ShardSubscription] = field(default_factory=dict)
    """The latest subscription to each shard, by shard id."""
    rates: defaultdict[str, RateWindow] = field(default_factory=lambda: defaultdict(RateWindow))
    """Calls of SubscribeToShard, by shard id."""

    @property
    def arn(self) -> str:
        return f"{self.stream_arn}/consumer/{self.name}:{self.created_s}"

    def status(self, now_ms: int) -> ConsumerStatus:
        if self.gone_ms is not None:
            return "DELETING"
        return "CREATING" if now_ms < self.active_ms else "ACTIVE"


class RegisteredConsumers:
    """The consumers of one stream by name. The caller holds the stream's lock."""

    def __init__(self) -> None:
        self._by_name: dict[str, RegisteredConsumer] = {}
        self._last_created_s = 0

    def known(self, now_ms: int) -> list[RegisteredConsumer]:
        """Return the consumers that have not disappeared, in the order of their names."""
        self._by_name = {
            name: consumer
            for name, consumer in sorted(self._by_name.items())
            if consumer.gone_ms is None or now_ms < consumer.gone_ms
        }
        return list(self._by_name.values())

    def get(self, name: str, now_ms: int) -> RegisteredConsumer | None:
        """Return the consumer of that name; None if it does not exist or has disappeared."""
        return next((consumer for consumer in self.known(now_ms) if consumer.name == name), None)

    def add(
        self, name: str, stream_arn: str, now_ms: int, active_ms: int, tags: dict[str, str]
    ) -> RegisteredConsumer:
        """
        Register a consumer that becomes active at *active_ms*.

        Its second of creation is part of its ARN. The second runs ahead of the clock when consumers are registered within
        the same second, because AWS never uses an ARN twice.
        """
        self._last_created_s = max(now_ms // 1000, self._last_created_s + 1)
        consumer = RegisteredConsumer(name, stream_arn, self._last_created_s, active_ms, tags)
        self._by_name[name] = consumer
        return consumer

    def every(self) -> list[RegisteredConsumer]:
        """Return all consumers, including deregistered ones that have not been removed yet."""
        return list(self._by_name.values())

    def restore(self, consumer: RegisteredConsumer) -> None:
        """Add a consumer that was registered before a restart."""
        self._last_created_s = max(self._last_created_s, consumer.created_s)
        self._by_name[consumer.name] = consumer
