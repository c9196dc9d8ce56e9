"""What a prepared stream is made of."""

from __future__ import annotations

from dataclasses import dataclass

MAX_PAGE_RECORDS = 10_000
MAX_PAGE_BYTES = 10 * 1024 * 1024


@dataclass(frozen=True)
class CannedStream:
    """
    A stream whose shards all hold the same records: random ones, but the same for the same settings.

    Attributes:
        pages: How many answers a shard fills; behind them is its tip.
        records: How many records a page holds.
        record_bytes: The payload of a record, or of a user record.
        user_records: How many user records each record aggregates; 0 for plain records.
        records_per_s: How many records arrive in each shard from the moment on at which the server starts; None
            when all of them arrived before that.

    Raises:
        ValueError: Kinesis would not answer with such a page.
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
        """Of one shard; an aggregate counts as one."""
        return self.pages * self.records

    @property
    def page_rows(self) -> int:
        """Of one page; every user record counts."""
        return self.records * max(1, self.user_records)

    @property
    def total_rows(self) -> int:
        """Of all shards; every user record counts."""
        return self.shards * self.pages * self.page_rows
