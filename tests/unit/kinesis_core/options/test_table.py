"""Tables of options: names in every spelling, and refusals that say what to do."""

from __future__ import annotations

import pytest
from attrs import evolve

from kinesis_core.errors import OptionError
from kinesis_core.options import (
    Hint,
    IgnoredOption,
    Option,
    OptionTable,
    Unsupported,
    duration,
    integer,
    text,
)

FETCH = Option[int](
    name="maxRecordsPerFetch",
    meaning="How many records one call returns at most.",
    parser=integer(1, 10_000, "records"),
    default=10_000,
    group="How much",
)
INTERVAL = Option[float](
    name="retryInterval",
    meaning="The wait before a retry.",
    parser=duration(0, 60, "s"),
    default=1.0,
    group="Retries",
)
SECRET = Option[str | None](
    name="awsSecretKey",
    meaning="The secret.",
    parser=text("the secret of an access key"),
    default=None,
    group="Credentials",
    is_secret=True,
)
TABLE = OptionTable(
    options=(FETCH, INTERVAL, SECRET),
    unsupported=(
        Unsupported(names=("stsRoleArn", "roleArn"), feature="assuming a role", instead="Use a profile."),
        Unsupported(
            names=("consumerType",),
            feature="enhanced fan-out",
            accepted=("GetRecords",),
            refused=("SubscribeToShard",),
            accepted_reason="it is always so",
        ),
    ),
    ignored_options=(
        IgnoredOption(("metadataPath", "kinesis.internal.*"), "Spark's checkpoint holds all progress"),
    ),
    let_through=("path", "checkpointlocation"),
    hints=(Hint(("startingOffsets",), "Use `startingPosition`."), Hint(("kafka.*",), "Leave it out.")),
)


RETRIES = Option[int](
    name="maxRetries",
    meaning="How often a call is retried.",
    parser=integer(0, 100, "retries"),
    default=5,
    group="Retries",
)


def test_value_that_counts_as_the_nearest() -> None:
    """A value that another connector accepts counts as our nearest one, and the log says so. By our name it is refused."""
    table = OptionTable((RETRIES,))
    values = table.read({"KINESIS.clientNumRetries": "1000"})
    assert values[RETRIES] == 100
    assert values.ignored == (
        "Option 'KINESIS.clientNumRetries' set to '1000' counts as 100, the nearest value.",
    )
    assert table.read({"clientNumRetries": "100"}).ignored == ()
    assert table.read({"clientNumRetries": "1000", "maxRetries": "100"})[RETRIES] == 100
    with pytest.raises(OptionError, match=r"'maxRetries' is '1000'\. Use 0 to 100 retries."):
        table.read({"maxRetries": "1000"})


def test_defaults() -> None:
    """An option that is not given, or given as None, has its default."""
    values = TABLE.read({"maxRecordsPerFetch": None})
    assert (values[FETCH], values[INTERVAL], values[SECRET]) == (10_000, 1.0, None)
    assert not values.is_given(FETCH)


@pytest.mark.parametrize(
    "name",
    [
        "maxRecordsPerFetch",
        "maxrecordsperfetch",
        "KINESIS.MAXRECORDSPERFETCH",
        "kinesis.getRecords.numberOfRecordsPerFetch",
        "getrecords.numberofrecordsperfetch",
    ],
)
def test_spellings(name: str) -> None:
    """A name works in any case, with or without the prefix, and so do the names of other connectors."""
    values = TABLE.read({name: "5"})
    assert values[FETCH] == 5
    assert values.is_given(FETCH)


@pytest.mark.parametrize("value", ["5", " 5 ", 5])
def test_python_values(value: object) -> None:
    """Plain Python passes numbers as well as text."""
    assert TABLE.read({"maxRecordsPerFetch": value})[FETCH] == 5


def test_alias_with_its_own_unit() -> None:
    """Another connector's name is read in that connector's unit."""
    assert TABLE.read({"kinesis.client.retryIntervalMs": "1500"})[INTERVAL] == 1.5


def test_equal_values() -> None:
    """Two names of one option may have equal values."""
    assert TABLE.read({"retryInterval": "2 s", "client.retryIntervalMs": "2000"})[INTERVAL] == 2.0


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"maxrecordperfetch": "1"},
            "Unknown option 'maxrecordperfetch'. Did you mean 'maxRecordsPerFetch'? How many records one call returns at most.",
        ),
        (
            {"kinesis.metadatapaht": "1"},
            "Unknown option 'kinesis.metadatapaht'. Did you mean 'metadataPath'? It has no effect here: Spark's checkpoint "
            "holds all progress.",
        ),
        (
            {"maxRecordPerReed": "1"},
            "Unknown option 'maxRecordPerReed'. Did you mean 'maxRecordPerRead' ('maxRecordsPerFetch' here)? How many records "
            "one call returns at most.",
        ),
        (
            {"stsRolArn": "x"},
            "Unknown option 'stsRolArn'. Did you mean 'stsRoleArn'? It needs assuming a role, which this version does not "
            "support.",
        ),
        (
            {"startingOffset": "x"},
            "Unknown option 'startingOffset'. Did you mean 'startingOffsets'? Use 'startingPosition'.",
        ),
        ({"retry": "1"}, "Unknown option 'retry'. Did you mean 'retryInterval'?"),
        ({"": "1"}, "Unknown option ''. No option has a similar name."),
        ({"zzz": "1"}, "Unknown option 'zzz'. No option has a similar name."),
        ({"maxRecordsPerFetch": "0"}, "Option 'maxRecordsPerFetch' is '0'. Use 1 to 10000 records."),
        (
            {"getrecords.numberofrecordsperfetch": "many"},
            "Option 'kinesis.getRecords.numberOfRecordsPerFetch' ('maxRecordsPerFetch' here) is 'many'. Use 1 to 10000 "
            "records.",
        ),
        (
            {"retryInterval": "1 week"},
            "Option 'retryInterval' is '1 week'. The units are ms, s, m, h and d. "
            "Use a duration of 0 s to 1 m (seconds when no unit is given).",
        ),
        (
            {"retryInterval": "2 s", "client.retryIntervalMs": "2"},
            "Options 'retryInterval' and 'client.retryIntervalMs' set the same thing to different values "
            "('2 s' and '2'). Keep one of them.",
        ),
        (
            {"awsSecretKey": "s3cr3t", "kinesis.awsSecretKey": "0ther"},
            "Options 'awsSecretKey' and 'kinesis.awsSecretKey' set the same thing to different values. "
            "Keep one of them.",
        ),
        (
            {"awsSecretKey": ""},
            "Option 'awsSecretKey' has a value that is not accepted, and not shown. Use the secret of an access key.",
        ),
        (
            {"rolearn": "arn:aws:iam::123456789012:role/x"},
            "Option 'roleArn' needs assuming a role, which this version does not support. Use a profile.",
        ),
        (
            {"kinesis.consumertype": "subscribetoshard"},
            "Option 'consumerType' set to 'subscribetoshard' needs enhanced fan-out, which this version does not support.",
        ),
        (
            {"consumerType": "push"},
            "Option 'consumerType' is 'push'. Use GetRecords, SubscribeToShard.",
        ),
        (
            {"maxRecordsPerFetch": "9" * 500},
            f"Option 'maxRecordsPerFetch' is '{'9' * 120}...'. Use 1 to 10000 records.",
        ),
    ],
)
def test_refusals(given: dict[str, object], message: str) -> None:
    """A refusal names option, domain and value, and what to do. It never has a secret."""
    with pytest.raises(OptionError) as caught:
        TABLE.read(given)
    assert str(caught.value) == message
    assert caught.value.__cause__ is None


def test_names_without_effect() -> None:
    """A name without effect here is accepted, and one line in the log says why."""
    values = TABLE.read({"kinesis.metadataPath": "/x", "internal.queue": "7", "consumerType": "getrecords"})
    assert values.ignored == (
        "Option 'kinesis.metadataPath' has no effect here: Spark's checkpoint holds all progress.",
        "Option 'internal.queue' has no effect here: Spark's checkpoint holds all progress.",
        "Option 'consumerType' has no effect here: it is always so.",
    )


def test_blank_unsupported() -> None:
    """A blank value counts as not given, as in the other connectors."""
    assert TABLE.read({"stsRoleArn": ""}).ignored == ()


def test_what_spark_adds() -> None:
    """Spark's own names are accepted without a line. Only the argument of load() gets one, because it has no effect."""
    values = TABLE.read({"checkpointLocation": "/x", "path": "orders"})
    assert values.path == "orders"
    assert values.ignored == (
        "The argument of load() is not used: 'streamName' or 'streamARN' names the stream.",
    )


def test_repr() -> None:
    """The repr of values shows no secret."""
    assert "s3cr3t" not in repr(TABLE.read({"awsSecretKey": "s3cr3t"}))


def test_declared_twice() -> None:
    """One name cannot be declared for two options."""
    with pytest.raises(ValueError, match="'maxRecordsPerFetch' is declared for two options"):
        OptionTable(options=(FETCH, Option("maxRecordsPerFetch", "", integer(0, 1), 0, "How much")))


@pytest.mark.parametrize("names", [("retryInterval", "KINESIS.retryInterval"), ("client.retryIntervalMs",)])
def test_spellings_of_the_user(names: tuple[str, ...]) -> None:
    """The names that the user wrote are known, all of them, in their order."""
    values = TABLE.read(dict.fromkeys(names, "2 s"))
    assert values.spellings(INTERVAL) == names
    assert values.spellings(FETCH) == ()


@pytest.mark.parametrize("names", [("awsSecretKey", "kinesis.awsSecretKey"), ("kinesis.awsSecretKey",)])
def test_spelled(names: tuple[str, ...]) -> None:
    """An option is spelled by a name if any of the names that the user wrote is a spelling of it."""
    values = TABLE.read(dict.fromkeys(names, "s3cr3t"))
    assert values.is_spelled(SECRET, "AWSSECRETKEY")
    assert not values.is_spelled(SECRET, "awsSecret")


def test_derived_default() -> None:
    """The page shows a default value as its parser does."""
    assert (FETCH.shown_default, INTERVAL.shown_default) == ("10000 records", "1 s")


def test_default_in_words() -> None:
    """Words are shown for a default that is no value, and are not used for one that is a value."""
    assert SECRET.shown_default == "not set"
    assert evolve(FETCH, default_text="many").shown_default == "10000 records"
