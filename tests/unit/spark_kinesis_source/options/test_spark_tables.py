"""The options of a table in Spark's catalog, as Spark passes them."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest

from kinesis_core.errors import OptionError
from kinesis_core.options import (
    COMMON_OPTIONS,
    SPARK_OPTIONS,
    OptionTable,
    as_metadata,
    check_named_stream,
    options_in_metadata,
    options_of_new_table,
    options_of_read,
)
from spark_kinesis_source.options import SOURCE_OPTIONS

TABLE = OptionTable(COMMON_OPTIONS, let_through=SPARK_OPTIONS)
BY_SPARK = {"provider": "kinesis", "owner": "somebody"}
PROPERTIES_OF_SPARK = (
    "bucketing_version",
    "collation",
    "comment",
    "external",
    "is_managed_location",
    "last_modified_by",
    "last_modified_time",
    "location",
    "owner",
    "path",
    "provider",
    "spark.sql.create.version",
    "spark.sql.sources.schema",
    "table_type",
    "transient_lastDdlTime",
)
"""Of its catalogs and of Hive's. tests/spark/test_sql.py asks Spark for those that it reserves."""


def properties(options: Mapping[str, str], **others: str) -> dict[str, str]:
    """Return the properties that Spark makes of the OPTIONS and other parts of CREATE TABLE."""
    return {**BY_SPARK, **options, **{f"option.{name}": value for name, value in options.items()}, **others}


def test_options_of_a_new_table() -> None:
    """Only what stood in OPTIONS is an option: not the comment, the location or TBLPROPERTIES."""
    options = {"streamname": "orders", "kinesis.region": "us-east-1"}
    given = properties(
        options, comment="text", location="file:/x", path="file:/x", external="true", **{"a.b": "c"}
    )
    assert options_of_new_table(given, TABLE) == options


def test_no_table() -> None:
    """Options of load() and of a temporary view are no properties of a table."""
    assert options_of_new_table({"streamname": "orders"}, TABLE) is None


def test_misspelled_option_of_a_table() -> None:
    """A misspelled option is refused when the table is created, by the name that the user wrote."""
    with pytest.raises(OptionError, match="streamName"):
        options_of_new_table(properties({"streamnam": "orders"}), TABLE)


def test_prefix_of_a_table_outside_of_tables() -> None:
    """The prefix that Spark gives to the options of a table is unknown elsewhere."""
    with pytest.raises(OptionError, match=r"^Unknown option 'option\.streamname'"):
        TABLE.read({"option.streamname": "orders"})


def test_table_without_options() -> None:
    """TBLPROPERTIES do not replace OPTIONS."""
    with pytest.raises(OptionError, match="needs OPTIONS"):
        options_of_new_table({**BY_SPARK, "streamname": "orders"}, TABLE)


@pytest.mark.parametrize("written", ["option", "property"])
@pytest.mark.parametrize(
    ("name", "declared"), [("awssecretkey", "awsSecretKey"), ("kinesis.sessiontoken", "sessionToken")]
)
def test_secrets_of_a_table(name: str, declared: str, written: str) -> None:
    """A secret is neither an option nor a property of a table. The error has its name and not its value."""
    options, secret = {"streamname": "orders"}, {name: "sesame"}
    given = properties({**options, **secret}) if written == "option" else properties(options, **secret)
    with pytest.raises(OptionError) as caught:
        options_of_new_table(given, TABLE)
    assert str(caught.value) == (
        f"Option '{declared}' is a secret, and the catalog stores options and TBLPROPERTIES as readable text. Set it with "
        f"each read, as in spark.read.option('{declared}', ...).table('t'), or use a role or a profile."
    )


@pytest.mark.parametrize(
    ("name", "declared"),
    [("maxretries", "maxRetries"), ("kinesis.region", "region"), ("endpoint", "endpointUrl")],
)
def test_option_among_the_properties(name: str, declared: str) -> None:
    """A property with the name of an option has no effect, so it is refused."""
    with pytest.raises(OptionError) as caught:
        options_of_new_table(properties({"streamname": "orders"}, **{name: "3"}), TABLE)
    assert str(caught.value) == (
        f"'{declared}' is an option, and TBLPROPERTIES are not options. Write it in OPTIONS ({declared} '...')."
    )


@pytest.mark.parametrize("name", PROPERTIES_OF_SPARK)
def test_properties_of_spark(name: str) -> None:
    """Properties that Spark adds to tables are accepted. No option has the name of one."""
    options = {"streamname": "orders"}
    assert options_of_new_table(properties(options, **{name: "x"}), TABLE) == options
    assert SOURCE_OPTIONS.find(name) is None


def test_form_in_the_catalog() -> None:
    """The form that catalogs keep does not change: tables that exist stay readable."""
    kept = '{"kinesis.table": {"version": 1, "options": {"streamname": "orders"}}}'
    assert json.dumps(as_metadata({"streamname": "orders"})) == kept
    assert options_in_metadata(json.loads(kept)) == {"streamname": "orders"}
    assert options_in_metadata({"comment": "other metadata"}) == {}


def test_later_form_in_the_catalog() -> None:
    """A table that a later version created is refused."""
    with pytest.raises(OptionError, match="A later version of this package created the table"):
        options_in_metadata({"kinesis.table": {"version": 2, "options": {}}})


@pytest.mark.parametrize(
    "found",
    ["orders", {}, {"version": "1"}, {"version": 1}, {"version": 1, "options": "orders"}, ["version"]],
)
def test_metadata_of_others(found: object) -> None:
    """Metadata of another form under our key is an error that shows it, and no error of Python."""
    with pytest.raises(OptionError, match=r"kinesis\.table"):
        options_in_metadata({"kinesis.table": found})


def test_options_of_a_read() -> None:
    """A read takes the options of the table. Its own options replace them, by whichever name."""
    of_table = {"streamname": "orders", "kinesis.region": "us-east-1", "maxretries": "3"}
    assert options_of_read({}, of_table, TABLE) == of_table
    given = {"region": "eu-west-1"}
    assert options_of_read(given, of_table, TABLE) == {"streamname": "orders", "maxretries": "3", **given}


def test_a_read_of_another_stream() -> None:
    """A read that names a stream takes no option of a table, whose schema may have been copied."""
    given = {"kinesis.streamName": "teas"}
    assert options_of_read(given, {"streamname": "orders", "maxretries": "3"}, TABLE) == given


def test_a_read_without_options() -> None:
    """The error says how a table loses its options."""
    with pytest.raises(
        OptionError, match=r"If you read a table: .* if one of them is a secret, drop the table"
    ):
        options_of_read({}, {}, TABLE)


def test_a_write_to_a_table() -> None:
    """A write names its stream itself if its rows carry the options of a table."""
    for name in ("streamName", "streamname"):
        columns = [("data", {}), (name, as_metadata({"streamname": "orders"}))]
        with pytest.raises(OptionError, match="Name the stream with the write"):
            check_named_stream({}, columns, TABLE)
        check_named_stream({"streamName": "orders"}, columns, TABLE)
    check_named_stream({}, [("streamName", {})], TABLE)


def test_a_renamed_column_of_a_table() -> None:
    """A renamed column keeps the options of its table in Spark, and names no stream."""
    check_named_stream({}, [("origin", as_metadata({"streamname": "orders"})), ("streamName", {})], TABLE)
