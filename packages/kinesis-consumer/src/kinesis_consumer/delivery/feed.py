"""Where the pages of a shard come from: by polling, or by enhanced fan-out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from kinesis_core.model import ShardOffset
from kinesis_core.planning import ShardPage


class Feed(Protocol):
    """The pages of one stream. Threads may share it, as long as each shard is read by one at a time."""

    def now_ms(self) -> int:
        """Return the service's clock in milliseconds since the epoch: a lower bound."""
        ...

    def resume(
        self, shard_id: str, number: int, user_records: int, empty_until_ms: int | None
    ) -> ShardOffset:
        """Return the offset after the first *user_records* of record *number*: see `ShardPages`."""
        ...

    def kept_hours(self) -> int:
        """Return for how many hours records are certainly kept, as far as it is known. Makes no call, so no page is lost."""
        ...

    def see_kept_hours(self, hours: int) -> None:
        """Note that records were kept for *hours* when a position was written."""
        ...

    def next(self, shard_id: str, start: ShardOffset, max_records: int) -> ShardPage:
        """Return the next page after *start*. It may have no records, although more will come."""
        ...

    def due_s(self, shard_id: str) -> float:
        """Return in how many seconds the shard may be read again."""
        ...

    def lag_ms(self, shard_id: str) -> int | None:
        """Return how far behind the tip the last page was; None before the first one."""
        ...

    def report_lost(self, shard_id: str, after: ShardOffset, what: str) -> None:
        """Report lost records: an error, or a warning in the log."""
        ...

    def watch(self, shard_id: str, arrived: Callable[[], None]) -> None:
        """Call *arrived* when a page is there before the shard is due. A feed that polls has no such pages."""
        ...

    def forget(self, shard_id: str, arrived: Callable[[], None]) -> None:
        """Read the shard no longer, unless it is watched by somebody else than *arrived* now."""
        ...
