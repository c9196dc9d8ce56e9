"""Workers of both kinds with their default settings, started and ended in the same way."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Literal, Protocol

from attrs import define, field

from support.kcl.dynamodb_local import DynamoDbLocal, Item
from support.kcl.worker import DEFAULTS, KclOptions, KclWorker, Version
from support.streams import StreamUnderTest
from tools.group_bench.waiting import wait_until

Kind = Literal["ours", "2.7.2", "3.5.1"]


class Member(Protocol):
    """A worker in a process of its own."""

    name: str

    def delivered(self) -> int:
        """Return how many batches it has delivered."""
        ...

    def stop(self) -> None:
        """Ask it to end in order. Returns at once."""
        ...

    def kill(self) -> None:
        """End it at once, as `kill -9` does. Idempotent."""
        ...


@define(eq=False)
class OurMember:
    name: str
    _child: subprocess.Popen[str]
    _delivered: int = field(default=0, init=False)

    @classmethod
    def start(cls, arguments: list[str], log: Path) -> OurMember:
        command = [sys.executable, "-m", "tools.group_bench.worker", *arguments]
        with log.open("ab") as errors:
            child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True)
        member = cls(arguments[-1], child)
        threading.Thread(target=member._read, daemon=True).start()
        return member

    def _read(self) -> None:
        assert self._child.stdout is not None
        for _ in self._child.stdout:
            self._delivered += 1

    def delivered(self) -> int:
        return self._delivered

    def stop(self) -> None:
        os.kill(self._child.pid, signal.SIGTERM)

    def kill(self) -> None:
        self._child.kill()
        self._child.wait()


@define(eq=False)
class KclMember:
    name: str
    worker: KclWorker

    def delivered(self) -> int:
        return len(self.worker.process.events("records"))

    def stop(self) -> None:
        self.worker.process.tell("graceful")

    def kill(self) -> None:
        self.worker.kill()


@define(eq=False)
class Group:
    """A group of one kind with a stream of its own. A context manager that kills its workers."""

    kind: Kind
    name: str
    kinesis_url: str
    dynamodb: DynamoDbLocal
    folder: Path
    shards: int = 1
    dynamodb_url: str = ""
    """Where the workers reach their leases, if that is elsewhere."""
    stream: StreamUnderTest = field(init=False)
    _stack: ExitStack = field(factory=ExitStack, init=False)

    def __enter__(self) -> Group:
        self.stream = StreamUnderTest(self.kinesis_url, f"stream-of-{self.name}", self.shards)
        self._stack.callback(self.stream.client.close)
        # KCL 3 would wait for its index, and KCL 2 never has one.
        self.dynamodb.create_lease_table(self.name, with_index=self.kind != "2.7.2")
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def start(self, worker: str) -> Member:
        name = f"{self.name}-{worker}"
        member = self._start_ours(name) if self.kind == "ours" else self._start_kcl(name, self.kind)
        self._stack.callback(member.kill)
        return member

    def _start_ours(self, name: str) -> Member:
        where = [self.stream.name, self.kinesis_url, self.dynamodb_url or self.dynamodb.endpoint_url]
        return OurMember.start([self.name, *where, name], self.folder / f"{name}.log")

    def _start_kcl(self, name: str, version: Version) -> Member:
        options = KclOptions(
            version=version,
            application=self.name,
            stream=self.stream.name,
            kinesis_url=self.kinesis_url,
            dynamodb_url=self.dynamodb_url or self.dynamodb.endpoint_url,
            worker=name,
            settings=DEFAULTS,
            is_cbor=False,
        )
        return KclMember(name, KclWorker.start(options, self.folder / f"{name}.log"))

    def put(self, data: bytes) -> None:
        """Put a record into each shard."""
        width = 2**128 // self.shards
        self.stream.client.put_records(
            StreamName=self.stream.name,
            Records=[
                {"Data": data, "PartitionKey": "k", "ExplicitHashKey": str(shard * width)}
                for shard in range(self.shards)
            ],
        )

    def items(self) -> dict[str, Item]:
        return self.dynamodb.items(self.name)

    def leases(self) -> list[Item]:
        return [item for key, item in self.items().items() if key.startswith("shardId-")]

    def wait_joined(self, member: Member, within_s: float = 180.0) -> None:
        """Wait until others know that *member* is there. Workers of KCL 2 do not say so."""
        if isinstance(member, KclMember):
            member.worker.wait_started(within_s)
        if self.kind != "2.7.2":
            self._wait(lambda: any(self._reports(member)), f"{member.name} joined", within_s)

    def wait_owner(self, member: Member, within_s: float = 120.0) -> None:
        """Wait until *member* has the only shard."""
        self._wait(lambda: self.is_owner(member), f"{member.name} has the lease", within_s)

    def hand_over(self, to: Member) -> None:
        """Begin to give the only shard to another worker, as a leader does."""
        [lease] = self.leases()
        owners = {":now": {"S": lease["leaseOwner"]}, ":next": {"S": to.name}}
        self.dynamodb.client.update_item(
            TableName=self.name,
            Key={"leaseKey": {"S": lease["leaseKey"]}},
            UpdateExpression="SET leaseOwner = :next, checkpointOwner = :now",
            ConditionExpression="leaseOwner = :now AND attribute_not_exists(checkpointOwner)",
            ExpressionAttributeValues=owners,
        )

    def leader(self) -> str | None:
        """Return the name of the worker that leads; None if nobody does."""
        lock: dict[str, Any] = self.items().get("Leader", {})
        return lock.get("ownerName")

    def is_owner(self, member: Member) -> bool:
        [lease] = self.leases() or [{}]
        return lease.get("leaseOwner") == member.name and "checkpointOwner" not in lease

    def _reports(self, member: Member) -> list[str]:
        return [
            key
            for key, item in self.items().items()
            if item.get("entityType") == "WORKER_METRIC_STATS" and member.name in key
        ]

    def _wait(self, find: Callable[[], bool], what: str, within_s: float) -> None:
        wait_until(find, f"{self.kind}: {what}", within_s, 0.3)
