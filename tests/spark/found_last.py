"""Both packages' data sources under other names, because `kinesis` is the one that Spark finds last."""

from __future__ import annotations

from pyspark_kinesis_sink import DefaultSource as DefaultSink
from pyspark_kinesis_source import DefaultSource


class SourceFoundLast(DefaultSource):
    @classmethod
    def name(cls) -> str:
        return "source-found-last"


class SinkFoundLast(DefaultSink):
    @classmethod
    def name(cls) -> str:
        return "sink-found-last"
