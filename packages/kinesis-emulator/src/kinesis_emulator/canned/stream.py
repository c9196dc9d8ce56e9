"""The description of a canned stream."""

from __future__ import annotations

from dataclasses import dataclass

MAX_PAGE_RECORDS = 10_000
MAX_PAGE_BYTES = 10 * 1024 * 1024


@dataclass(frozen=True)
class CannedStream:
    """
    A stream whose shards all hold the same random records. Equal settings give equal records.

    Attributes:
        pages: The number of GetRecords responses that a shard fills. The tip comes after them.
        records: The number of records on a page.
        record_bytes: The payload size of a record, or of a user record.
        user_records: The number of user records in each aggregate; 0 for plain records.
        records_per_s: The number of records that arrive in each shard per second from the server's start on; None if all
            records arrived before.

    Raises:
        ValueError: A page exceeds the limits of Kinesis, or there is no shard or page.
    """

    name: str = "orders"
    region: str = "us-east-1"
    shards: int = 1
    pages: int = 1
    records: int = 1000
    record_bytes: int = 1000
    user_records: int = 0
    records_per_s: float | None = None

    def __post_init__(self) -> None:
        page_bytes = self.page_rows * self.record_bytes
        if not 1 <= self.records <= MAX_PAGE_RECORDS or page_bytes > MAX_PAGE_BYTES:
            raise ValueError(
                f"A page holds 1 to {MAX_PAGE_RECORDS} records and at most {MAX_PAGE_BYTES} bytes; "
                f"got {self.records} records and {page_bytes} bytes."
            )
        if self.shards < 1 or self.pages < 1:
            raise ValueError(f"A stream has a shard and a page at least; got {self.shards} and {self.pages}.")

    @property
    def arn(self) -> str:
        return f"arn:aws:kinesis:{self.region}:123456789012:stream/{self.name}"

    @property
    def total_records(self) -> int:
        """The number of records of one shard, where an aggregate counts as one."""
        return self.pages * self.records

    @property
    def page_rows(self) -> int:
        """The number of rows of one page, where every user record counts."""
        return self.records * max(1, self.user_records)

    @property
    def total_rows(self) -> int:
        """The number of rows of all shards, where every user record counts."""
        return self.shards * self.pages * self.page_rows
