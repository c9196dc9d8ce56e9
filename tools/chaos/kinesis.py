"""The Kinesis of a run: killed and restarted on the same port, resharded, and read to its end."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, TypeVar

import botocore.exceptions
from attrs import define, field

from support.ports import free_port
from support.streams import make_client
from tools.chaos.server import COUNT, READY
from tools.chaos.verdict import Stored

T = TypeVar("T")
DEADLINE_S = 900.0
"""A run without progress for this time has failed, however slow the machine is."""


@define
class Kinesis:
    """A server on one port, with streams that survive it."""

    folder: Path
    environment: Mapping[str, str]
    port: int = field(factory=free_port, init=False)
    _child: subprocess.Popen[str] | None = field(default=None, init=False)
    _faults: str = field(default="0 0", init=False)

    @property
    def endpoint_url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start the server, and return when it listens. It has the faults that it had before."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self._child = subprocess.Popen(
            [sys.executable, "-m", "tools.chaos.server", str(self.port), str(self.folder)],
            env=self.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        assert self._child.stdout is not None
        assert self._child.stdout.readline().strip() == READY
        self._send_faults()

    def set_faults(self, share: float, seed: int) -> None:
        self._faults = f"{share} {seed}"
        self._send_faults()

    def kill(self) -> bool:
        """Kill -9 it. Return False when it was not running."""
        child = self._child
        if child is None or child.poll() is not None:
            return False
        child.kill()
        child.wait()
        self._close(child)
        return True

    def restart(self) -> bool:
        """Kill -9 and start it again. Return False when it was not running."""
        if not self.kill():
            return False
        self.start()
        return True

    @property
    def faults(self) -> int:
        """The number of calls with a fault, over all starts."""
        count = self.folder / COUNT
        return count.stat().st_size if count.exists() else 0

    def create(self, stream: str, shards: int) -> None:
        with closing(make_client(self.endpoint_url)) as client:
            client.create_stream(StreamName=stream, ShardCount=shards)

    def reshard(self, stream: str, pick: float, *, splits: bool) -> None:
        """
        Split an open shard in the middle, or merge it with its neighbour. Returns once that is done, whatever faults the calls have.

        Raises:
            AssertionError: It was not done, although no call failed.
        """
        before = self._insist(lambda: self.count_reshards(stream))
        with closing(make_client(self.endpoint_url)) as client:

            def is_done() -> bool:
                _wait_until_active(client, stream)  # a call that failed may have done it all the same
                if self.count_reshards(stream) == before:
                    _reshard(client, stream, pick, splits=splits)
                    _wait_until_active(client, stream)
                return self.count_reshards(stream) > before

            assert self._insist(is_done), f"{stream} has no further reshard, but no call failed"

    def scale(self, stream: str, target: int) -> int:
        """
        Change the number of open shards to *target*, as AWS does it: through shards that are closed at once, without a record.

        Return the number of splits and merges that it took.
        """
        before = self._insist(lambda: self.count_reshards(stream))
        with closing(make_client(self.endpoint_url)) as client:
            # A call that failed may have done it. Doing it again changes nothing.
            given = {"StreamName": stream, "TargetShardCount": target, "ScalingType": "UNIFORM_SCALING"}
            self._insist(lambda: client.update_shard_count(**given)["TargetShardCount"])
            self._insist(lambda: _wait_until_active(client, stream))
        return self._insist(lambda: self.count_reshards(stream)) - before

    def _insist(self, do: Callable[[], T]) -> T:
        """Do it until no call has a fault."""
        deadline_s = time.monotonic() + DEADLINE_S
        while True:
            try:
                return do()
            except (botocore.exceptions.BotoCoreError, botocore.exceptions.ClientError, KeyError):
                # botocore parses a malformed response as an empty one, which has no such key.
                if time.monotonic() > deadline_s:
                    raise
                time.sleep(0.1)

    def read_all(self, stream: str) -> list[Stored]:
        """Return all records of *stream*, each shard's in order, by plain GetRecords."""
        with closing(make_client(self.endpoint_url)) as client:
            shards = client.list_shards(StreamName=stream)["Shards"]
            return [record for shard in shards for record in _read_shard(client, stream, shard["ShardId"])]

    def count_reshards(self, stream: str) -> int:
        """Return the number of splits and merges, with or without a response."""
        with closing(make_client(self.endpoint_url)) as client:
            shards = client.list_shards(StreamName=stream)["Shards"]
        parents = {(shard.get("ParentShardId"), shard.get("AdjacentParentShardId")) for shard in shards}
        return len(parents - {(None, None)})

    def _send_faults(self) -> None:
        assert self._child is not None
        assert self._child.stdin is not None
        self._child.stdin.write(f"{self._faults}\n")
        self._child.stdin.flush()

    @staticmethod
    def _close(child: subprocess.Popen[str]) -> None:
        for pipe in (child.stdin, child.stdout):
            if pipe is not None:
                pipe.close()


def _wait_until_active(client: Any, stream: str) -> None:
    """Wait for the end of a reshard: its children are there when the stream is ACTIVE again."""
    while _status(client, stream) != "ACTIVE":
        time.sleep(0.05)


def _status(client: Any, stream: str) -> str:
    summary = client.describe_stream_summary(StreamName=stream)["StreamDescriptionSummary"]
    return str(summary["StreamStatus"])


def _reshard(client: Any, stream: str, pick: float, *, splits: bool) -> None:
    listed = client.list_shards(StreamName=stream)["Shards"]
    ranges = {shard["ShardId"]: shard["HashKeyRange"] for shard in listed if _is_open(shard)}
    by_hash = sorted(ranges, key=lambda shard_id: int(ranges[shard_id]["StartingHashKey"]))
    if splits:
        shard_id = by_hash[int(pick * len(by_hash))]
        low, high = (int(ranges[shard_id][end]) for end in ("StartingHashKey", "EndingHashKey"))
        middle = str((low + high) // 2 + 1)
        done = client.split_shard(StreamName=stream, ShardToSplit=shard_id, NewStartingHashKey=middle)
    else:
        index = int(pick * (len(by_hash) - 1))
        first, second = by_hash[index : index + 2]
        done = client.merge_shards(StreamName=stream, ShardToMerge=first, AdjacentShardToMerge=second)
    # These calls have no result, so only the headers tell a response of Kinesis from a page that stands in its place.
    content_type = done["ResponseMetadata"]["HTTPHeaders"]["content-type"]
    if content_type != "application/x-amz-json-1.1":
        raise botocore.exceptions.HTTPClientError(error=f"a response of the type {content_type}")


def _is_open(shard: Mapping[str, Any]) -> bool:
    return "EndingSequenceNumber" not in shard["SequenceNumberRange"]


def _read_shard(client: Any, stream: str, shard_id: str) -> Iterator[Stored]:
    given = {"StreamName": stream, "ShardId": shard_id, "ShardIteratorType": "TRIM_HORIZON"}
    iterator = client.get_shard_iterator(**given)["ShardIterator"]
    while iterator is not None:
        page = client.get_records(ShardIterator=iterator)
        for record in page["Records"]:
            number = record["SequenceNumber"]
            yield Stored(shard_id, int(number), record["PartitionKey"], record["Data"])
        at_tip = not page["Records"] and not page["MillisBehindLatest"]
        iterator = None if at_tip else page.get("NextShardIterator")
