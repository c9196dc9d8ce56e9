"""The open questions about the service: statuses, listings, deleted streams, iterators, trimming."""

from __future__ import annotations

import time
from collections import Counter
from datetime import datetime, timedelta, timezone
from functools import partial
from typing import Any

from botocore.exceptions import ClientError

from tools.aws.kit import LOOK_S, Kit, Sizes, answer, code_of, create_stream, open_shards, wait_until, watch

SHARD = "shardId-000000000000"


def statuses_usage(sizes: Sizes) -> dict[str, float]:
    return {"shard_hours": 4 * sizes.rounds, "put_units": 1000 * sizes.rounds}


def run_statuses(kit: Kit) -> None:
    """Create, split, merge and delete streams. Look how long each status lasts, and when listings show the change."""
    times: dict[str, list[float]] = {}
    refusals: Counter[str] = Counter()
    for number in range(kit.sizes.rounds):
        name = kit.create(f"stream-{number}")
        _watch_creation(kit, name, times, refusals)
        for what, change in (("split", kit.kinesis.split_shard), ("merge", kit.kinesis.merge_shards)):
            _watch_reshard(kit, name, what, change, times)
        _watch_readable(kit, name, times)
        kit.kinesis.delete_stream(StreamName=name)
        _watch_deletion(kit, name, times)
    for fact, question in _QUESTIONS.items():
        kit.findings.times(fact, times.get(fact, ()), question)
    kit.findings.fact("refused_after_active", dict(refusals), "calls refused although the stream was ACTIVE")


_QUESTIONS = {
    "stream_creating_s": "how long a new stream is CREATING",
    "listed_after_s": "when ListStreams shows a new stream",
    "stream_settling_s": "how long after it is ACTIVE the last call is refused",
    "stream_updating_s": "how long a split or merge is UPDATING",
    "children_listed_after_s": "when ListShards shows the children of a split or merge",
    "parent_closed_after_s": "when ListShards shows the parent as closed",
    "children_hidden_again_s": "when ListShards last lacked children that it had shown",
    "readable_after_s": "when an acknowledged record can be read",
    "stream_deleting_s": "how long a deleted stream is DELETING",
    "unlisted_after_s": "when ListStreams shows a deleted stream no more",
}


def _is_listed(kit: Kit, name: str) -> bool:
    """Return whether ListStreams shows the stream. It lists names in order, so one page is enough."""
    before = kit.ledger.run.prefix[:-1]
    return name in kit.kinesis.list_streams(ExclusiveStartStreamName=before, Limit=100)["StreamNames"]


def _watch_creation(kit: Kit, name: str, times: dict[str, list[float]], refusals: Counter[str]) -> None:
    started_s = time.monotonic()
    wait_until(lambda: _is_listed(kit, name))
    times.setdefault("listed_after_s", []).append(time.monotonic() - started_s)
    kit.wait_for(name, "ACTIVE")
    active_s = time.monotonic()
    times.setdefault("stream_creating_s", []).append(active_s - started_s)
    client, last_s = kit.client("kinesis", is_patient=False), 0.0
    calls = {
        "ListShards": partial(client.list_shards, StreamName=name),
        "GetShardIterator": partial(
            client.get_shard_iterator, StreamName=name, ShardId=SHARD, ShardIteratorType="LATEST"
        ),
        "PutRecord": partial(client.put_record, StreamName=name, Data=b"early", PartitionKey="key"),
    }
    for passed_s in watch(max(kit.sizes.watch_s, 1.0)):
        for action, call in calls.items():
            found = answer(call)
            if found != "success":
                refusals[f"{action}: {found}"] += 1
                last_s = passed_s
    times.setdefault("stream_settling_s", []).append(last_s)


def _watch_reshard(kit: Kit, name: str, what: str, change: Any, times: dict[str, list[float]]) -> None:
    shards = kit.open_shards(name)
    parents = {shard["ShardId"] for shard in (shards[:1] if what == "split" else shards[:2])}
    first = shards[0]["ShardId"]
    if what == "split":
        change(StreamName=name, ShardToSplit=first, NewStartingHashKey=str(2**127))
    else:
        change(StreamName=name, ShardToMerge=first, AdjacentShardToMerge=shards[1]["ShardId"])
    started_s = time.monotonic()
    shown_s = closed_s = active_s = hidden_s = None
    while None in (shown_s, closed_s, active_s):
        passed_s = time.monotonic() - started_s
        found = kit.kinesis.list_shards(StreamName=name)["Shards"]
        if shown_s is None and _has_children(found, parents):
            shown_s = passed_s
        if closed_s is None and not parents & {shard["ShardId"] for shard in open_shards(found)}:
            closed_s = passed_s
        if active_s is None and kit.summary(name)["StreamStatus"] == "ACTIVE" and shown_s is not None:
            active_s = passed_s
        time.sleep(LOOK_S)
    for passed_s in watch(kit.sizes.watch_s):
        if not _has_children(kit.kinesis.list_shards(StreamName=name)["Shards"], parents):
            hidden_s = passed_s
    for fact, seconds in (
        ("children_listed_after_s", shown_s),
        ("parent_closed_after_s", closed_s),
        ("stream_updating_s", active_s),
        ("children_hidden_again_s", hidden_s or 0.0),
    ):
        times.setdefault(fact, []).append(float(seconds or 0.0))


def _has_children(shards: list[dict[str, Any]], parents: set[str]) -> bool:
    return any(shard.get("ParentShardId") in parents for shard in shards)


def _watch_readable(kit: Kit, name: str, times: dict[str, list[float]]) -> None:
    client = kit.client("kinesis")
    [shard] = kit.open_shards(name)
    iterator = client.get_shard_iterator(
        StreamName=name, ShardId=shard["ShardId"], ShardIteratorType="LATEST"
    )["ShardIterator"]
    client.put_record(StreamName=name, Data=b"soon", PartitionKey="key")
    started_s = time.monotonic()
    wait_until(lambda: client.get_records(ShardIterator=iterator)["Records"])
    times.setdefault("readable_after_s", []).append(time.monotonic() - started_s)


def _watch_deletion(kit: Kit, name: str, times: dict[str, list[float]]) -> None:
    started_s = time.monotonic()
    wait_until(lambda: _is_gone(kit, name))
    times.setdefault("stream_deleting_s", []).append(time.monotonic() - started_s)
    wait_until(lambda: not _is_listed(kit, name))
    times.setdefault("unlisted_after_s", []).append(time.monotonic() - started_s)


def _is_gone(kit: Kit, name: str) -> bool:
    try:
        kit.summary(name)
    except ClientError as error:
        return code_of(error) == "ResourceNotFoundException"
    return False


def deleted_usage(_: Sizes) -> dict[str, float]:
    return {"shard_hours": 2, "put_units": 4}


_WHEN = {
    "deleting": "while the stream is DELETING",
    "deleted": "once the stream is gone",
    "recreated": "once a stream of that name exists again",
}


def run_deleted(kit: Kit) -> None:
    """Ask what iterators of a stream answer while it is DELETING, once it is gone, and once it is created again."""
    client = kit.client("kinesis", is_patient=False)
    name = kit.stream()
    number = kit.kinesis.put_record(StreamName=name, Data=b"old", PartitionKey="key")["SequenceNumber"]
    kinds = {
        "TRIM_HORIZON": {},
        "LATEST": {},
        "AFTER_SEQUENCE_NUMBER": {"StartingSequenceNumber": number},
    }
    iterators = {
        kind: client.get_shard_iterator(StreamName=name, ShardId=SHARD, ShardIteratorType=kind, **more)[
            "ShardIterator"
        ]
        for kind, more in kinds.items()
    }

    def ask(when: str) -> None:
        for kind, more in kinds.items():
            found = answer(lambda kind=kind: client.get_records(ShardIterator=iterators[kind]))  # type: ignore[misc]
            question = f"GetRecords {_WHEN[when]}, with an iterator of {kind} from before the deletion"
            kit.findings.fact(f"{when}_old_{kind.lower()}", found, question)
            made = answer(
                lambda kind=kind, more=more: client.get_shard_iterator(  # type: ignore[misc]
                    StreamName=name, ShardId=SHARD, ShardIteratorType=kind, **more
                )
            )
            kit.findings.fact(f"{when}_new_{kind.lower()}", made, f"GetShardIterator of {kind} {_WHEN[when]}")

    kit.kinesis.delete_stream(StreamName=name)
    if _is_gone(kit, name):
        kit.findings.not_asked("What do iterators answer while a stream is DELETING?", "it was gone at once")
    else:
        ask("deleting")
        wait_until(lambda: _is_gone(kit, name))
    ask("deleted")
    create_stream(kit.kinesis, name, ShardCount=1)
    kit.wait_for(name, "ACTIVE")
    time.sleep(min(5.0, kit.sizes.watch_s))
    ask("recreated")


def times_usage(_: Sizes) -> dict[str, float]:
    return {"shard_hours": 1, "put_units": 2}


def run_times(kit: Kit) -> None:
    """Ask about times ahead of the service's clock, and how long an iterator lives."""
    client = kit.client("kinesis", is_patient=False)
    name = kit.stream()
    kit.kinesis.put_record(StreamName=name, Data=b"x", PartitionKey="key")
    response = client.get_shard_iterator(StreamName=name, ShardId=SHARD, ShardIteratorType="TRIM_HORIZON")
    iterator, made_s = response["ShardIterator"], time.monotonic()
    for ahead_s in (-1, 2, 60):
        timestamp = datetime.now(timezone.utc) + timedelta(seconds=ahead_s)
        found = answer(
            lambda timestamp=timestamp: client.get_shard_iterator(  # type: ignore[misc]
                StreamName=name, ShardId=SHARD, ShardIteratorType="AT_TIMESTAMP", Timestamp=timestamp
            )
        )
        question = (
            f"GetShardIterator at a time {abs(ahead_s)} s {'before' if ahead_s < 0 else 'after'} our clock"
        )
        kit.findings.fact(f"at_timestamp_{ahead_s:+d}_s", found, question)
    old = datetime.now(timezone.utc) - timedelta(days=30)
    found = answer(
        lambda: client.get_records(
            ShardIterator=client.get_shard_iterator(
                StreamName=name, ShardId=SHARD, ShardIteratorType="AT_TIMESTAMP", Timestamp=old
            )["ShardIterator"]
        )
    )
    kit.findings.fact(
        "at_timestamp_before_retention", found, "GetRecords from a time before the stream existed"
    )
    if not kit.sizes.waits_for_expiry:
        kit.findings.not_asked(
            "How long does an iterator live?", "a rehearsal does not wait for five minutes"
        )
        return

    def is_expired() -> bool:
        time.sleep(2.0)
        return answer(lambda: client.get_records(ShardIterator=iterator)) == "ExpiredIteratorException"

    time.sleep(280.0)
    wait_until(is_expired, 300.0)
    kit.findings.times("iterator_life_s", [time.monotonic() - made_s], "how long an iterator lives")


def trimming_usage(_: Sizes) -> dict[str, float]:
    return {"shard_hours": 1}


def run_trimming(kit: Kit) -> None:
    """Ask the little about trimming that a day shows."""
    client = kit.client("kinesis", is_patient=False)
    name = kit.stream()
    found = answer(lambda: client.decrease_stream_retention_period(StreamName=name, RetentionPeriodHours=1))
    kit.findings.check("a retention below 24 hours is refused", found != "success", found)
    for question in (
        "How coarse is trimming: do records leave one by one, or in blocks?",
        "What does an iterator at a trimmed record return: the oldest record, or empty pages?",
        "When does a closed shard whose records are all trimmed leave ListShards?",
    ):
        kit.findings.not_asked(
            question, "no record is trimmed within 24 hours, the shortest retention, and a run is shorter"
        )
