"""The listener in Spark: what a scrape of Prometheus and OpenTelemetry's reader find while queries run."""

from __future__ import annotations

import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.parser import text_string_to_metric_families
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from kinesis_emulator import Emulator, Limits, ManualClock, Settings
from spark_kinesis_source.data_source import HAS_ADMISSION_CONTROL
from spark_kinesis_source.metrics import OpenTelemetryExporter, PrometheusExporter, QueryMetrics
from support.spark_harness import Query
from support.streams import StreamUnderTest
from support.waiting import PATIENCE_S, wait_until

pytestmark = pytest.mark.all_sparks
MakeQuery = Callable[..., Query]
HOUR_S = 3600


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(time.time())


@pytest.fixture
def emulator(clock: ManualClock) -> Iterator[Emulator]:
    """A Kinesis with a clock that the test sets, in whose time no status would pass."""
    settings = Settings(limits=Limits.unlimited(), stream_creating_s=0, stream_updating_s=0)
    with Emulator(settings=settings, clock=clock) as running:
        yield running


class Scraped:
    """The listener with an HTTP endpoint and a reader of OpenTelemetry."""

    def __init__(self) -> None:
        registry = CollectorRegistry()
        self.reader = InMemoryMetricReader()
        exporters = PrometheusExporter(registry), OpenTelemetryExporter(MeterProvider([self.reader]))
        self.listener = QueryMetrics(*exporters, queries=("hanging",))
        self.server, self._thread = start_http_server(0, addr="127.0.0.1", registry=registry)

    def values(self, stream: str) -> dict[str, float]:
        """Return the values of all series but buckets, as Prometheus' own parser reads them."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.server.server_port}/metrics") as response:
            families = text_string_to_metric_families(response.read().decode())
        samples = [sample for family in families for sample in family.samples]
        assert all(s.labels.get("stream", stream) == stream for s in samples)
        return {
            s.name: s.value for s in samples if not s.name.endswith("_bucket") and "phase" not in s.labels
        }

    def names_in_open_telemetry(self) -> set[str]:
        data = self.reader.get_metrics_data()
        assert data is not None
        scopes = [scope for resource in data.resource_metrics for scope in resource.scope_metrics]
        return {metric.name for scope in scopes for metric in scope.metrics if metric.data.data_points}

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()
        self._thread.join()


@pytest.fixture
def scraped(spark: SparkSession) -> Iterator[Scraped]:
    made = Scraped()
    spark.streams.addListener(made.listener)
    yield made
    spark.streams.removeListener(made.listener)
    made.close()


def test_a_query_that_falls_behind(
    clock: ManualClock, stream: StreamUnderTest, make_query: MakeQuery, scraped: Scraped
) -> None:
    """
    A running query has lag, retention, rows and batches. Each name of Prometheus has one in OpenTelemetry. When the query has
    stopped, only its totals and its end are left. Spark 4.0 and 4.1 have no lag.
    """
    stream.put_numbers(4)
    clock.advance(2 * HOUR_S)
    stream.put_numbers(4)
    query = make_query(stream.options(maxRecordsPerShard=4)).start().wait_for_rows(8)
    wait_until(
        lambda: scraped.values(stream.name).get("kinesis_rows_total") == 8,
        lambda: scraped.values(stream.name),
    )
    values = scraped.values(stream.name)
    assert values["kinesis_query_running"] == 1
    assert values["kinesis_batch_duration_seconds_count"] == len(query.commits())
    assert values["kinesis_batch_number"] == query.commits()[-1]
    assert (
        values["kinesis_batch_finished_timestamp_seconds"] > values["kinesis_query_planned_timestamp_seconds"]
    )
    if HAS_ADMISSION_CONTROL:
        assert values["kinesis_lag_seconds"] == 0
        assert values["kinesis_retention_seconds"] == 24 * HOUR_S
        assert values["kinesis_data_losses_total"] == 0
    names = scraped.names_in_open_telemetry()
    assert {"kinesis.rows", "kinesis.batch.duration", "kinesis.query.running"} <= names
    assert ("kinesis.lag" in names) == HAS_ADMISSION_CONTROL
    query.stop()
    wait_until(
        lambda: scraped.values(stream.name)["kinesis_query_running"] == 0, lambda: scraped.values(stream.name)
    )
    left = {
        name
        for name in scraped.values(stream.name)
        if not name.endswith(("_total", "_count", "_sum", "_created"))
    }
    assert left == {"kinesis_query_running"}


def test_losses_and_failures(
    clock: ManualClock, stream: StreamUnderTest, make_query: MakeQuery, scraped: Scraped
) -> None:
    """
    A query that a loss stops counts as failed. With failOnDataLoss=false the loss is counted instead, from Spark 4.2 on: the
    planner, which logs it, is another process.
    """
    stream.put_numbers(5)
    query = make_query(stream.options()).start().wait_for_rows(5).stop()
    stream.put_numbers(5)
    clock.advance(25 * HOUR_S)
    stream.put_numbers(2)
    with pytest.raises(Exception, match="DataLossError"):
        query.start().wait(lambda: False, "error")
    wait_until(
        lambda: scraped.values(stream.name).get("kinesis_query_failures_total") == 1 + query.failed_starts,
        lambda: scraped.values(stream.name),
    )
    query.options["failOnDataLoss"] = "false"
    query.start().wait_for_rows(7)
    wait_until(
        lambda: scraped.values(stream.name).get("kinesis_rows_total") == 7,
        lambda: scraped.values(stream.name),
    )
    values = scraped.values(stream.name)
    assert values["kinesis_query_failures_total"] == 1 + query.failed_starts
    assert values.get("kinesis_data_losses_total") == (1 if HAS_ADMISSION_CONTROL else None)


def test_a_first_batch_that_hangs(
    stream: StreamUnderTest, make_query: MakeQuery, scraped: Scraped, tmp_path: Path
) -> None:
    """A query that the program names has a time when `start()` returns, while its first batch has not ended."""
    stream.put_numbers(4)
    frame, released = make_query(stream.options()).frame(), Event()

    def hang(_frame: DataFrame, _batch: int) -> None:
        released.wait(PATIENCE_S)

    writer = frame.writeStream.queryName("hanging").option("checkpointLocation", str(tmp_path / "hanging"))
    query = writer.foreachBatch(hang).start()
    try:
        values = scraped.values(stream.name)
        assert values.keys() == {"kinesis_query_running", "kinesis_query_planned_timestamp_seconds"}
        assert values["kinesis_query_planned_timestamp_seconds"] == pytest.approx(time.time(), abs=PATIENCE_S)
    finally:
        released.set()
        query.stop()


def test_other_queries(spark: SparkSession, scraped: Scraped) -> None:
    """A query that does not read Kinesis exports nothing."""
    writer = spark.readStream.format("rate").load().writeStream.format("noop")
    query: StreamingQuery = writer.trigger(availableNow=True).start()
    assert query.awaitTermination(int(PATIENCE_S))
    assert scraped.values("") == {}
