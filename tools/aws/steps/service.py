"""What the service does under load and with parameters that few use: throttles, fan-out, DryRun, AUTO, records of 10 MiB."""

from __future__ import annotations

import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from itertools import pairwise
from typing import Any

from botocore.exceptions import ClientError

from kinesis_core import FanOutSettings, Producer, ProducerSettings, Stream, WireFormat
from kinesis_core.aws import Connection, FanOutTransport, check_reading, check_writing, dry_run_client
from kinesis_core.errors import ServiceError
from tools.aws.kit import Kit, Sizes, answer, code_of, wait_until
from tools.aws.prices import GB, put_units

ENTRIES = 500
RESUBSCRIBE_S = 5.5
"""A shard can be subscribed to again after 5 s. How long exactly is what a step asks."""


def throttles_usage(sizes: Sizes) -> dict[str, float]:
    return {"shard_hours": 1, "put_units": 2 * sizes.burst_records + ENTRIES}


def run_throttles(kit: Kit) -> None:
    """Write faster than a shard accepts, with boto3 and with the producer. Read faster than it allows."""
    stream = kit.stream()
    client = kit.client("kinesis", is_patient=False)
    accepted, codes = _burst(client, stream, kit.sizes.burst_records)
    kit.findings.check("a shard refuses more than 1,000 records a second", bool(codes), "nothing was refused")
    kit.findings.fact("throttled_puts", dict(codes), "codes of refused records at many times the limit")
    kit.use(put_units=kit.sizes.burst_records)
    settings = ProducerSettings(aggregation_enabled=False, record_ttl_s=120.0)
    with Producer.open(stream, **kit.target.connection(), settings=settings) as producer:
        producer.put_columns([b"producer"] * kit.sizes.burst_records)
        totals = producer.flush()
    kit.findings.fact(
        "producer_throttled", totals.throttled, "records that the producer sent again", "records"
    )
    with Stream.open(stream, **kit.target.connection()) as opened:
        found = Counter(record.data for record in opened.read("TRIM_HORIZON").records())
    kit.findings.check(
        "each accepted record is there once", found[b"burst"] == accepted, f"{found[b'burst']}"
    )
    kit.findings.check(
        "each record of the producer is there",
        found[b"producer"] >= kit.sizes.burst_records,
        found[b"producer"],
    )
    _read_too_often(kit, client, stream)


def _burst(client: Any, stream: str, records: int) -> tuple[int, Counter[str]]:
    entries = [{"Data": b"burst", "PartitionKey": "key"}] * ENTRIES

    def put(_: int) -> list[str]:
        try:
            return [
                each.get("ErrorCode", "")
                for each in client.put_records(StreamName=stream, Records=entries)["Records"]
            ]
        except ClientError as error:
            return [code_of(error)] * ENTRIES

    with ThreadPoolExecutor(8) as pool:
        codes = Counter(code for found in pool.map(put, range(records // ENTRIES)) for code in found)
    return codes.pop("", 0), codes


def _read_too_often(kit: Kit, client: Any, stream: str) -> None:
    iterator = client.get_shard_iterator(
        StreamName=stream, ShardId=kit.open_shards(stream)[0]["ShardId"], ShardIteratorType="LATEST"
    )["ShardIterator"]
    time.sleep(2.0)  # the shard's quota of reads is full again
    with ThreadPoolExecutor(kit.sizes.reads) as pool:
        calls = [
            pool.submit(answer, lambda: client.get_records(ShardIterator=iterator))
            for _ in range(kit.sizes.reads)
        ]
        answers = Counter(call.result() for call in calls)
    kit.findings.fact(
        "reads_at_once", dict(answers), f"responses to {kit.sizes.reads} GetRecords of one shard at once"
    )


def fan_out_usage(sizes: Sizes) -> dict[str, float]:
    return {
        "shard_hours": 1,
        "put_units": sizes.burst_records,
        "fan_out_shard_hours": 2,
        "fan_out_gb": 4 * sizes.burst_records * 1100 / GB,
    }


def run_fan_out(kit: Kit) -> None:
    """Read by a registered consumer, over HTTP/1.1 and HTTP/2, and compare with polling. Subscribe twice in a row."""
    stream = kit.stream()
    arn = kit.arn(stream)
    consumer = kit.kinesis.register_stream_consumer(StreamARN=arn, ConsumerName="day")["Consumer"][
        "ConsumerARN"
    ]
    seconds = wait_until(lambda: _consumer_status(kit, consumer) == "ACTIVE")
    kit.findings.times("consumer_creating_s", [seconds], "how long a new consumer is CREATING")
    listed = kit.kinesis.list_tags_for_resource(ResourceARN=consumer)["Tags"]
    tags = {tag["Key"]: tag["Value"] for tag in listed}
    kit.findings.check(
        "a consumer has the tags that it was registered with", tags == kit.ledger.run.tags, sorted(tags)
    )
    kit.use(put_units=kit.sizes.burst_records, fan_out_gb=4 * kit.sizes.burst_records * 1100 / GB)
    with Producer.open(
        stream, **kit.target.connection(), settings=ProducerSettings(aggregation_enabled=False)
    ) as p:
        p.put_columns([b"%d" % number + b"x" * 1000 for number in range(kit.sizes.burst_records)])
    with Stream.open(stream, **kit.target.connection()) as opened:
        polled = [record.sequence_number for record in opened.read("TRIM_HORIZON").records()]
    for transport in FanOutTransport:
        if transport is FanOutTransport.HTTP_2 and find_spec("httpx2") is None:
            kit.findings.not_asked(
                "Does fan-out work over HTTP/2?", "the packages for HTTP/2 are not installed"
            )
            continue
        if transport is FanOutTransport.HTTP_2 and not kit.target.is_aws:
            kit.findings.not_asked(
                "Does fan-out work over HTTP/2?", "the local server speaks HTTP/1.1 without TLS"
            )
            continue
        settings = FanOutSettings(fallback_to_polling=False, transport=transport)
        started_s = time.monotonic()
        with Stream.open(stream, **kit.target.connection(), consumer=consumer, fan_out=settings) as opened:
            pushed = [record.sequence_number for record in opened.read("TRIM_HORIZON").records()]
        kit.findings.check(
            f"fan-out over {transport.value} returns the records of polling", pushed == polled, len(pushed)
        )
        name = f"fan_out_{transport.name.lower()}_s"
        kit.findings.times(
            name,
            [time.monotonic() - started_s],
            f"how long reading {len(polled)} records by fan-out takes over {transport.value}",
        )
        time.sleep(RESUBSCRIBE_S)
    _subscribe_again(kit, consumer, kit.open_shards(stream)[0]["ShardId"])


def _consumer_status(kit: Kit, arn: str) -> str:
    found = kit.kinesis.describe_stream_consumer(ConsumerARN=arn)["ConsumerDescription"]
    return str(found["ConsumerStatus"])


def _subscribe_again(kit: Kit, consumer: str, shard_id: str) -> None:
    """Ask from when on a shard can be subscribed to again, and measure the time between two empty events."""
    client = kit.client("kinesis", is_patient=False)
    request = {"ConsumerARN": consumer, "ShardId": shard_id, "StartingPosition": {"Type": "LATEST"}}
    first = client.subscribe_to_shard(**request)["EventStream"]
    started_s, events = time.monotonic(), []
    codes: list[str] = []
    for _ in first:
        events.append(time.monotonic())
        if len(events) == 3:
            break
    kit.findings.times(
        "heartbeat_s",
        [after - before for before, after in pairwise(events[1:])],
        "how long a subscription waits for records before it sends an empty event",
    )
    first.close()
    time.sleep(RESUBSCRIBE_S)
    second = client.subscribe_to_shard(**request)["EventStream"]
    started_s = time.monotonic()

    def is_accepted() -> bool:
        time.sleep(1.0)  # one call a second is allowed
        try:
            client.subscribe_to_shard(**request)["EventStream"].close()
        except ClientError as error:
            codes.append(code_of(error))
            return False
        return True

    wait_until(is_accepted, 60)
    second.close()
    kit.findings.times(
        "resubscribe_after_s",
        [time.monotonic() - started_s],
        "how long a second subscription to a shard is refused, measured to a second",
    )
    kit.findings.fact("resubscribe_refusals", dict(Counter(codes)), "codes of these refusals")


def dry_run_usage(_: Sizes) -> dict[str, float]:
    return {"shard_hours": 1, "put_units": 4, "fan_out_shard_hours": 2}


def run_dry_run(kit: Kit) -> None:
    """Call everything that has DryRun, and the permission checks of this project. Nothing may be written."""
    stream = kit.stream()
    arn = kit.arn(stream)
    client = kit.client("kinesis", is_patient=False)
    shard_id = kit.open_shards(stream)[0]["ShardId"]
    place = {"StreamName": stream, "ShardId": shard_id, "ShardIteratorType": "LATEST"}
    iterator = client.get_shard_iterator(**place)["ShardIterator"]
    consumer = client.register_stream_consumer(StreamARN=arn, ConsumerName="day")["Consumer"]["ConsumerARN"]
    wait_until(lambda: _consumer_status(kit, consumer) == "ACTIVE")
    record = {"Data": b"dry", "PartitionKey": "key"}
    start = {"Type": "LATEST"}
    calls = {
        "GetShardIterator": lambda: client.get_shard_iterator(**place, DryRun=True),
        "GetRecords": lambda: client.get_records(ShardIterator=iterator, DryRun=True),
        "PutRecord": lambda: client.put_record(StreamName=stream, **record, DryRun=True),
        "PutRecords": lambda: client.put_records(StreamName=stream, Records=[record], DryRun=True),
        "SubscribeToShard": lambda: client.subscribe_to_shard(
            ConsumerARN=consumer, ShardId=shard_id, StartingPosition=start, DryRun=True
        ),
    }
    for name, call in calls.items():
        found = answer(call)
        kit.findings.check(f"{name} has a dry run", found == "DryRunOperationException", found)
    connection = Connection.to_stream(stream, **kit.target.connection())
    dry_runs = dry_run_client(connection, connection.streams[0])
    if dry_runs is None:
        kit.findings.not_asked(
            "Do the permission checks pass?", "the installed botocore does not know DryRun"
        )
    else:
        check_reading(dry_runs)
        check_writing(dry_runs)
        try:
            dry_runs.dry_run_put_records()
            found = "success"
        except ServiceError as error:
            found = error.code
        kit.findings.fact(
            "dry_run_of_an_unwritable_record",
            found,
            "the code for the record that our permission check would write",
        )
    page = client.get_records(ShardIterator=iterator)
    kit.findings.check("no dry run wrote a record", not page["Records"], len(page["Records"]))


def auto_usage(sizes: Sizes) -> dict[str, float]:
    gigabytes = 2 * sizes.records * 1024 / GB
    return {"on_demand_hours": 1, "on_demand_gb_in": gigabytes, "on_demand_gb_out": 2 * gigabytes}


def run_auto(kit: Kit) -> None:
    """Write to an on-demand stream by keys, then with record distribution AUTO, which takes no aggregates."""
    records = kit.sizes.records
    stream = kit.stream(StreamModeDetails={"StreamMode": "ON_DEMAND"})
    summary = kit.summary(stream)
    kit.findings.fact(
        "on_demand_shards", summary["OpenShardCount"], "shards of a new on-demand stream", "shards"
    )
    strategy = summary.get("RecordDistributionStrategy")
    kit.findings.fact("first_strategy", strategy, "record distribution of a new on-demand stream")
    gigabytes = 2 * records * 1024 / GB
    kit.use(on_demand_gb_in=gigabytes, on_demand_gb_out=2 * gigabytes)
    with Producer.open(stream, **kit.target.connection()) as producer:
        producer.put_columns([b"keys %d" % number for number in range(records)], ["one key"] * records)
        producer.flush()
        kit.kinesis.update_stream_record_distribution_strategy(
            StreamARN=summary["StreamARN"], RecordDistributionStrategy="AUTO"
        )
        seconds = wait_until(lambda: kit.summary(stream).get("RecordDistributionStrategy") == "AUTO")
        kit.findings.times("auto_after_s", [seconds], "when the summary shows the new record distribution")
        kit.wait_for(stream, "ACTIVE")
        producer.put_columns([b"auto %d" % number for number in range(records)], ["one key"] * records)
        totals = producer.close()
    kit.findings.fact(
        "auto_failed", totals.failed, "records refused while a producer met the change", "records"
    )
    with Stream.open(stream, **kit.target.connection()) as opened:
        found = list(opened.read("TRIM_HORIZON").records())
    written = {b"%s %d" % (word, number) for word in (b"keys", b"auto") for number in range(records)}
    missing = written - {record.data for record in found}
    kit.findings.check(
        "each record is there, before and with AUTO", not missing, f"{len(missing)} are missing"
    )
    with_auto = [record for record in found if record.data.startswith(b"auto")]
    shards = {record.shard_id for record in with_auto}
    kit.findings.check("with AUTO one key goes to several shards", len(shards) > 1, f"{len(shards)} shard")
    keyless = sum(record.partition_key is None for record in with_auto)
    kit.findings.fact(
        "auto_without_key", keyless, "records with AUTO that come back without a partition key", "records"
    )


def large_usage(sizes: Sizes) -> dict[str, float]:
    return {"shard_hours": 1, "put_units": 3 * put_units(sizes.large_kib * 1024)}


def run_large(kit: Kit) -> None:
    """Write records of the largest size, and read them in JSON and in CBOR."""
    stream = kit.stream()
    arn, size = kit.arn(stream), kit.sizes.large_kib * 1024
    client = kit.client("kinesis", is_patient=False)
    data = b"x" * (size - len("key"))
    before = answer(lambda: client.put_record(StreamName=stream, Data=data, PartitionKey="key"))
    kit.findings.check("a stream refuses records above its MaxRecordSize", before != "success", before)
    kit.kinesis.update_max_record_size(StreamARN=arn, MaxRecordSizeInKiB=kit.sizes.large_kib)
    seconds = kit.wait_for(stream, "ACTIVE")
    kit.findings.times("record_size_updating_s", [seconds], "how long a change of MaxRecordSize is UPDATING")
    kit.use(put_units=2 * put_units(size))
    started_s = time.monotonic()
    with Producer.open(
        stream, **kit.target.connection(), settings=ProducerSettings(record_ttl_s=300)
    ) as producer:
        producer.put(data, partition_key="key")
    kit.findings.times(
        "large_put_s", [time.monotonic() - started_s], "how long the put of a largest record takes"
    )
    for wire_format in WireFormat:
        started_s = time.monotonic()
        with Stream.open(stream, **kit.target.connection(), wire_format=wire_format) as opened:
            found = [record.data for record in opened.read("TRIM_HORIZON").records()]
        what = f"a largest record comes back in {wire_format.name}"
        kit.findings.check(what, found == [data], [len(each) for each in found])
        name = f"large_read_{wire_format.name.lower()}_s"
        kit.findings.times(
            name,
            [time.monotonic() - started_s],
            f"how long reading a largest record takes in {wire_format.name}",
        )
    iterator = client.get_shard_iterator(
        StreamName=stream, ShardId=kit.open_shards(stream)[0]["ShardId"], ShardIteratorType="TRIM_HORIZON"
    )["ShardIterator"]
    wait_until(lambda: answer(lambda: client.get_records(ShardIterator=iterator)).startswith("a page"))
    started_s = time.monotonic()
    wait_until(lambda: answer(lambda: client.get_records(ShardIterator=iterator)).startswith("a page"))
    question = "how long after a largest page the next one of the shard is refused"
    kit.findings.times("throttled_after_large_page_s", [time.monotonic() - started_s], question)
