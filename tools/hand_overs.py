"""
How long shards wait when their worker ends: KCL 2, KCL 3 and this project's groups, with their own default times.

    python -m tools.hand_overs [KIND-END-WHO ...]

It prints a line for each case, such as `3.5.1-killed-leader`. A case takes up to five minutes, most of which is waiting.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Literal, get_args

from attrs import frozen

from kinesis_emulator import EmulatorProcess
from support.kcl.application import KclApplication
from support.kcl.dynamodb_local import DynamoDbLocal
from support.kcl.event_process import Event
from support.kcl.group_worker import GroupWorker
from support.kcl.worker import Setting

Kind = Literal["2.7.2", "3.5.1", "python"]
SHARDS = 4
_PATIENCE_S = 400.0
_AT_ONCE: dict[str, Setting] = {"leaseManagement.shardSyncIntervalMillis": 100}
"""A KCL sleeps for a minute before it makes the first leases. That is no part of a hand-over."""
_BY_NUMBER: dict[str, Setting] = {"leaseManagement.leaseAssignmentStrategy": "LEASE_COUNT_BASED"}
"""Otherwise a follower of KCL 3 would have no shard for a long time."""
CASES = (
    *("2.7.2-orderly-any", "2.7.2-killed-any"),
    *("3.5.1-orderly-follower", "3.5.1-killed-follower", "3.5.1-killed-leader"),
    *("python-orderly-follower", "python-orderly-leader", "python-killed-follower", "python-killed-leader"),
)


@frozen
class HandOver:
    """What became of the shards of a worker that ended."""

    shards: int
    owned_s: float
    """From the end, or the call to end, until another worker had the last of them."""
    silence_s: float
    """The longest time in which no record of one of them was delivered, while records were put all the time."""


def measure(application: KclApplication, kind: Kind, end: str, who: str) -> HandOver:
    """Start two workers that share the stream, end one of them, and return how long its shards waited."""
    first = _start(application, kind, "first")
    first.wait_shards(SHARDS, _PATIENCE_S)
    second = _start(application, kind, "second")
    second.wait_shards(SHARDS // 2, _PATIENCE_S)
    first.wait_shards(SHARDS // 2, _PATIENCE_S)
    ending, other = (first, second) if who == "leader" else (second, first)
    with application.load():
        other.wait_records(100)
        ending.wait_records(100)
        moved = ending.shards()
        if end == "killed":
            ending.kill()
        else:
            ending.stop(within_s=_PATIENCE_S)
        other.wait_shards(SHARDS, _PATIENCE_S)
        other.process.wait_until(lambda: moved <= {event["shard"] for event in _after(ending, other)})
    return _judge(ending, other, moved)


def _start(application: KclApplication, kind: Kind, name: str) -> GroupWorker:
    if kind == "python":
        return application.start_python(name, settings={})
    settings = _AT_ONCE if kind == "2.7.2" else _AT_ONCE | _BY_NUMBER
    return application.start(kind, name, settings=settings)


def _after(ending: GroupWorker, other: GroupWorker) -> list[Event]:
    """Return what *other* got of shards that it had taken up after the end of *ending*."""
    end = _end(ending)
    gained = {event["shard"] for event in other.events("initialized") if event["at"] > end}
    return [event for event in other.events("records") if event["shard"] in gained and event["at"] > end]


def _end(worker: GroupWorker) -> int:
    """Return when a worker was killed, or was told to end."""
    return int([*worker.events("killed"), *worker.events("obeyed", command="graceful")][0]["at"])


def _judge(ending: GroupWorker, other: GroupWorker, moved: set[str]) -> HandOver:
    end = _end(ending)
    gained = [e["at"] for e in other.events("initialized") if e["shard"] in moved and e["at"] > end]
    last = {event["shard"]: event["at"] for event in ending.events("records") if event["shard"] in moved}
    first = {event["shard"]: event["at"] for event in reversed(_after(ending, other))}
    silences = [first[shard] - last[shard] for shard in moved]
    return HandOver(len(moved), (max(gained) - end) / 1e9, max(silences) / 1e9)


def main(cases: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder, EmulatorProcess() as emulator:
        logs = Path(folder)
        with DynamoDbLocal.start(logs / "dynamodb.log") as dynamodb:
            for case in cases or CASES:
                kind, end, who = case.split("-")
                assert kind in get_args(Kind)
                with KclApplication(dynamodb, emulator.endpoint_url, logs, SHARDS) as application:
                    application.create_table()
                    found = measure(application, kind, end, who)  # type: ignore[arg-type]
                sys.stdout.write(f"{case}: {found}\n")
                sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
