"""The Spark queries, as a user of the connector writes them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from attrs import define, field
from pyspark.sql import DataFrame, SparkSession, functions as f
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from demo.counts import WINDOW_S, Copy, Counts

REGION, ACCESS_KEY_ID, SECRET_KEY = "us-east-1", "local", "local"
"""The emulator accepts any values."""
COLUMNS = "data binary, partitionKey string, sequenceNumber string, subSequenceNumber long"
SIGHTING = "number long, city string, at long"
CHECKPOINT = "count"
"""The checkpoint of the query that counts, in the folder."""
TRIGGER = "500 milliseconds"
"""Two queries share the 5 calls per second that AWS allows for a shard."""


@define(eq=False)
class Queries:
    """Two streaming queries on one stream: one counts its records, one copies them to the journal, a second stream."""

    _spark: SparkSession
    _endpoint_url: str
    _stream: str
    _journal: str
    _folder: Path
    """For their checkpoints."""
    _counts: Counts
    _copied: dict[int, int] = field(factory=dict, init=False)
    count: StreamingQuery | None = field(default=None, init=False)
    copy: StreamingQuery | None = field(default=None, init=False)

    @property
    def _where(self) -> dict[str, str]:
        return {
            "region": REGION,
            "endpointUrl": self._endpoint_url,
            "awsAccessKeyId": ACCESS_KEY_ID,
            "awsSecretKey": SECRET_KEY,
        }

    @property
    def both(self) -> list[StreamingQuery]:
        """The queries as they were started last; empty before the first start."""
        return [query for query in (self.count, self.copy) if query is not None]

    def start(self) -> None:
        """Start both queries from their checkpoints."""
        self.count = self._start(CHECKPOINT, self._count_query().foreachBatch(self._set_counted))
        self.copy = self._start("copy", self._copy_query())

    def stop(self) -> None:
        for query in self.both:
            query.stop()

    def copied(self) -> tuple[int, int]:
        """Return the number of copied records and of their batches, as Spark reports them."""
        for progress in self.copy.recentProgress if self.copy else []:
            self._copied[progress.batchId] = progress.numInputRows
        return sum(self._copied.values()), sum(rows > 0 for rows in self._copied.values())

    def read_journal(self) -> Counter[Copy]:
        """Return every record of the journal with the number of times that it is there."""
        reader = self._spark.read.format("kinesis").options(**self._where)
        records = reader.option("streamName", self._journal).option("startingPosition", "TRIM_HORIZON").load()
        rows = records.select("partitionKey", f.col("data").cast("string")).collect()
        return Counter((row[0], row[1]) for row in rows)

    def _sightings(self) -> DataFrame:
        """Return the records of the stream, and in the column s the sighting that each of them is."""
        reader = self._spark.readStream.format("kinesis").options(**self._where).schema(COLUMNS)
        records = (
            reader.option("streamName", self._stream)
            .option("startingPosition", "TRIM_HORIZON")
            .option("shardDiscoveryInterval", "2s")
            .load()
        )
        return records.withColumn("s", f.from_json(f.col("data").cast("string"), SIGHTING))

    def _count_query(self) -> DataStreamWriter:
        """Count sightings per city and window of event time."""
        window = f.window(f.timestamp_millis("s.at"), f"{WINDOW_S} seconds").alias("window")
        counts = self._sightings().groupBy(f.col("s.city").alias("city"), window).count()
        cells = counts.select("city", f.unix_seconds("window.start").alias("start_s"), "count")
        return cells.writeStream.outputMode("update")

    def _set_counted(self, batch: DataFrame, _: int) -> None:
        rows = batch.collect()
        self._counts.set_counted(((row["city"], row["start_s"]), row["count"]) for row in rows)

    def _copy_query(self) -> DataStreamWriter:
        """Write each sighting to the journal, with its record's sequence number and its index in the record."""
        sequence, index = f.col("sequenceNumber"), f.col("subSequenceNumber")
        data = f.to_json(f.struct("s.*", sequence.alias("sequence"), index.alias("index")))
        copies = self._sightings().select("partitionKey", data.alias("data"))
        writer = copies.writeStream.format("kinesis").options(**self._where)
        return writer.option("streamName", self._journal)

    def _start(self, name: str, writer: DataStreamWriter) -> StreamingQuery:
        checkpoint = str(self._folder / name)
        return writer.option("checkpointLocation", checkpoint).trigger(processingTime=TRIGGER).start()
