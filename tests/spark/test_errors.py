"""Bad input: an error at load() or start() that says what to do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pyspark.sql import SparkSession

from kinesis_emulator import Emulator
from support.ports import refusing_port
from support.spark_harness import Query
from support.streams import SECRET, StreamUnderTest

pytestmark = pytest.mark.tests

MakeQuery = Callable[..., Query]
Fails = Callable[[dict[str, Any]], str]


@pytest.fixture
def load_fails(spark: SparkSession) -> Fails:
    """Return a function that loads with given options and returns the text of the error."""

    def load_fails(options: dict[str, Any]) -> str:
        with pytest.raises(Exception) as caught:  # noqa: PT011 - Spark's classes differ by version
            spark.readStream.format("kinesis").options(**options).load()
        text = str(caught.value)
        assert "botocore" not in text
        assert SECRET not in text
        return text

    return load_fails


def test_options(stream: StreamUnderTest, load_fails: Fails) -> None:
    """load() refuses an unknown option, with the nearest name."""
    text = load_fails(stream.options(maxRecordPerFetch="10"))
    assert "Unknown option 'maxrecordperfetch'. Did you mean 'maxRecordsPerFetch'?" in text


def test_missing_stream(stream: StreamUnderTest, load_fails: Fails) -> None:
    """A stream that does not exist is an error at load() with AWS's code and request id."""
    text = load_fails(stream.options(streamName="absent"))
    assert "StreamNotFoundError" in text
    assert "ResourceNotFoundException" in text
    assert "Check streamName or streamARN, the region, the account and endpointUrl" in text
    assert "stream=absent" in text


def test_unreachable_endpoint(stream: StreamUnderTest, load_fails: Fails) -> None:
    """An endpoint where nobody listens is an error at load() that names it."""
    with refusing_port() as port:
        url = f"http://127.0.0.1:{port}"
        text = load_fails(stream.options(endpointUrl=url))
    assert url in text
    assert "Check endpointUrl, region, network and proxy" in text


def test_schema(stream: StreamUnderTest, make_query: MakeQuery) -> None:
    """An unknown column in .schema() is an error when the query starts, the earliest moment that Spark allows."""
    query = make_query(stream.options(), schema="data binary, Key string")
    with pytest.raises(Exception, match="Unknown column 'Key'"):
        query.start().process_all()


def test_missing_stream_with_a_schema(stream: StreamUnderTest, make_query: MakeQuery) -> None:
    """With a schema of the user's, Spark calls nothing at load(), so a missing stream is an error when the query starts."""
    query = make_query(stream.options(streamName="absent"), schema="data binary")
    with pytest.raises(Exception, match="Check streamName or streamARN"):
        query.start().process_all()


def test_offset_of_another_stream(emulator: Emulator, stream: StreamUnderTest, make_query: MakeQuery) -> None:
    """A checkpoint of another stream is refused, with the names of both streams."""
    emulator.create_stream("another")
    stream.put("one")
    query = make_query(stream.options()).start().wait_for_rows(1).stop()
    query.options["streamName"] = "another"
    with pytest.raises(Exception, match="The saved offset is of the streams") as caught:
        query.start().process_all()
    assert stream.name in str(caught.value)
    assert "another" in str(caught.value)
