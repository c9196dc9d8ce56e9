"""`.format("kinesis")` for writing: where Spark comes in."""

from __future__ import annotations

from typing import NoReturn

from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader
from pyspark.sql.types import StructType


class KinesisSink(DataSource):
    """Amazon Kinesis Data Streams as a sink. This version holds its place and does not write yet."""

    @classmethod
    def name(cls) -> str:
        return "kinesis"

    def writer(self, schema: StructType, overwrite: bool) -> NoReturn:  # noqa: ARG002 - Spark's signature
        self._refuse()

    def streamWriter(self, schema: StructType, overwrite: bool) -> NoReturn:  # noqa: ARG002 - Spark's signature
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise RuntimeError("Writing to Kinesis is not in this version of spark-kinesis-sink; reading is.")

    def schema(self) -> StructType | str:
        return self._source().schema()

    def reader(self, schema: StructType) -> DataSourceReader:
        return self._source().reader(schema)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        return self._source().streamReader(schema)

    def _source(self) -> DataSource:
        """Return the half that reads: Spark knows only one data source called kinesis, and met this one last."""
        try:
            from spark_kinesis_source import KinesisDataSource
        except ImportError:
            raise ImportError(
                "Reading from Kinesis needs the package spark-kinesis-source: pip install spark-kinesis-source"
            ) from None
        return KinesisDataSource(self.options)
