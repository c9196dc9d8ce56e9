"""
Consumer groups: CPU per record, how long a hand-over takes, and requests to DynamoDB, compared with `Stream.follow` and the KCL.

    python -m tests.bench.bench_groups
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from tests.bench.harness import Finding, Note, Row, show, table
from tests.support.paths import ROOT, python_path

RECORDS, RATE_TURNS = 400_000, 5
HAND_OVER_TURNS = 3
COUNTED_S = 120.0
US = "µs of CPU per record"
FOLLOW_TARGET = 1.3
ORDERLY_TARGET_S = 2.0
SHARDS, WORKERS = 4, 2
"""Of the groups whose requests are counted."""

Rates: TypeAlias = Mapping[str, Mapping[str, Mapping[str, float]]]
HandOvers: TypeAlias = Mapping[str, Mapping[str, list[float]]]
Calls: TypeAlias = Mapping[str, Mapping[str, Mapping[str, float]]]

WHY_RATES = """\
Each reads the same stream of 4 shards from its oldest record, with records of 200 B, without limits of its rate. A group commits each batch
of at most 10,000 records, and the KCL checkpoints each batch. `follow` finds the end of each batch before it reads the batch, and keeps
no position. CPU is that of the process alone, for the last 75 % of the records. The JVM compiles for longer, so for the KCL it is that of the
last half. There are {records:,} plain records, and twice as many in aggregates.
"""
WHY_HAND_OVERS = """\
Two workers with default settings share a stream of one shard, over DynamoDB Local, on one machine. A record is put every 100 ms. The worker
that reads the shard ends at a random moment. The time is from then until the other one delivers a record. *The leader is killed*: it reads
the shard, too. In the other cases of the KCL 3.5.1 and of ours the leader lives on. The KCL 2.7.2 has no leader that assigns leases. Gains are
of medians of {turns} turns.
"""
WHY_CALLS = """\
Two workers share 4 shards. Requests are counted on their way to DynamoDB Local for {seconds:.0f} s, and scaled to an hour. Our workers read more
often, for short hand-overs: each looks for its leases every second, and the leader looks at all leases every 2 s. The KCL does so every 10 s
and every 20 s.

Our commits are renewals as well, so a shard with records needs no further renewals. *Progress* means commits, and the ends of batches that are
fixed before they are delivered. At the tip of a shard these are two writes for each batch. Behind the tip, they are one: a commit fixes
the end of the next batch as well.
"""


def run() -> list[Finding]:
    rates = _measure("rates", f"--records={RECORDS}", f"--turns={RATE_TURNS}")
    hand_overs = _measure("hand-overs", f"--turns={HAND_OVER_TURNS}")
    calls = _measure("calls", f"--seconds={COUNTED_S}")
    return [
        *_rate_rows(rates),
        Note(WHY_RATES.format(records=RECORDS)),
        *_hand_over_rows(hand_overs),
        Note(WHY_HAND_OVERS.format(turns=HAND_OVER_TURNS)),
        Note(_turns_table(hand_overs)),
        *_call_rows(calls),
        Note(WHY_CALLS.format(seconds=COUNTED_S)),
        Note(_calls_table(calls)),
    ]


def _measure(*arguments: str) -> Any:
    """Return what `tools/group_bench` measures in a process of its own: it imports its modules as tests do."""
    done = subprocess.run(
        [sys.executable, "-m", "tools.group_bench", *arguments],
        stdout=subprocess.PIPE,
        check=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": python_path()},
    )
    return json.loads(done.stdout)


def _rate_rows(found: Rates) -> Iterator[Row]:
    for stream, rates in found.items():
        us, ratios, memory_mb = rates["us"], rates["ratios"], rates["memory_mb"]
        for store, name in (("sqlite", "SQLite"), ("dynamodb", "DynamoDB")):
            yield Row(
                "group, against `Stream.follow`",
                f"{stream}, leases in {name}",
                US,
                us[store],
                us["follow"],
                ratios[store],
                FOLLOW_TARGET,
                is_cost=True,
                memory_mb=(memory_mb[store], memory_mb["follow"]),
            )
    for stream, rates in found.items():
        sides = [(rates[kind]["dynamodb"], rates[kind]["kcl"]) for kind in ("us", "memory_mb")]
        case = f"{stream}, leases in DynamoDB"
        yield Row.cost("group, against the KCL 3.5.1", case, US, *sides[0], memory_mb=sides[1])


def _hand_over_rows(found: HandOvers) -> Iterator[Row]:
    ours = found["ours"]
    for kind in ("3.5.1", "2.7.2"):
        for end, theirs in found[kind].items():
            case = f"a worker is {end}" if end != "leader killed" else "the leader is killed"
            medians = statistics.median(ours[end]), statistics.median(theirs)
            yield Row.cost(f"hand-over, against the KCL {kind}", case, "seconds", *medians)
    group, case = "hand-over, against the promise", "a worker is stopped, longest"
    yield Row.cost(group, case, "seconds", max(ours["stopped"]), ORDERLY_TARGET_S, 1.0)


def _turns_table(found: HandOvers) -> str:
    """Return the times of all turns: they depend on chance."""
    kinds = {"ours": "ours", "3.5.1": "KCL 3.5.1", "2.7.2": "KCL 2.7.2"}
    lines = (
        [
            end,
            *(", ".join(f"{seconds:.1f}" for seconds in sorted(found[kind].get(end, []))) for kind in kinds),
        ]
        for end in found["ours"]
    )
    return table(["seconds, all turns", *kinds.values()], lines, align="---")


def _writes(calls: Mapping[str, float]) -> float:
    return (calls.get("renewal", 0.0) + calls.get("progress", 0.0)) / SHARDS


def _call_rows(found: Calls) -> Iterator[Row]:
    group = "DynamoDB, against the KCL 3.5.1"
    ours, theirs = found["ours"], found["3.5.1"]
    for load, mine in ours.items():
        writes = _writes(mine), _writes(theirs[load])
        yield Row.cost(group, f"{load}: writes to leases", "per shard and hour", *writes)
    for kind, name in (("coordination", "other writes"), ("read", "reads")):
        mean = [
            statistics.mean(load.get(kind, 0.0) for load in side.values()) / WORKERS
            for side in (ours, theirs)
        ]
        yield Row.cost(group, name, "per worker and hour", mean[0], mean[1])


def _calls_table(found: Calls) -> str:
    """Return the writes to leases by their purpose."""
    sides = [(side, kind) for side in ("ours", "3.5.1") for kind in ("renewal", "progress")]
    lines = (
        [load, *(f"{found[side][load].get(kind, 0.0) / SHARDS:,.0f}" for side, kind in sides)]
        for load in found["ours"]
    )
    head = ["writes per shard and hour", "ours: renewals", "progress", "KCL 3.5.1: renewals", "checkpoints"]
    return table(head, lines)


if __name__ == "__main__":
    show(run())
