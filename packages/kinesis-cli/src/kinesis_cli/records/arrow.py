"""Records as an Arrow stream or a Parquet file, with the columns that the Spark source has."""

from __future__ import annotations

from importlib.util import find_spec
from typing import IO, TYPE_CHECKING, Any, Literal

from attrs import define, field

from kinesis_cli.ending import CommandError

if TYPE_CHECKING:
    from kinesis_core import UserRecord

_ROW_GROUP_BYTES = 16 * 1024 * 1024
_ROW_GROUP_RECORDS = 65_536
_ATTRIBUTES = {
    "data": "data",
    "partitionKey": "partition_key",
    "sequenceNumber": "sequence_number",
    "approximateArrivalTimestamp": "arrived_ms",
    "shardId": "shard_id",
    "subSequenceNumber": "sub_sequence_number",
    "explicitHashKey": "explicit_hash_key",
    "encryptionType": "encryption_type",
}
"""Each column, and the attribute of a record that it holds."""


def open_arrow(output: Literal["arrow", "parquet"], target: IO[bytes]) -> ArrowWriter | ParquetWriter:
    """
    Return a writer of an Arrow IPC stream or of a Parquet file.

    Raises:
        CommandError: pyarrow is not installed.
    """
    if find_spec("pyarrow") is None:
        raise CommandError(f"The output '{output}' needs pyarrow: pip install \"kinesis-cli[arrow]\"")
    return ArrowWriter(target) if output == "arrow" else ParquetWriter(target)


def _schema() -> Any:
    import pyarrow as pa

    types = {
        "data": pa.binary(),
        "approximateArrivalTimestamp": pa.timestamp("ms", tz="UTC"),
        "subSequenceNumber": pa.int64(),
    }
    return pa.schema([(name, types.get(name, pa.string())) for name in _ATTRIBUTES])


def _to_batch(records: list[UserRecord], schema: Any) -> Any:
    import pyarrow as pa

    columns = [
        pa.array([getattr(record, attribute) for record in records], column.type)
        for column, attribute in zip(schema, _ATTRIBUTES.values(), strict=True)
    ]
    return pa.record_batch(columns, schema=schema)


class ArrowWriter:
    """Writes an Arrow IPC stream: a record batch for each list."""

    def __init__(self, target: IO[bytes]) -> None:
        import pyarrow as pa

        self._target, self._schema = target, _schema()
        self._stream = pa.ipc.new_stream(target, self._schema)

    def write(self, records: list[UserRecord]) -> None:
        self._stream.write_batch(_to_batch(records, self._schema))
        self._target.flush()

    def close(self) -> None:
        self._stream.close()
        self._target.flush()


@define
class ParquetWriter:
    """Writes a Parquet file: row groups of at most 16 MiB of payload and 65,536 records."""

    target: IO[bytes]
    _schema: Any = field(factory=_schema, init=False)
    _file: Any = field(init=False)
    _waiting: list[UserRecord] = field(factory=list, init=False)
    _waiting_bytes: int = field(default=0, init=False)

    def __attrs_post_init__(self) -> None:
        import pyarrow.parquet as pq

        self._file = pq.ParquetWriter(self.target, self._schema, compression="zstd")

    def write(self, records: list[UserRecord]) -> None:
        self._waiting += records
        self._waiting_bytes += sum(len(record.data) for record in records)
        if self._waiting_bytes >= _ROW_GROUP_BYTES or len(self._waiting) >= _ROW_GROUP_RECORDS:
            self._write_group()

    def _write_group(self) -> None:
        self._file.write_batch(_to_batch(self._waiting, self._schema))
        self._waiting, self._waiting_bytes = [], 0

    def close(self) -> None:
        if self._waiting:
            self._write_group()
        self._file.close()
        self.target.flush()
