"""How long a shard is not read after its worker ends: in order, or killed."""

from __future__ import annotations

import random
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Literal

from kinesis_emulator import EmulatorProcess
from support.kcl.dynamodb_local import DynamoDbLocal
from tools.group_bench.members import Group, Kind, Member
from tools.group_bench.streams import Trickle
from tools.group_bench.waiting import wait_until

End = Literal["stopped", "killed", "leader killed"]
CASES: tuple[tuple[Kind, End], ...] = (
    ("3.5.1", "leader killed"),
    ("3.5.1", "killed"),
    ("3.5.1", "stopped"),
    ("2.7.2", "killed"),
    ("2.7.2", "stopped"),
    ("ours", "leader killed"),
    ("ours", "killed"),
    ("ours", "stopped"),
)
"""KCL 2 has no leader that assigns leases."""
SETTLE_S = 10.0
"""The end comes at a random moment of the workers' periods."""
SEEN_S = 25.0
"""A new worker of KCL 2 has then seen twice which leases are renewed."""
WITHIN_S = 400.0
PERIOD_S = 0.1
"""Between two records."""
AT_ONCE = 12


def measure_hand_overs(
    turns: int, dynamodb: DynamoDbLocal, folder: Path
) -> dict[str, dict[str, list[float]]]:
    """Return by kind and end the seconds until another worker delivers a record. Groups of all kinds run at the same time."""
    found: dict[str, dict[str, list[float]]] = {}
    with EmulatorProcess() as emulator, ThreadPoolExecutor(AT_ONCE) as pool:
        runs = [
            (
                kind,
                end,
                pool.submit(
                    _measure, kind, end, f"group-{turn}-{i}", emulator.endpoint_url, dynamodb, folder
                ),
            )
            for i, (kind, end) in enumerate(CASES)  # the longest first
            for turn in range(turns)
        ]
        for kind, end, run in runs:
            found.setdefault(kind, {}).setdefault(end, []).append(run.result())
    return found


def _measure(
    kind: Kind, end: End, name: str, kinesis_url: str, dynamodb: DynamoDbLocal, folder: Path
) -> float:
    with (
        Group(kind, name, kinesis_url, dynamodb, folder) as group,
        Trickle(lambda: group.put(b"x"), PERIOD_S),
    ):
        first = group.start("first")
        wait_until(lambda: first.delivered() > 0, f"{kind}: the first worker delivers", 180.0)
        second = group.start("second")
        group.wait_joined(second)
        if kind == "2.7.2":
            time.sleep(SEEN_S)
        reader, other = first, second
        if kind != "2.7.2":
            wait_until(lambda: group.leader() == first.name, f"{kind}: the first worker leads", 180.0, 0.3)
            if end != "leader killed":
                reader, other = second, first
        _prepare(group, reader, other)
        seconds = _time_end(end, reader, other)
        sys.stderr.write(f"{kind}, {end}: {seconds:.1f} s\n")
        return seconds


def _prepare(group: Group, reader: Member, other: Member) -> None:
    """Let *reader* read the shard, and nobody else, at a random moment."""
    for _ in range(3):
        with suppress(TimeoutError, group.dynamodb.client.exceptions.ConditionalCheckFailedException):
            if not group.is_owner(reader):
                group.hand_over(reader)
                group.wait_owner(reader)
            before = reader.delivered()
            wait_until(lambda: reader.delivered() > before, f"{reader.name} delivers", WITHIN_S)  # noqa: B023 # called at once
            others = other.delivered()
            time.sleep(random.uniform(1, SETTLE_S))
            if group.is_owner(reader) and other.delivered() == others:
                return
    raise TimeoutError(f"{group.kind}: {reader.name} does not get the shard.")


def _time_end(end: End, reader: Member, other: Member) -> float:
    before, start_s = other.delivered(), time.monotonic()
    (reader.stop if end == "stopped" else reader.kill)()
    wait_until(lambda: other.delivered() > before, f"{reader.name} {end}: {other.name} delivers", WITHIN_S)
    return time.monotonic() - start_s
