"""All names of other connectors, as their pages have them: what each does here, in the source and in the sink."""

from __future__ import annotations

import pytest

from kinesis_core.errors import OptionError
from kinesis_core.options import Hint, IgnoredOption, OptionTable, Unsupported, aliases_of
from kinesis_core.options.option import find_name, normalise
from spark_kinesis_sink.options import SINK_OPTIONS
from spark_kinesis_source.options import SOURCE_OPTIONS, SourceOptions
from spark_kinesis_source.options.fan_out import FanOutOptions

HALVES = {"source": SOURCE_OPTIONS, "sink": SINK_OPTIONS}
OTHER_HALF = {"source": "it is an option of the sink.", "sink": "it is an option of the source."}
ARN = "arn:aws:kinesis:us-east-1:111111111111:stream/orders"
CONSUMER = f"{ARN}/consumer/me:1700000000"
ROLE = "arn:aws:iam::111111111111:role/reader"

# The name and a value of Glue's documentation; our option and its value, or a part of the reason for the log.
GLUE_READS = [
    ("streamName", "orders", "streamName", ("orders",)),
    ("failOnDataLoss", "False", "failOnDataLoss", False),
    ("maxFetchTimeInMs", "1000", "maxBytesPerShard", 2 * 1024 * 1024),
    ("maxFetchRecordsPerShard", "100000", "maxRecordsPerShard", 100_000),
    ("maxRecordPerRead", "5000", "maxRecordsPerFetch", 5_000),
    ("addIdleTimeBetweenReads", "True", "addIdleTimeBetweenReads", True),
    ("idleTimeBetweenReadsInMs", "1000", "idleTimeBetweenReadsInMs", 1.0),
    ("describeShardInterval", "1s", "shardDiscoveryInterval", 1.0),
    ("numRetries", "3", "maxRetries", 3),
    ("retryIntervalMs", "1000", "retryInterval", 1.0),
    ("maxRetryIntervalMs", "10000", "maxRetryInterval", 10.0),
    ("fanoutConsumerARN", CONSUMER, "consumerARN", (CONSUMER,)),
    ("avoidEmptyBatches", "False", None, "runs no batches"),
    ("typeOfData", "kinesis", None, "the format says"),
    ("classification", "json", None, "from_json"),
    ("delimiter", ",", None, "from_json"),
    ("inferSchema", "true", None, "from_json"),
    ("schema", "`column1` INT, `column2` STRING", None, "from_json"),
    ("avroSchema", '{"type": "array"}', None, "from_json"),
    ("addRecordTimestamp", "true", None, "the column approximateArrivalTimestamp"),
    ("emitConsumerLagMetrics", "true", None, "the event batch.planned has the lag"),
]
GLUE_WRITES = [
    ("recordMaxBufferedTime", "1000", "recordMaxBufferedTimeMs", 1.0),
    ("aggregationEnabled", "true", "aggregationEnabled", True),
    ("aggregationMaxSize", "51200", "aggregationMaxSize", 51_200),
    ("aggregationMaxCount", "4294967295", None, "aggregationMaxSize alone"),
    ("producerRateLimit", "150", None, "a shard that throttles"),
    ("collectionMaxCount", "500", None, "as large as Kinesis allows"),
    ("collectionMaxSize", "5242880", None, "as large as Kinesis allows"),
]
GLUE_BOTH = [
    ("streamARN", ARN, "streamARN", (ARN,)),
    ("endpointUrl", "https://kinesis.us-east-1.amazonaws.com", "endpointUrl", None),
    ("awsSTSRoleARN", ROLE, "stsRoleArn", None),
    ("awsSTSSessionName", "session", "stsSessionName", None),
    ("awsSTSEndpoint", "https://sts.us-east-1.amazonaws.com", "stsEndpointUrl", None),
]
Row = tuple[str, str, str | None, object]


def rows_of(half: str) -> list[Row]:
    return [*(GLUE_READS if half == "source" else GLUE_WRITES), *GLUE_BOTH]


@pytest.mark.parametrize("spell", [str, str.lower, str.upper, "kinesis.{}".format])
@pytest.mark.parametrize(("half", "row"), [(half, row) for half in HALVES for row in rows_of(half)])
def test_names_of_glue(half: str, row: Row, spell: object) -> None:
    """Each name of Glue sets the option of that meaning, in Glue's unit, or the log says what has its place."""
    name, value, ours, expected = row
    table = HALVES[half]
    assert callable(spell)
    values = table.read({spell(name): value})
    if ours is None:
        assert len(values.ignored) == 1
        assert str(expected) in values.ignored[0]
    else:
        option = next(option for option in table.options if option.name == ours)
        assert values.is_given(option)
        assert values[option] == (value if expected is None else expected)


@pytest.mark.parametrize(
    ("half", "name", "value"),
    [
        *(("sink", row[0], row[1]) for row in GLUE_READS if SINK_OPTIONS.find(row[0]) is None),
        *(("source", row[0], row[1]) for row in GLUE_WRITES),
        ("source", "partitionKey", "part1"),
    ],
)
def test_names_of_the_other_half(half: str, name: str, value: str) -> None:
    """A name of one half, given to the other one, has no effect, and the log says whose it is."""
    [line] = HALVES[half].read({name: value}).ignored
    assert line.endswith(OTHER_HALF[half])


@pytest.mark.parametrize(
    "position",
    ["latest", "trim_horizon", "earliest", "LATEST", "2023-04-04T08:00:00-04:00", "2023-04-04T08:00:00Z"],
)
def test_positions_of_glue(position: str) -> None:
    """Each position that Glue documents is accepted."""
    assert SourceOptions.parse({"streamARN": ARN, "startingPosition": position}).starting_position


def fan_out(**given: str) -> FanOutOptions | None:
    return SourceOptions.parse({"streamARN": ARN, **given}).fan_out


def test_glues_consumer_chooses_fan_out() -> None:
    """Glue's name of a consumer chooses fan-out by itself. `consumerType` goes first, and our name alone does not choose it."""
    chosen = fan_out(FanoutConsumerArn=CONSUMER)
    assert chosen is not None
    assert chosen.consumers == {ARN: CONSUMER}
    assert not chosen.deregister_on_stop
    assert fan_out(fanoutConsumerARN=CONSUMER, consumerType="GetRecords") is None
    assert fan_out(consumerARN=CONSUMER) is None
    assert SourceOptions.parse({"streamARN": ARN, "fanoutConsumerARN": CONSUMER}).ignored == ()


def entries_of(table: OptionTable) -> list[Hint | Unsupported | IgnoredOption]:
    return [*table.hints, *table.unsupported, *table.ignored_options]


def names_of(table: OptionTable) -> dict[str, str]:
    """Return what each name sets. Names without effect, unsupported ones and hints stand for themselves."""
    found = {name: name for entry in entries_of(table) for name in entry.names if not name.endswith("*")}
    for option in table.options:
        found |= dict.fromkeys((option.name, *(alias.name for alias in aliases_of(option))), option.name)
    return found


def refusal(table: OptionTable, name: str) -> str:
    with pytest.raises(OptionError) as caught:
        table.read({name: "1"})
    return str(caught.value)


@pytest.mark.parametrize("table", HALVES.values(), ids=HALVES)
def test_a_slip_leads_to_the_name(table: OptionTable) -> None:
    """A name without one of its letters leads back to a name of the same meaning, and the error says the meaning."""
    known = names_of(table)
    by_key = {normalise(name): meaning for name, meaning in known.items()}
    families = tuple(name for entry in entries_of(table) for name in entry.names if name.endswith("*"))
    tried = 0
    for name, meaning in known.items():
        key = normalise(name)
        slip = key[: len(key) // 2] + key[len(key) // 2 + 1 :]
        if len(slip) < 6 or slip in by_key or find_name(slip, families):
            continue
        tried += 1
        said = refusal(table, slip)
        suggested, _, rest = said.partition("Did you mean '")[2].partition("'")
        assert by_key[normalise(suggested)] == meaning or suggested.lower() == name.lower(), said
        assert rest.partition("? ")[2], said
    assert tried > 60


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("maxRecords", "'maxRecordsPerShard' or 'maxRecordsPerTrigger' or 'maxRecordsPerFetch'"),
        ("arn", "'streamARN' or 'stsRoleArn' or 'consumerARN'"),
        ("port", "'proxyPort'"),
        ("ioninterval", ""),
    ],
)
def test_a_part_of_a_name(name: str, options: str) -> None:
    """Whole words of a name lead to all options that have them. Other parts of a name do not."""
    said = f"Did you mean {options}?" if options else "No option has a similar name."
    assert refusal(SOURCE_OPTIONS, name) == f"Unknown option '{name}'. {said}"


@pytest.mark.parametrize("table", HALVES.values(), ids=HALVES)
@pytest.mark.parametrize(
    "name",
    ["efo", "maxRecordsOfRead", "addTimestamp", "emitMetrics", "maxRecordPerCall", "consumerDelay"],
)
def test_no_suggestion_of_another_meaning(table: OptionTable, name: str) -> None:
    """A name that only looks a little like another one leads to none."""
    assert "similar name" in refusal(table, name)
