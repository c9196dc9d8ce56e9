"""Whether records of a range expired: looked up in the shard, where pages alone do not show it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from attrs import define, field

from kinesis_core.errors import StreamNotFoundError
from kinesis_core.reading.progress import RangeProgress
from kinesis_core.shards import VISIT_PAGES, Expired, ShardCalls, Stall, Standing, await_record, find_record


@define
class RecordCheck:
    """Looks for single records of one shard, and knows since when its pages have brought nothing."""

    calls: ShardCalls
    stall: Stall = field(init=False)
    _moved_s: float = field(init=False)
    """When the last page came that had records or made progress."""

    def __attrs_post_init__(self) -> None:
        self.stall = Stall(self.calls.stream, self.calls.shard_id)
        self._moved_s = self.calls.clock.now_s()

    def verify(self, progress: RangeProgress) -> bool:
        """
        Check the page that *progress* took last. Return False if the range has to be read from `next_cut` again.

        That is where it makes no progress: its records have expired, or one has to wait. Otherwise this proves that no record
        expired before the page was read, which only a check after the page can show.

        Raises:
            DataLossError: Records of the range expired (unless `fail_on_data_loss` is off).
            UnavailableError: They have not, as far as can be seen, and the range has brought nothing for too long.
        """
        calls = self.calls
        if progress.is_stalled:
            number = progress.reached.number
            # A visit is enough: the range is read again after it.
            if not progress.is_lost and _has_expired(partial(find_record, calls, number, VISIT_PAGES)):
                progress.lose_stalled()
            else:
                pages = progress.gap.stalled_pages
                self.stall.goes_on(progress.reached, pages, self._moved_s, calls.clock.now_s())
            return False
        if progress.is_moving:
            self._moved_s = calls.clock.now_s()
            self.stall.ends()
        to_prove = progress.to_prove(calls.now_ms())
        if to_prove is not None:
            find = partial(await_record, calls, to_prove, self.stall)
            progress.prove(is_left=not _has_expired(find))
        return True


def _has_expired(find: Callable[[], Standing]) -> bool:
    """Return whether a record is gone by what *find* returns. It went with a shard that Kinesis no longer knows."""
    try:
        return isinstance(find(), Expired)
    except StreamNotFoundError:
        return True
