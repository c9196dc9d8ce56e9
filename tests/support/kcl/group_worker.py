"""A worker of a group in a process of its own, whatever it is made of: it prints what happens to it, and obeys."""

from __future__ import annotations

from typing import Any, Literal

from attrs import define, field, frozen

from support.kcl.event_process import DEADLINE_S, Event, EventProcess
from support.streams import REGION


@frozen(kw_only=True)
class WorkerOptions:
    """A worker as a test wants it."""

    application: str
    """Also the name of the lease table."""
    stream: str
    """A name, or several as account:name:epoch, with commas between them."""
    kinesis_url: str
    dynamodb_url: str
    worker: str = "worker"
    """Its identifier. A worker that starts with the identifier of a dead one has the leases of that one at once."""
    position: str = "TRIM_HORIZON"
    """TRIM_HORIZON, LATEST, or AT_TIMESTAMP:<epoch in ms>."""
    checkpoint: Literal["batch", "command", "never"] = "batch"
    """After each batch; by `checkpoint()`, before a hand-over and an orderly end; or never. A shard's end always."""
    paused: bool = False
    """Process nothing before `resume()`."""

    def arguments(self, **more: object) -> tuple[str, ...]:
        values: dict[str, object] = {
            "application": self.application,
            "stream": self.stream,
            "kinesis": self.kinesis_url,
            "dynamodb": self.dynamodb_url,
            "region": REGION,
            "worker": self.worker,
            "position": self.position,
            "checkpoint": self.checkpoint,
            "paused": self.paused,
            **more,
        }
        return tuple(f"{name}={as_text(value)}" for name, value in values.items())


def as_text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


@frozen
class Delivered:
    """A user record that a worker got."""

    shard_id: str
    sequence_number: str
    sub_sequence_number: int
    partition_key: str
    data: str


@define(eq=False)
class GroupWorker:
    """A running worker. A context manager that kills it at the end."""

    name: str
    process: EventProcess
    _told: int = field(init=False, default=0)

    def __enter__(self) -> GroupWorker:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()

    def wait_started(self, within_s: float = DEADLINE_S) -> None:
        """Wait until the worker takes part in its application. It may have no lease yet."""
        self.process.wait_for("started", within_s)

    def records(self, shard_id: str | None = None) -> list[Delivered]:
        """Return all user records until now, of one shard or of all, in the order in which they came."""
        return [
            Delivered(event["shard"], *record)
            for event in self.process.events("records")
            if shard_id in (None, event["shard"])
            for record in event["records"]
        ]

    def wait_records(self, count: int, within_s: float = DEADLINE_S) -> list[Delivered]:
        """Return the user records, once there are at least *count* different ones."""
        self.process.wait_until(lambda: len(set(self.records())) >= count, within_s)
        return self.records()

    def checkpoints(self) -> dict[str, tuple[str, int]]:
        """Return the last checkpoint of each shard: its sequence number and sub-sequence number."""
        made = self.process.events("checkpointed")
        return {event["shard"]: (event["checkpoint"][0], event["checkpoint"][1]) for event in made}

    def shards(self) -> set[str]:
        """Return the shards that the worker reads now."""
        held: set[str] = set()
        for event in self.process.events("initialized", "leaseLost", "shardEnded"):
            (held.add if event["event"] == "initialized" else held.discard)(event["shard"])
        return held

    def wait_shards(self, count: int, within_s: float = DEADLINE_S) -> set[str]:
        """Return the shards that the worker reads, once they are this many."""
        self.process.wait_until(lambda: len(self.shards()) == count, within_s)
        return self.shards()

    def checkpoint(self, shard_id: str = "") -> None:
        """Checkpoint the last record that was processed, of one shard or of all."""
        self._tell("checkpoint", shard_id)

    def prepare(self, shard_id: str, state: str) -> None:
        """Do the first half of a checkpoint of the last record of a shard, with a state of the application."""
        self._tell("prepare", shard_id, state)

    def pause(self) -> None:
        """Process no further batch, and renew the leases."""
        self._tell("pause")

    def resume(self) -> None:
        self._tell("resume")

    def stop(self, *, graceful: bool = True, within_s: float = DEADLINE_S) -> None:
        """
        Shut the worker down; gracefully means that processors are asked first, and can checkpoint.

        KCL 2.7.2 never ends a graceful shutdown that begins while it holds the lease of an ended shard.
        """
        self._tell("graceful" if graceful else "shutdown")
        self.process.wait(within_s)

    def kill(self) -> None:
        """End it at once, as `kill -9` does."""
        self.process.kill()

    def _tell(self, *words: str) -> None:
        """Send a command, and wait until it is done."""
        self._told += 1
        self.process.tell(*words)
        self.process.wait_until(lambda: len(self.process.events("obeyed")) >= self._told)

    def events(self, *kinds: str, **facts: Any) -> list[Event]:
        return self.process.events(*kinds, **facts)
