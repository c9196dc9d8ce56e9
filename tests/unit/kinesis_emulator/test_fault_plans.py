"""Faults by script and by seed, and faults that change a part of a response."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

import botocore.exceptions
import pytest

from kinesis_emulator import AwsError, Emulator, Fault, FaultScript, ManualClock, RandomFaults, Request, Step

SHARD = "shardId-000000000000"
DAY_S = 24 * 3600


def calls(action: str, count: int) -> list[Request]:
    return [Request(action, {"StreamName": "orders"}, "us-east-1") for _ in range(count)]


def test_a_script_applies_faults_by_count() -> None:
    """A step counts the calls that match it, and lasts for its number of calls."""
    denied, lost = Fault("AccessDeniedException"), Fault(drop_response=True)
    script = FaultScript(
        Step(denied, action="GetRecords", stream="orders", after_calls=2, times=None),
        Step(lost, action="PutRecords"),
    )
    assert [script(call) for call in calls("GetRecords", 4)] == [None, None, denied, denied]
    assert [script(call) for call in calls("PutRecords", 2)] == [lost, None]
    assert script(Request("GetRecords", {"StreamName": "other"}, "us-east-1")) is None


def test_a_seed_makes_the_same_faults_again() -> None:
    """Equal seeds choose the same faults, other seeds other ones. About the given share of calls has a fault."""
    requests = calls("GetRecords", 1000)
    first, again, other = ([plan(call) for call in requests] for plan in map(plan_of, (1, 1, 2)))
    assert first == again
    assert first != other
    assert 150 < sum(fault is not None for fault in first) < 250


def plan_of(seed: int) -> RandomFaults:
    return RandomFaults(seed, share=0.2)


def test_a_share_is_from_0_to_1() -> None:
    """A share below 0 or above 1 is refused."""
    with pytest.raises(ValueError, match="share must be from 0 to 1; got 20"):
        RandomFaults(1, share=20)


def test_an_html_page_may_come_with_a_503(emulator: Emulator, client: Any) -> None:
    """A proxy's page instead of the service's JSON is an error with the status as its code."""
    emulator.settings.fault = lambda _: Fault(status=503, body=b"<html>", content_type="text/html")
    with pytest.raises(botocore.exceptions.ClientError) as caught:
        client.list_shards(StreamName="orders")
    assert caught.value.response["ResponseMetadata"]["HTTPStatusCode"] == 503
    assert caught.value.response["ResponseMetadata"]["HTTPHeaders"]["content-type"] == "text/html"


def test_a_response_may_be_cut_in_the_middle(emulator: Emulator, client: Any) -> None:
    """boto3 reads a response that is shorter than its Content-Length as an empty one, without an error."""
    emulator.settings.fault = lambda _: Fault(cut_response=True)
    response = client.put_record(StreamName="orders", Data=b"x", PartitionKey="k")
    assert response.keys() == {"ResponseMetadata"}
    assert response["ResponseMetadata"]["HTTPStatusCode"] == 200
    assert len(emulator.records("orders")) == 1


def test_a_response_may_be_slow_and_complete(emulator: Emulator, client: Any) -> None:
    """A pause in the middle of a response loses no byte of it."""
    emulator.settings.fault = lambda _: Fault(stall_s=0.05)
    assert client.list_shards(StreamName="orders")["Shards"][0]["ShardId"] == SHARD


def test_some_records_of_a_request_may_fail(emulator: Emulator, client: Any) -> None:
    """Every third record of PutRecords fails with a code and is not written. The results keep their order."""
    emulator.settings.fault = lambda _: Fault(fail_every=3)
    records = [{"Data": str(i), "PartitionKey": "k"} for i in range(5)]
    response = client.put_records(StreamName="orders", Records=records)
    assert response["FailedRecordCount"] == 1
    assert [result.get("ErrorCode") for result in response["Records"]] == [
        None,
        None,
        "InternalFailure",
        None,
        None,
    ]
    assert [record.data for record in emulator.records("orders")] == [b"0", b"1", b"3", b"4"]
    written = [record.sequence_number for record in emulator.records("orders")]
    assert [
        result["SequenceNumber"] for result in response["Records"] if "ErrorCode" not in result
    ] == written


def test_all_records_of_a_request_may_fail(emulator: Emulator, client: Any) -> None:
    """A request of which no record is written still gets a 200."""
    emulator.settings.fault = lambda _: Fault(fail_every=1)
    response = client.put_records(StreamName="orders", Records=[{"Data": b"x", "PartitionKey": "k"}])
    assert (response["FailedRecordCount"], emulator.records("orders")) == (1, [])


def test_a_page_may_not_advance(emulator: Emulator, client: Any, iterator_of: Any) -> None:
    """The iterator of an empty page with lag has not advanced: the records come with the next call."""
    emulator.put("orders", b"late")
    emulator.settings.fault = FaultScript(Step(Fault(empty_page=True, millis_behind=5_000), "GetRecords"))
    page = client.get_records(ShardIterator=iterator_of())
    assert (page["Records"], page["MillisBehindLatest"]) == ([], 5_000)
    page = client.get_records(ShardIterator=page["NextShardIterator"])
    assert [record["Data"] for record in page["Records"]] == [b"late"]


def test_children_may_be_listed_late(emulator: Emulator, client: Any, clock: ManualClock) -> None:
    """For some time after a split the parent is closed and the children are missing."""
    emulator.settings.hide_children_s = 10
    children = emulator.split("orders", SHARD)

    def listed() -> list[str]:
        return [shard["ShardId"] for shard in client.list_shards(StreamName="orders")["Shards"]]

    assert listed() == [SHARD]
    described = client.describe_stream(StreamName="orders")["StreamDescription"]["Shards"]
    assert [shard["ShardId"] for shard in described] == [SHARD]
    clock.advance(10)
    assert listed() == [SHARD, *children]


def test_arrival_times_may_be_out_of_order(emulator: Emulator, client: Any, clock: ManualClock) -> None:
    """With jitter, sequence numbers increase while arrival times do not. No time is in the future."""
    emulator.settings.arrival_jitter_ms = 1000
    for _ in range(20):
        client.put_record(StreamName="orders", Data=b"x", PartitionKey="k")
    records = emulator.records("orders")
    arrivals = [record.arrived_ms or 0 for record in records]
    assert arrivals != sorted(arrivals)
    assert max(arrivals) <= clock() * 1000
    numbers = [int(record.sequence_number) for record in records]
    assert numbers == sorted(set(numbers))


@pytest.mark.parametrize("kind", ["AT_SEQUENCE_NUMBER", "AFTER_SEQUENCE_NUMBER"])
def test_a_trimmed_number_may_give_empty_pages(
    emulator: Emulator, client: Any, iterator_of: Any, read_from: Any, clock: ManualClock, kind: str
) -> None:
    """With `trimmed_start = "empty_pages"` pages stay empty, a whole retention behind. The oldest record can be read."""
    emulator.settings.trimmed_start = "empty_pages"
    old = [emulator.put("orders", data) for data in (b"1", b"2")]
    clock.advance(DAY_S + 1)
    emulator.put("orders", b"new")
    iterator = iterator_of(kind, StartingSequenceNumber=old[0].sequence_number)
    for _ in range(3):
        page = client.get_records(ShardIterator=iterator)
        assert (page["Records"], page["MillisBehindLatest"]) == ([], DAY_S * 1000)
        iterator = page["NextShardIterator"]
    assert read_from() == [b"new"]
    assert read_from("AT_TIMESTAMP", Timestamp=datetime.fromtimestamp(0, timezone.utc)) == [b"new"]


@pytest.fixture
def generations(emulator: Emulator) -> list[str]:
    """Split the stream's shard, then its first child. Return the ids of all five, from the oldest."""
    children = emulator.split("orders", SHARD)
    return [SHARD, *children, *emulator.split("orders", children[0])]


def listed(client: Any) -> list[str]:
    return [shard["ShardId"] for shard in client.list_shards(StreamName="orders")["Shards"]]


STALE = {
    "one child of two": [3],
    "a grandchild without its parent": [1],
    "children without the closed parent": [0],
    "both children missing": [3, 4],
}


@pytest.mark.parametrize("hidden", STALE.values(), ids=STALE)
def test_the_next_listings_may_be_stale(
    emulator: Emulator, client: Any, generations: list[str], hidden: list[int]
) -> None:
    """The given number of listings leaves out the shards of a fault. The shards themselves work as before."""
    missing = tuple(generations[i] for i in hidden)
    emulator.settings.fault = FaultScript(Step(Fault(hide_shards=missing), "ListShards", times=2))
    shown = [shard_id for shard_id in generations if shard_id not in missing]
    assert [listed(client) for _ in range(3)] == [shown, shown, generations]
    emulator.settings.fault = FaultScript(Step(Fault(hide_shards=missing), "ListShards"))
    assert client.get_shard_iterator(
        StreamName="orders", ShardId=missing[0], ShardIteratorType="TRIM_HORIZON"
    )


@pytest.mark.parametrize("hidden", STALE.values(), ids=STALE)
def test_listings_may_be_stale_for_a_while(
    emulator: Emulator, client: Any, clock: ManualClock, generations: list[str], hidden: list[int]
) -> None:
    """Hidden shards are missing from every listing until their time is over."""
    missing = [generations[i] for i in hidden]
    emulator.hide_shards("orders", missing, for_s=10)
    shown = [shard_id for shard_id in generations if shard_id not in missing]
    assert listed(client) == shown
    described = client.describe_stream(StreamName="orders")["StreamDescription"]["Shards"]
    assert [shard["ShardId"] for shard in described] == shown
    clock.advance(9.999)
    assert listed(client) == shown
    clock.advance(0.001)
    assert listed(client) == generations


def test_only_existing_shards_can_be_hidden(emulator: Emulator) -> None:
    """A shard that the stream does not have cannot be hidden."""
    with pytest.raises(AwsError, match="shardId-000000000009 in stream orders"):
        emulator.hide_shards("orders", ["shardId-000000000009"], for_s=10)


def test_a_described_stream_may_be_stale(emulator: Emulator, client: Any, generations: list[str]) -> None:
    """DescribeStream leaves the hidden shards out like ListShards, and keeps its other facts."""
    emulator.settings.fault = lambda _: Fault(hide_shards=tuple(generations[1:]))
    described = client.describe_stream(StreamName="orders")["StreamDescription"]
    assert [shard["ShardId"] for shard in described["Shards"]] == [SHARD]
    assert described["StreamStatus"] == "ACTIVE"
    assert (
        client.describe_stream_summary(StreamName="orders")["StreamDescriptionSummary"]["OpenShardCount"] == 3
    )


def test_stale_listings_come_by_seed(emulator: Emulator, client: Any, generations: list[str]) -> None:
    """Faults that hide every n-th shard make a random plan of stale listings, the same for the same seed."""
    stale = [Fault(hide_every=2), Fault(hide_every=3)]
    first, second, third, fourth, fifth = generations
    shown = [[first, third, fifth], [first, second, fourth, fifth], generations]
    runs = []
    for _ in range(2):
        emulator.settings.fault = RandomFaults(seed=7, share=0.5, faults=stale)
        runs.append([shown.index(listed(client)) for _ in range(30)])
    assert runs[0] == runs[1]
    assert set(runs[0]) == {0, 1, 2}


def test_only_listings_hide_shards(emulator: Emulator, client: Any, iterator_of: Any) -> None:
    """A fault that hides shards has no effect on other calls."""
    emulator.put("orders", b"x")
    emulator.settings.fault = lambda _: Fault(hide_shards=(SHARD,), hide_every=1)
    assert len(client.get_records(ShardIterator=iterator_of())["Records"]) == 1
