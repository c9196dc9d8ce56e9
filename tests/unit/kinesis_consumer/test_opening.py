"""Arguments of `ConsumerGroup.open`, which are verified before any call."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from attrs import fields

from kinesis_consumer import (
    Callbacks,
    ConsumerGroup,
    DynamoLeases,
    GroupSettings,
    MemoryLeases,
    SendTo,
    SqliteLeases,
)
from kinesis_consumer.lease_stores import parse_store
from kinesis_consumer.opening import connect, name_streams, parse_start, verify_consumer, verify_past
from kinesis_core import OffsetError, OptionError
from kinesis_core.aws import StreamRef
from kinesis_core.model import AtTimestamp, Latest, TrimHorizon
from kinesis_core.options import STARTS_OF_ALL_SHARDS
from kinesis_credentials import StaticKeys
from support.streams import KEY_ID, REGION, SECRET

KEYS = StaticKeys(KEY_ID, SECRET)


@pytest.mark.parametrize("streams", [[], ["orders", "orders"], [""], "", None, 5, ["orders", 5], {"orders"}])
def test_a_group_has_different_streams(streams: Any) -> None:
    """No stream, or one twice, is an error without a call."""
    with pytest.raises(OptionError, match=r"'streams' is .*\. Use one stream or several different ones"):
        ConsumerGroup.open(streams, "billing", leases=MemoryLeases())


ARN = "arn:aws:kinesis:us-east-1:123456789012:stream/orders"
OTHER = "arn:aws:kinesis:eu-west-1:123456789012:stream/orders"


def names_of(*streams: str, found: str = ARN) -> list[str]:
    """Return what a group calls streams. Those that are given by name are the stream *found*."""
    refs = [StreamRef.parse(stream) for stream in streams]
    return list(name_streams(refs, lambda _: found).values())


def test_a_stream_is_called_by_its_name() -> None:
    """However a stream is given, it has one name, and so its batches have the same ids."""
    assert names_of("orders") == names_of(ARN) == ["orders"]
    assert names_of(ARN, "teas") == ["orders", "teas"]


def test_streams_of_one_name_are_called_by_their_arns() -> None:
    """Two streams of one name, in two regions, have different names in the group, also if one was given by its name."""
    assert names_of(ARN, OTHER) == names_of("orders", OTHER) == [ARN, OTHER]
    assert names_of("teas", ARN, OTHER) == ["teas", ARN, OTHER]


def test_a_stream_is_given_once() -> None:
    """The same stream by name and by ARN is an error: its shards would be read twice."""
    with pytest.raises(OptionError, match=rf"{ARN} and orders are the same one"):
        names_of("orders", ARN)


def test_a_consumer_of_several_streams_is_a_name() -> None:
    """The ARN of a consumer is that of one stream: with several ones it is an error without a call. A name is one of each."""
    consumer = f"{ARN}/consumer/billing:1"
    with pytest.raises(OptionError, match=r"'consumer' is 'arn:.*'\. Use a name, .* 2 streams\."):
        ConsumerGroup.open(["orders", "teas"], "billing", leases=MemoryLeases(), consumer=consumer)
    verify_consumer(consumer, ["orders"])
    verify_consumer("billing", ["orders", "teas"])


def test_one_stream_is_a_text() -> None:
    """A single stream needs no list."""
    connection = connect(["orders"], "us-east-1", None, None)
    assert [ref.label for ref in connection.streams] == ["orders"]


@pytest.mark.parametrize(
    ("start", "position"),
    [
        ("LATEST", Latest()),
        ("TRIM_HORIZON", TrimHorizon()),
        ("AT_TIMESTAMP 1970-01-01T00:00:01Z", AtTimestamp(1000)),
        (TrimHorizon(), TrimHorizon()),
    ],
)
def test_where_a_group_starts(start: Any, position: object) -> None:
    """A start is text as in the option `startingPosition`, or a value."""
    assert parse_start(start) == position


@pytest.mark.parametrize(
    "name",
    ["", "Leader", "Migration3.0", "shardId-000000000000", "1:orders:2:shardId-000000000000", "w" * 256, 5],
)
def test_a_worker_is_not_named_like_another_item(name: Any) -> None:
    """Its report would take the place of a lease, or of what the leader needs."""
    with pytest.raises(OptionError, match=r"'worker' is .*\. Use a name of 1 to 255"):
        ConsumerGroup.open("orders", "billing", leases=MemoryLeases(), worker=name)


@pytest.mark.parametrize("name", ["", "ab", "a" * 256, "bill ing", "billing/orders", None])
def test_the_name_of_an_application(name: Any) -> None:
    """It is that of a table in DynamoDB. So is the name of another table. Errors name the argument."""
    domain = r"is .*\. Use 3 to 255 of the characters a-z, A-Z, 0-9, '_', '-' and '\.'\."
    with pytest.raises(OptionError, match=f"'application' {domain}"):
        ConsumerGroup.open("orders", name, leases=MemoryLeases())
    with pytest.raises(OptionError, match=f"'table' {domain}"):
        DynamoLeases(name or "")
    assert DynamoLeases("billing_1.orders-leases").table


def test_a_malformed_region() -> None:
    """It is an error that names the argument."""
    with pytest.raises(OptionError, match=r"'region' is 'Ireland 1'\. .* Use the name of a region, such as"):
        ConsumerGroup.open("orders", "billing", region="Ireland 1", credentials=KEYS, leases=MemoryLeases())


@pytest.mark.parametrize(
    "start",
    [
        *("BEGINNING", "", '{"shardId-000000000000": "TRIM_HORIZON"}', 5, "5", "AT_TIMESTAMP soon"),
        *('{"kclApplication": "billing"}', '{"kclApplication": 5}', "{"),
    ],
)
def test_errors_of_the_start_name_it(start: Any) -> None:
    """They name the argument and what it accepts, and nothing that only the Spark source has."""
    with pytest.raises(OptionError, match=rf"^'start' is .*\. Use {STARTS_OF_ALL_SHARDS}\.$") as error:
        parse_start(start)
    assert not re.search(r"startingPosition|EARLIEST|JSON|[oO]ption", str(error.value))


def test_a_huge_argument_is_not_shown_whole() -> None:
    """An error shows the start of an argument that is refused."""
    with pytest.raises(OptionError) as caught:
        parse_start("x" * 100_000)
    assert len(str(caught.value)) < 2000


def test_a_group_does_not_start_at_a_saved_offset() -> None:
    """A group continues from its leases, and the error says so."""
    with pytest.raises(
        OffsetError,
        match=r"has version 99\. This release reads versions 1 and 2\. .*A group continues from its leases\.",
    ):
        ConsumerGroup.open("orders", "billing", region=REGION, leases=MemoryLeases(), start='{"version": 99}')


def test_a_group_starts_in_the_past() -> None:
    """A time in the future is an error: the group would read the records of now. Clocks may differ a little."""
    verify_past(AtTimestamp(10_000), 9_000)
    verify_past(Latest(), 0)
    with pytest.raises(
        OptionError, match=r"'start' is AT_TIMESTAMP 1970-01-01 00:00:10 UTC\. Use a time that is past"
    ):
        verify_past(AtTimestamp(10_000), 5_000)


@pytest.mark.parametrize(
    ("setting", "value", "message"),
    [
        ("lease_duration_s", 0.5, "'lease_duration_s' is 0.5. Use 1 to 3,600"),
        ("fetch_interval_s", 0.1, "'fetch_interval_s' is 0.1. Use 0.2 to 3,600"),
        ("max_batch_records", 0, "'max_batch_records' is 0. Use 1 to 1,000,000"),
        ("fetch_threads", 1001, "'fetch_threads' is 1001. Use 1 to 1,000"),
        ("max_fetch_rate_bytes", 0.5, "'max_fetch_rate_bytes' is 0.5. Use 1 or more"),
        ("lease_duration_s", math.nan, "'lease_duration_s' is nan. Use 1 to 3,600"),
        ("lease_duration_s", "10", "'lease_duration_s' is '10'. Use a number"),
        ("hand_over_timeout_s", True, "'hand_over_timeout_s' is True. Use a number"),
        ("max_leases", 2.0, "'max_leases' is 2.0. Use a whole number"),
        ("fetch_threads", True, "'fetch_threads' is True. Use a whole number"),
        ("max_batch_bytes", "1 MiB", "'max_batch_bytes' is '1 MiB'. Use a whole number"),
        ("fail_on_data_loss", "false", "'fail_on_data_loss' is 'false'. Use True or False"),
    ],
)
def test_settings_have_domains(setting: str, value: object, message: str) -> None:
    """A setting outside its domain, or of another type, is an error that names the setting, the domain and the value."""
    with pytest.raises(OptionError, match=f"^{re.escape(message)}[.]$"):
        GroupSettings(**{setting: value})  # type: ignore[arg-type]


def test_every_setting_has_a_domain() -> None:
    """No field accepts a list, and all of them accept their defaults. A number of seconds may be whole."""
    for name in (each.name for each in fields(GroupSettings)):
        with pytest.raises(OptionError, match=rf"'{name}' is \[\]\. Use "):
            GroupSettings(**{name: []})  # type: ignore[arg-type]
    assert GroupSettings(lease_duration_s=5).lease_duration_s == 5


def test_no_repr_shows_a_secret() -> None:
    """Keys that are given to `SendTo` stay hidden, and leases in memory do not show their items."""
    keys = StaticKeys("AKIAEXAMPLE", "do-not-tell")
    assert "do-not-tell" not in repr(SendTo("orders-dead", credentials=keys))
    assert repr(MemoryLeases()) == "MemoryLeases()"


OPENED: dict[str, Any] = {"leases": MemoryLeases(), "region": REGION, "credentials": KEYS}


@pytest.mark.parametrize(
    ("argument", "value", "domain"),
    [
        (
            "leases",
            MemoryLeases,
            "DynamoLeases(), SqliteLeases('leases.db'), MemoryLeases(), or the path of a file of SQLite",
        ),
        (
            "leases",
            5,
            "DynamoLeases(), SqliteLeases('leases.db'), MemoryLeases(), or the path of a file of SQLite",
        ),
        ("region", 5, "the name of a region, such as eu-west-1"),
        ("endpoint_url", "localhost:4566", "an http or https URL, such as http://127.0.0.1:4567"),
        ("wire_format", "json", "WireFormat.JSON or WireFormat.CBOR"),
        ("consumer", "", "the name or ARN of a consumer"),
        ("consumer", 5, "the name or ARN of a consumer"),
        ("settings", {"max_leases": 5}, "GroupSettings(...)"),
        ("callbacks", print, "Callbacks(...)"),
    ],
)
def test_every_argument_has_a_domain(argument: str, value: Any, domain: str) -> None:
    """What it does not accept is an error before any call, which names the argument, what it accepts, and what it got."""
    with pytest.raises(OptionError, match=re.escape(f"'{argument}' is {value!r}. Use {domain}.") + "$"):
        ConsumerGroup.open("orders", "billing", **{**OPENED, argument: value})


def test_credentials_are_not_shown() -> None:
    """A pair of keys, as boto3 takes them, is an error that does not repeat them."""
    with pytest.raises(OptionError, match=r"^'credentials' is of type tuple\. Use .* Profile\(\.\.\.\)\.$"):
        ConsumerGroup.open("orders", "billing", **{**OPENED, "credentials": (KEY_ID, SECRET)})


@pytest.mark.parametrize("path", ["leases.db", Path("leases.db")])
def test_a_path_is_a_file_of_sqlite(path: str | Path) -> None:
    """So nobody has to import the class for it. Nothing is DynamoDB, and a store stays as it is."""
    assert parse_store(path) == SqliteLeases(path)
    assert parse_store(None) == DynamoLeases()
    assert parse_store(OPENED["leases"]) is OPENED["leases"]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: SqliteLeases(""), "'path' is ''. Use the path of a file."),
        (lambda: SqliteLeases(5), "'path' is 5. Use the path of a file."),  # type: ignore[arg-type]
        (lambda: parse_store(""), "'path' is ''. Use the path of a file."),
        (
            lambda: DynamoLeases(endpoint_url="localhost:8000"),
            "'endpoint_url' is 'localhost:8000'. Use an http or https URL, such as http://127.0.0.1:4567.",
        ),
        (lambda: DynamoLeases(add_index=1), "'add_index' is 1. Use True or False."),  # type: ignore[arg-type]
        (lambda: SendTo(""), "'stream' is ''. Use the name or ARN of a stream."),
        (
            lambda: SendTo("dead", endpoint_url="localhost"),
            "'endpoint_url' is 'localhost'. Use an http or https URL, such as http://127.0.0.1:4567.",
        ),
        (lambda: Callbacks(metric=5), "'metric' is 5. Use a function."),  # type: ignore[arg-type]
    ],
)
def test_values_for_a_group_have_domains(make: Callable[[], object], message: str) -> None:
    """They are verified where they are made, and not when they are used."""
    with pytest.raises(OptionError, match=f"^{re.escape(message)}$"):
        make()


@pytest.mark.parametrize("name", [each.name for each in fields(Callbacks)])
def test_every_callback_is_a_function(name: str) -> None:
    """Another value would end the group when it is called."""
    with pytest.raises(OptionError, match=f"'{name}' is None. Use a function"):
        Callbacks(**{name: None})  # type: ignore[arg-type]
