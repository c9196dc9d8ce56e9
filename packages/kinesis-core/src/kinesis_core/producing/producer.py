"""
Writes records to one stream.

    with Producer.open("orders", region="eu-west-1") as producer:
        producer.put(b"data", partition_key="customer-1")
"""

from __future__ import annotations

import random
import warnings
from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import Any

from kinesis_core.aws import Connection, PutApi, StreamRef, WireFormat, stream_client
from kinesis_core.clock import Clock, SteadyClock
from kinesis_core.model import MAX_PUT_RECORDS
from kinesis_core.producing.accumulator import ProducerSettings, RecordAccumulator
from kinesis_core.producing.counts import Totals
from kinesis_core.producing.dispatcher import first_map
from kinesis_core.producing.rows import Rows, check_rows, columns_of, columns_of_arrays, keys_of
from kinesis_core.producing.sender import Sender, SenderGroup
from kinesis_core.termination import TERMINATION
from kinesis_credentials import CredentialSpec

_CHUNK_ROWS = {True: 4 * MAX_PUT_RECORDS, False: MAX_PUT_RECORDS}
_CHUNK_BYTES = 1024 * 1024
_PARTS_OF_BUFFER = 8
"""
Rows and bytes that are added at a time. The threads cannot take requests out in this time, and a full buffer may be exceeded by
that much. With aggregation (True) more rows fit.
"""

_FEWEST_COLUMN_ROWS = 32
"""Fewer rows are faster as Python's lists: a single row would take a third longer in native code."""


class Producer:
    """
    Writes records to one stream. Create it with `Producer.open`. Threads may share it. As a context manager it flushes and closes
    at the end.

        with Producer.open("orders") as producer:
            producer.put(b"data", partition_key="customer-1")
            producer.flush()

    Each record is written at least once. Records of one partition key may be stored in another order than they were put, because
    PutRecords keeps no order. After a `PutError` a producer accepts no more records, and each record since the last flush may or
    may not be in the stream. Open a new producer, and put these records again.

    A producer that is not closed writes its records when it is garbage-collected, when the program ends, and at SIGTERM. Errors are
    then only logged. At SIGTERM this works only if the producer was opened in the main thread, and the program does not handle
    SIGTERM itself.

    Attributes:
        stream: The stream's name.
        settings: The settings of this producer.
    """

    def __init__(
        self,
        api: PutApi,
        settings: ProducerSettings | None = None,
        *,
        clock: Clock | None = None,
        rng: random.Random | None = None,
        group: SenderGroup | None = None,
    ) -> None:
        """For callers with their own API object, such as tests. Programs use `open`."""
        self._is_closed = True
        self.settings = settings or ProducerSettings()
        rng = rng or random.Random()  # noqa: S311 # jitter and spreading, not a secret
        clock = clock or SteadyClock()
        group = group or SenderGroup(self.settings.max_connections, clock)
        summary = group.describe(api)
        shards = first_map(api, summary.name, clock, rng, self.settings.record_ttl_s)
        accumulator = RecordAccumulator.open(
            summary.name,
            shards,
            self.settings,
            summary.max_record_bytes,
            rng,
            created_ms=summary.created_ms,
            is_auto=summary.is_auto_distributed,
            buffer=group.buffer,
        )
        self.stream = summary.name
        self._max_record_bytes = summary.max_record_bytes
        self._chunk_rows = _CHUNK_ROWS[self.settings.aggregation_enabled]
        self._chunk_bytes = min(_CHUNK_BYTES, self.settings.buffer_bytes // _PARTS_OF_BUFFER)
        self._sender = Sender(api, accumulator, clock, group)
        self._is_closed = False
        TERMINATION.add_writer(self._sender)

    @classmethod
    def open(
        cls,
        name_or_arn: str,
        *,
        region: str | None = None,
        endpoint_url: str | None = None,
        credentials: CredentialSpec | None = None,
        settings: ProducerSettings | None = None,
        wire_format: WireFormat = WireFormat.JSON,
    ) -> Producer:
        """
        Return a producer for the stream, after a check that the stream exists.

        The producer needs the IAM actions kinesis:DescribeStreamSummary, kinesis:ListShards and kinesis:PutRecords.

        *region*: the default is the region of the ARN or of the endpoint, then what botocore finds.
        *endpoint_url*: the URL of Kinesis. The default is what botocore finds.
        *credentials*: the default is what botocore finds.
        *wire_format*: the format of PutRecords. `WireFormat.CBOR` needs `kinesis-core[cbor]`.

        Raises:
            CredentialsError: No credentials or no region are found.
            OptionError: *name_or_arn* is neither a name nor an ARN, or CBOR is requested and not installed.
            StreamNotFoundError: The stream does not exist.
            ServiceError: Kinesis cannot be reached, access is denied, or ListShards does not name all open shards
                within `record_ttl_s`.
        """
        connection = Connection.to_stream(
            name_or_arn,
            region=region,
            endpoint_url=endpoint_url,
            credentials=credentials,
            wire_format=wire_format,
        )
        return cls.connect(connection, connection.streams[0], settings)

    @classmethod
    def connect(
        cls,
        connection: Connection,
        stream: StreamRef,
        settings: ProducerSettings | None = None,
        group: SenderGroup | None = None,
    ) -> Producer:
        """
        Return a producer for *stream*, for the Spark sink. Programs use `open`, which makes the same checks.

        The producers of a *group* share its threads and a buffer of `buffer_bytes`.
        """
        return cls(stream_client(connection, stream), settings, group=group)

    def put(
        self, data: bytes, partition_key: str | None = None, explicit_hash_key: str | None = None
    ) -> None:
        """
        Put one user record into the buffer. Threads of the producer write it to Kinesis. Waits while the buffer is full.

        *data*: the payload as `bytes`.
        *partition_key*: text of 1 to 256 characters. The default is a random key, or no key on a stream that distributes its
        records itself.
        *explicit_hash_key*: a decimal number from 0 to 2**128-1, as text. It chooses the shard instead of the partition key.

        Raises:
            InvalidRecordError: An argument has another type, a key has a value that Kinesis does not accept, or the record is too
                large for the stream.
            PutError: Earlier records could not be written.
            ProducerClosedError: The producer takes no more records.
        """
        keys = None if partition_key is None else (partition_key,)
        self.put_columns((data,), keys, None if explicit_hash_key is None else (explicit_hash_key,))

    def put_columns(
        self,
        data: Sequence[bytes],
        partition_keys: Sequence[str | None] | None = None,
        explicit_hash_keys: Sequence[str | None] | None = None,
    ) -> None:
        """
        Put many user records, given as columns of equal length. Much faster than one `put` for each record.

            producer.put_columns([b"first", b"second"], ["customer-1", "customer-2"])

        The values are those that `put` accepts. None in a column means the default of `put` for this record.

        Raises:
            InvalidRecordError: One of the records is not valid, as in `put`. No record is put.
            PutError: Earlier records could not be written.
            ProducerClosedError: The producer takes no more records.
        """
        keys = keys_of(partition_keys, len(data))
        rows = Rows(data, keys, explicit_hash_keys)
        longest_bytes = check_rows(
            rows,
            self._max_record_bytes,
            self._sender.accumulator.router.known_keys,
            may_lack_keys=keys is not partition_keys,
        )
        for chunk in self._chunks(rows, longest_bytes):
            self._sender.put(chunk if len(chunk) < _FEWEST_COLUMN_ROWS else columns_of(chunk))

    def put_arrays(self, data: Any, partition_keys: Any = None, explicit_hash_keys: Any = None) -> bool:
        """
        Put user records given as Arrow arrays, for the Spark sink. Programs use `put_columns`.

        Returns False, and puts no record, if the caller must use `put_columns` instead. That is so without kinesis-native, for
        types of arrays that it does not know, or if Kinesis would refuse a record.

        Raises:
            PutError: Earlier records could not be written.
            ProducerClosedError: The producer takes no more records.
        """
        rows = columns_of_arrays(data, partition_keys, explicit_hash_keys, self._max_record_bytes)
        if rows is None:
            return False
        for chunk in self._chunks(rows, rows.native.longest_bytes):
            self._sender.put(chunk)
        return True

    def _chunks(self, rows: Rows, longest_bytes: int) -> Iterator[Rows]:
        """Yield *rows* in chunks. Each chunk is added at once."""
        size = max(1, min(self._chunk_rows, self._chunk_bytes // max(1, longest_bytes)))
        for start in range(0, len(rows), size):
            yield rows if len(rows) <= size else rows.part(start, start + size)

    def seal(self) -> None:
        """For the Spark sink: close open aggregates, so that a flush of another producer of the `SenderGroup` sends them, too."""
        self._sender.seal()

    def flush(self) -> Totals:
        """
        Wait until all records that were put so far are written. Returns what was written since the last flush.

        Raises:
            PutError: Some records could not be written.
            ProducerClosedError: The producer takes no more records.
        """
        return self._sender.flush()

    def close(self) -> Totals:
        """
        Accept no more records, write all records that were put, and stop the threads. Idempotent.

        Returns what was written since the last flush.

        Raises:
            PutError: Some records could not be written, and no earlier call raised the error.
        """
        if self._is_closed:
            return Totals()
        self._is_closed = True
        try:
            return self._sender.finish()
        finally:
            self._sender.stop()

    def abort(self) -> None:
        """Stop without a flush. Records put since the last flush may or may not be in the stream."""
        self._is_closed = True
        self._sender.stop()

    def __enter__(self) -> Producer:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        # Even after an error, the records accepted before it are written.
        self.close()

    def __del__(self) -> None:
        if self._is_closed or not self._sender.is_here:
            return
        self._sender.end_soon()
        if not self._sender.accumulator.counts.is_empty:
            warnings.warn(
                f"{self!r} was not closed. What it holds is written now, and errors are only logged. Call close() or use a "
                "with block.",
                ResourceWarning,
                stacklevel=2,
            )

    def __repr__(self) -> str:
        state = "closed" if self._is_closed else "open"
        return f"<Producer stream={self.stream!r} {state}>"
