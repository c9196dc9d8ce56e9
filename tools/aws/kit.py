"""What a step works with: guarded clients, streams of its own, and a place for what it finds."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

from attrs import define, evolve, frozen
from botocore.exceptions import ClientError

from kinesis_core.leases.table_client import NEW_INDEX_REQUEST
from tools.aws.findings import Findings
from tools.aws.guard import Guard
from tools.aws.ledger import Ledger
from tools.aws.prices import Usage
from tools.aws.target import Target

LOOK_S = 0.25
"""Time between two looks at a stream. AWS allows 10 or 20 descriptions a second for a whole account."""


@frozen
class Sizes:
    """How much a run does. It costs accordingly."""

    records: int = 6000
    """Records of each producer that runs while shards are split and merged."""
    load_s: float = 120.0
    """How long each of these producers writes."""
    rounds: int = 2
    """How often each time is measured."""
    watch_s: float = 15.0
    """How long a listing is watched after it first shows a change."""
    burst_records: int = 5000
    large_kib: int = 10 * 1024
    reads: int = 25
    """GetRecords calls at once on one shard."""
    waits_for_expiry: bool = True
    """Whether the life of an iterator is measured, which takes more than five minutes."""
    contract: str = "not shard_count and (test_reading or test_dry_runs or test_resharding)"
    """What pytest's -k chooses of the contract suite: what readers rely on. Empty: all of it."""
    contract_shards: int = 55
    """How many shards these tests open."""


FULL = Sizes()
SMALL = Sizes(
    records=300,
    load_s=3.0,
    rounds=1,
    watch_s=0.2,
    burst_records=2500,
    large_kib=2048,
    reads=12,
    waits_for_expiry=False,
    contract="test_dry_runs or test_horizon or test_a_split",
    contract_shards=12,
)
"""For a rehearsal."""


def with_whole_suite(sizes: Sizes) -> Sizes:
    """Return *sizes* with all of the contract suite. It costs more than everything else."""
    return evolve(sizes, contract="", contract_shards=180)


@define(slots=False)  # for the cached properties
class Kit:
    """One step's view of a run."""

    target: Target
    ledger: Ledger
    findings: Findings
    sizes: Sizes
    step: str

    @property
    def folder(self) -> Path:
        """A folder for files of the step."""
        folder = self.ledger.folder / self.step
        folder.mkdir(exist_ok=True)
        return folder

    @cached_property
    def kinesis(self) -> Any:
        return self.client("kinesis")

    def client(self, service: str, *, is_patient: bool = True) -> Any:
        return Guard(self.ledger).stand_before(self.target.client(service, is_patient=is_patient))

    def name(self, what: str) -> str:
        return f"{self.ledger.run.prefix}{self.step}-{what}"

    def use(self, **usage: float) -> None:
        """Note what follows uses, where no guarded client sees it."""
        self.ledger.use(usage)

    def stream(self, what: str = "stream", shards: int = 1, **more: Any) -> str:
        """Create a stream, and return its name once it can be used."""
        name = self.create(what, shards, **more)
        wait_until_usable(self.kinesis, name)
        return name

    def create(self, what: str, shards: int = 1, **more: Any) -> str:
        """Create a stream, and return its name."""
        name = self.name(what)
        count = {} if "StreamModeDetails" in more else {"ShardCount": shards}
        create_stream(self.kinesis, name, **count, **more)
        return name

    def table(self, what: str) -> str:
        """Create a table for leases, and return its name once it is active."""
        name = self.name(what)
        client = self.client("dynamodb")
        client.create_table(TableName=name, BillingMode="PAY_PER_REQUEST", **NEW_INDEX_REQUEST)
        client.get_waiter("table_exists").wait(
            TableName=name, WaiterConfig={"Delay": 1 if self.target.is_aws else 0.1, "MaxAttempts": 300}
        )
        return name

    def summary(self, name: str) -> dict[str, Any]:
        response = self.kinesis.describe_stream_summary(StreamName=name)
        found: dict[str, Any] = response["StreamDescriptionSummary"]
        return found

    def arn(self, name: str) -> str:
        return str(self.summary(name)["StreamARN"])

    def open_shards(self, name: str) -> list[dict[str, Any]]:
        """Return the open shards in the order of their hash keys."""
        return open_shards(self.kinesis.list_shards(StreamName=name)["Shards"])

    def split(self, name: str) -> None:
        """Split the first open shard in the middle, and wait until the stream is ACTIVE again."""
        shard = self.open_shards(name)[0]
        low, high = (int(shard["HashKeyRange"][end]) for end in ("StartingHashKey", "EndingHashKey"))
        self.kinesis.split_shard(
            StreamName=name, ShardToSplit=shard["ShardId"], NewStartingHashKey=str((low + high) // 2 + 1)
        )
        self.wait_for(name, "ACTIVE")

    def merge(self, name: str) -> None:
        """Merge the first two open shards, and wait until the stream is ACTIVE again."""
        first, second = self.open_shards(name)[:2]
        self.kinesis.merge_shards(
            StreamName=name, ShardToMerge=first["ShardId"], AdjacentShardToMerge=second["ShardId"]
        )
        self.wait_for(name, "ACTIVE")

    def wait_for(self, name: str, status: str) -> float:
        """Wait until a stream has that status. Return how long it took."""
        return wait_until(lambda: self.summary(name)["StreamStatus"] == status)


@frozen
class Step:
    """A part of a run, in a process of its own."""

    name: str
    what: str
    """What it does and asks, as the user reads it before the run."""
    limit_s: float
    usage: Callable[[Sizes], Usage]
    """What it uses at most."""
    run: Callable[[Kit], None]


def create_stream(client: Any, name: str, **params: Any) -> None:
    """Create a stream. A repeated call that finds the stream there has lost the response of an earlier one."""
    try:
        client.create_stream(StreamName=name, **params)
    except ClientError as error:
        if code_of(error) != "ResourceInUseException":
            raise


def wait_until_usable(client: Any, name: str) -> None:
    """Wait until a new stream is ACTIVE, and calls are not refused any more. That is later."""

    def is_usable() -> bool:
        try:
            status = client.describe_stream_summary(StreamName=name)["StreamDescriptionSummary"][
                "StreamStatus"
            ]
            if status != "ACTIVE":
                return False
            shards = client.list_shards(StreamName=name)["Shards"]
            client.get_shard_iterator(
                StreamName=name, ShardId=shards[-1]["ShardId"], ShardIteratorType="LATEST"
            )
        except ClientError as error:
            if code_of(error) in {"ResourceInUseException", "ResourceNotFoundException"}:
                return False
            raise
        return bool(shards)

    wait_until(is_usable)


def wait_until(is_so: Callable[[], object], patience_s: float = 600.0) -> float:
    """Wait until *is_so* returns something true. Return how long it took."""
    started_s = time.monotonic()
    while not is_so():
        if time.monotonic() > started_s + patience_s:
            raise TimeoutError(f"nothing changed for {patience_s:.0f} s")
        time.sleep(LOOK_S)
    return time.monotonic() - started_s


def watch(for_s: float) -> Iterator[float]:
    """Yield the time since the start, again and again until it is *for_s*."""
    started_s = time.monotonic()
    while (passed_s := time.monotonic() - started_s) < for_s:
        yield passed_s
        time.sleep(LOOK_S)


def open_shards(shards: list[dict[str, Any]]) -> list[dict[str, Any]]:
    found = [shard for shard in shards if "EndingSequenceNumber" not in shard["SequenceNumberRange"]]
    return sorted(found, key=lambda shard: int(shard["HashKeyRange"]["StartingHashKey"]))


def code_of(error: ClientError) -> str:
    return str(error.response["Error"]["Code"])


def answer(call: Callable[[], Any]) -> str:
    """Return what a call answers: the code of its error, `empty page` or the like, or `success`."""
    try:
        response = call()
    except ClientError as error:
        return code_of(error)
    if isinstance(response, dict) and "Records" in response and "MillisBehindLatest" in response:
        return f"a page of {len(response['Records'])} records"
    return "success"
