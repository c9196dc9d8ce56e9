"""How many requests a group makes to DynamoDB, counted on their way to the table."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from attrs import define, field

from kinesis_emulator import EmulatorProcess
from support.kcl.dynamodb_local import DynamoDbLocal
from support.local_http import ForwardingHandler, LocalHttp
from tools.group_bench.members import Group, Kind
from tools.group_bench.streams import Trickle
from tools.group_bench.waiting import wait_until

SHARDS = 4
WORKERS = 2
KINDS: tuple[Kind, ...] = ("ours", "3.5.1")
LOADS = {"idle": 0.0, "1 record/s": 1.0, "10 records/s": 0.1}
"""The seconds between two records of a shard; 0: no record."""
WRITES = {"PutItem", "UpdateItem", "DeleteItem"}
READS = {"GetItem", "Query", "Scan"}
SETTLE_S = 30.0
DATA = b"x" * 200


@define(slots=False)
class CountingProxy(LocalHttp):
    """Passes requests on to DynamoDB, and counts them by table and kind."""

    dynamodb_url: str
    _counts: Counter[tuple[str, str]] = field(factory=Counter, init=False)
    _lock: threading.Lock = field(factory=threading.Lock, init=False)

    def counts(self, table: str) -> Counter[str]:
        """Return how many requests of each kind were made to a table until now."""
        with self._lock:
            return Counter({kind: count for (of, kind), count in self._counts.items() if of == table})

    def _note(self, target: str, body: bytes) -> None:
        request: dict[str, Any] = json.loads(body or b"{}")
        with self._lock:
            self._counts[request.get("TableName", ""), kind_of(target.rpartition(".")[2], request)] += 1

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        proxy, upstream = self, urlsplit(self.dynamodb_url).netloc

        class Handler(ForwardingHandler):
            def handle(self) -> None:
                with suppress(ConnectionError):  # workers are killed at the end
                    super().handle()

            def route(self, body: bytes) -> tuple[str, str]:
                proxy._note(self.headers["X-Amz-Target"], body)
                return upstream, self.path

        return Handler


def kind_of(action: str, request: dict[str, Any]) -> str:
    """Return "read", "renewal", "progress" (a checkpoint, or the end of a batch), or "coordination" for writes to other items."""
    if action in READS:
        return "read"
    if action not in WRITES:
        return "other"
    key = request.get("Key", request.get("Item", {})).get("leaseKey", {}).get("S", "")
    if not key.startswith("shardId-"):
        return "coordination"
    names = {*request.get("AttributeUpdates", {}), *request.get("ExpressionAttributeNames", {}).values()}
    return "progress" if names & {"checkpoint", "pendingCheckpoint"} else "renewal"


def measure_calls(
    seconds: float, dynamodb: DynamoDbLocal, folder: Path
) -> dict[str, dict[str, dict[str, float]]]:
    """Return by kind of group and load how many requests of each kind it makes in an hour, as seen in some *seconds*."""
    with EmulatorProcess() as emulator, CountingProxy(dynamodb.endpoint_url) as proxy, ExitStack() as stack:
        groups = {
            (kind, load): stack.enter_context(
                Group(
                    kind,
                    f"group-{kind}-{i}".replace(".", "-"),
                    emulator.endpoint_url,
                    dynamodb,
                    folder,
                    SHARDS,
                    proxy.url,
                )
            )
            for kind in KINDS
            for i, load in enumerate(LOADS)
        }
        with ThreadPoolExecutor(len(groups)) as pool:
            runs = {
                which: pool.submit(_measure, group, LOADS[which[1]], seconds, proxy)
                for which, group in groups.items()
            }
            found: dict[str, dict[str, dict[str, float]]] = {}
            for (kind, load), run in runs.items():
                found.setdefault(kind, {})[load] = run.result()
    return found


def _measure(group: Group, pause_s: float, seconds: float, proxy: CountingProxy) -> dict[str, float]:
    with Trickle(lambda: group.put(DATA), pause_s):
        for i in range(WORKERS):
            group.wait_joined(group.start(f"worker-{i}"))  # KCL 3 may fail when two start in an empty table
        wait_until(lambda: _are_owned(group), f"{group.name} has all leases", 180.0, 0.5)
        time.sleep(SETTLE_S)
        before, start_s = proxy.counts(group.name), time.monotonic()
        time.sleep(seconds)
        made = proxy.counts(group.name) - before
        return {kind: count / (time.monotonic() - start_s) * 3600 for kind, count in made.items()}


def _are_owned(group: Group) -> bool:
    leases = group.leases()
    return len(leases) == SHARDS and all("leaseOwner" in lease for lease in leases)
