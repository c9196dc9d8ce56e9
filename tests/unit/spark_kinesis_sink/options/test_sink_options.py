"""The sink's options: every name, every bound, and the errors."""

from __future__ import annotations

import pickle

import pytest

from kinesis_core.aws import StreamRef
from kinesis_core.errors import OptionError
from kinesis_core.options import COMMON_OPTIONS, OptionTable, Origin, aliases_of, read_connection
from kinesis_core.producing import ProducerSettings
from kinesis_credentials import AssumeRole, ProviderClass, StaticKeys
from spark_kinesis_sink.options import SINK_OPTIONS, SinkOptions
from spark_kinesis_sink.options.sink_options import WRITING

LEAST = {"streamName": "orders", "region": "eu-west-1"}
ARN = "arn:aws:kinesis:us-west-2:123456789012:stream/audit"


def parse(**given: str | None) -> SinkOptions:
    return SinkOptions.parse({**LEAST, **given})


def test_defaults() -> None:
    """Without options of the sink, producers use their own defaults."""
    options = parse()
    assert options.producer == ProducerSettings()
    assert options.stream == StreamRef("orders")
    assert options.freeze_worker_heap
    assert options.ignored == ()


@pytest.mark.parametrize(
    ("name", "value", "setting", "parsed"),
    [
        ("aggregationEnabled", "false", "aggregation_enabled", False),
        ("kinesis.sink.aggregationEnabled", "false", "aggregation_enabled", False),
        ("kinesis.executor.aggregationEnabled", "FALSE", "aggregation_enabled", False),
        ("aggregationMaxSize", "1024", "aggregation_max_size", 1024),
        ("recordMaxBufferedTimeMs", "100", "record_max_buffered_time_s", 0.1),
        ("kinesis.sink.recordMaxBufferedTimeMs", "100", "record_max_buffered_time_s", 0.1),
        ("kinesis.executor.recordMaxBufferedTime", "2500", "record_max_buffered_time_s", 2.5),
        ("recordMaxBufferedTime", "2500", "record_max_buffered_time_s", 2.5),
        ("recordMaxBufferedTimeMs", "2 s", "record_max_buffered_time_s", 2.0),
        ("maxConnections", "8", "max_connections", 8),
        ("kinesis.sink.maxConnections", "1", "max_connections", 1),
        ("kinesis.executor.maxConnections", "100", "max_connections", 32),
        ("recordTtlMs", "60000", "record_ttl_s", 60.0),
        ("kinesis.sink.recordTtl", "1000", "record_ttl_s", 1.0),
        ("KINESIS.SINK.RECORDTTL", "1000", "record_ttl_s", 1.0),
        ("sink.recordTtl", "1000", "record_ttl_s", 1.0),
    ],
)
def test_names(name: str, value: str, setting: str, parsed: object) -> None:
    """Every name of every connector sets the producer's setting, case-insensitively, with or without the prefix."""
    assert getattr(parse(**{name: value}).producer, setting) == parsed


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"aggregationEnabled": "yes"}, "Option 'aggregationEnabled' is 'yes'. Use true or false."),
        ({"aggregationMaxSize": "63"}, "Option 'aggregationMaxSize' is '63'. Use 64 to 10485760 bytes."),
        ({"maxConnections": "0"}, "Option 'maxConnections' is '0'. Use 1 to 256 requests."),
        (
            {"kinesis.sink.maxConnections": "x"},
            "Option 'kinesis.sink.maxConnections' ('maxConnections' here) is 'x'. Use 1 to 256 requests.",
        ),
        (
            {"recordTtlMs": "0"},
            "Option 'recordTtlMs' is '0'. Use a duration of 100 ms to 1 d (milliseconds when no unit is given).",
        ),
        (
            {"recordMaxBufferedTimeMs": "1 h"},
            "Option 'recordMaxBufferedTimeMs' is '1 h'. Use a duration of 0 s to 5 m (milliseconds when no unit is given).",
        ),
        (
            {"recordTtlMs": "1000", "kinesis.sink.recordTtl": "2000"},
            "Options 'recordTtlMs' and 'kinesis.sink.recordTtl' set the same thing to different values "
            "('1000' and '2000'). Keep one of them.",
        ),
        (
            {"recordTtl": "1000"},
            "Unknown option 'recordTtl'. Did you mean 'recordTtlMs'? For how long the requests for a shard may fail.",
        ),
        (
            {"agregationEnabled": "true"},
            "Unknown option 'agregationEnabled'. Did you mean 'aggregationEnabled'? Whether rows are packed into aggregates, as "
            "the KPL does.",
        ),
        (
            {"PartitionKey": "part1"},
            "Option 'partitionKey' needs one partition key for all rows, which this version does not support. Give each row its "
            "key in a column 'partitionKey', for example .withColumn('partitionKey', lit('part1')).",
        ),
        (
            {"streamName": "a,b"},
            "Option 'streamName' names 2 streams; a sink writes all rows to one. Name one stream, or leave the option "
            "out and name the stream of each row in a column 'streamName'.",
        ),
        (
            {"streamName": None, "streamARN": f"{ARN},{ARN}-2", "region": None},
            "Option 'streamARN' names 2 streams; a sink writes all rows to one. Name one stream, or leave the option "
            "out and name the stream of each row in a column 'streamName'.",
        ),
    ],
)
def test_refusals(given: dict[str, str | None], message: str) -> None:
    """A bad option is an error that names the option, its domain and the value."""
    with pytest.raises(OptionError) as caught:
        parse(**given)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("name", "value", "setting", "parsed", "shown"),
    [
        ("kinesis.sink.recordTtl", "172800000", "record_ttl_s", 86_400.0, "1 d"),
        ("kinesis.sink.recordTtl", "9223372036854775807", "record_ttl_s", 86_400.0, "1 d"),
        ("kinesis.sink.recordMaxBufferedTimeMs", "600000", "record_max_buffered_time_s", 300.0, "5 m"),
    ],
)
def test_values_of_awslabs(name: str, value: str, setting: str, parsed: object, shown: str) -> None:
    """A value that only awslabs accepts counts as the nearest accepted one, and the log says so."""
    options = parse(**{name: value})
    assert getattr(options.producer, setting) == parsed
    assert options.ignored == (f"Option '{name}' set to '{value}' counts as {shown}, the nearest value.",)


@pytest.mark.parametrize(
    "given",
    [{"recordTtlMs": "172800000"}, {"kinesis.sink.recordTtl": "99"}, {"kinesis.sink.recordTtl": "-1"}],
)
def test_values_that_stay_refused(given: dict[str, str]) -> None:
    """Values outside the domain of our own names are refused, and so are those that awslabs refuses."""
    with pytest.raises(OptionError, match=r"is '.*'\. Use a duration of 100 ms to 1 d"):
        parse(**given)


def test_heap_left_alone() -> None:
    """The sink has the option freezeWorkerHeap, as the source has."""
    assert not parse(freezeWorkerHeap="false").freeze_worker_heap


def test_connection() -> None:
    """The options for credentials, proxy and regions are those of the source."""
    given = {
        "streamName": "audit",
        "kinesis.region": "us-west-2",
        "kinesis.kinesisRegion": "eu-west-1",
        "credentialProviderClass": "company.aws.Vault",
        "credentialProviderParam": "s3cr3t",
        "stsRoleArn": "arn:aws:iam::123456789012:role/writer",
        "stsSessionName": "tests",
        "kinesis.sink.proxyAddress": "proxy",
    }
    connection = SinkOptions.parse(given).connection
    assert connection == read_connection(OptionTable(COMMON_OPTIONS).read(given))
    base = ProviderClass("company.aws.Vault", "s3cr3t")
    assert connection.credentials == AssumeRole(base, "arn:aws:iam::123456789012:role/writer", "tests")
    assert connection.proxy_url == "http://proxy:443"
    assert connection.region_of(StreamRef("audit")) == "eu-west-1"


def test_stream_by_arn() -> None:
    """The region is taken from the ARN of the stream."""
    options = SinkOptions.parse({"streamARN": ARN})
    assert options.stream == StreamRef("audit", ARN)
    assert options.connection.region == "us-west-2"


def test_no_stream() -> None:
    """Without a stream in the options, each row names its stream."""
    assert SinkOptions.parse({"region": "eu-west-1"}).stream is None


@pytest.mark.parametrize(
    "name",
    [
        name.replace("*", "anything")
        for ignored_options in SINK_OPTIONS.ignored_options
        for name in ignored_options.names
    ],
)
def test_not_needed(name: str) -> None:
    """A name without effect is accepted, and one line in the log says why."""
    [reason] = parse(**{name: "1"}).ignored
    assert reason.startswith(f"Option '{name}' has no effect here: ")


def test_misspelt_flush_wait() -> None:
    """qubole's misspelt name for the flush wait is accepted."""
    [reason] = parse(**{"kniesis.executor.flushwaittimemillis": "100"}).ignored
    assert "a task waits until its rows are written" in reason


def test_path() -> None:
    """The argument of save() or start() is ignored, and the log says so."""
    [reason] = parse(path="s3://bucket/somewhere").ignored
    assert reason.startswith("The argument of save() or start() is ignored")


def test_options_of_the_source() -> None:
    """Every name that the source accepts is accepted by the sink, so that one configuration serves both."""
    pytest.importorskip("spark_kinesis_source")
    from spark_kinesis_source.options import SOURCE_OPTIONS

    names = [option.name for option in SOURCE_OPTIONS.options]
    names += [alias.name for option in SOURCE_OPTIONS.options for alias in aliases_of(option)]
    names += [name for entry in SOURCE_OPTIONS.unsupported for name in entry.names]
    foreign = [
        name for entry in SOURCE_OPTIONS.ignored_options for name in entry.names if name != "kinesis.sink.*"
    ]
    names += [name.replace("*", "x") for name in foreign]
    unknown = [name for name in names if _is_unknown(name)]
    assert unknown == []


def _is_unknown(name: str) -> bool:
    try:
        parse(**{name: "1"})
    except OptionError as error:
        return "Unknown option" in str(error)
    return False


def test_travels() -> None:
    """Options pickle, keys included, and their repr shows no secret."""
    options = parse(awsAccessKeyId="AKIDEXAMPLE", awsSecretKey="s3cr3t")
    copy = pickle.loads(pickle.dumps(options))  # noqa: S301 - our own bytes
    assert copy == options
    assert hash(copy) == hash(options)
    assert copy.connection.credentials == StaticKeys("AKIDEXAMPLE", "s3cr3t")
    assert "s3cr3t" not in repr(options)


def test_origins() -> None:
    """The options have names of all connectors that have a sink."""
    origins = {alias.origin for option in WRITING.options for alias in aliases_of(option)}
    assert origins == {Origin.AWSLABS, Origin.QUBOLE, Origin.GLUE}
