"""ShardCache: what may be thrown away at any time, at the cost of calls."""

from __future__ import annotations

from attrs import define, field, frozen

from kinesis_core.model import Cut, Record, ShardOffset
from kinesis_core.planning.evidence import Emptiness
from kinesis_core.planning.loss import Doubt
from kinesis_core.planning.progress import InGap, Progress, reading
from kinesis_core.planning.settings import Limits
from kinesis_core.planning.shares import Sampling
from kinesis_core.shards import Cursor


@frozen
class Unsettled:
    """What a plan found, while it is in doubt whether records before that were lost."""

    started: ShardOffset
    target: ShardOffset | None
    limits: Limits | None
    """None for a plan up to the tip."""
    end: ShardOffset
    doubt: Doubt | None
    progress: Progress
    emptiness: Emptiness | None

    @property
    def is_in_gap(self) -> bool:
        """Whether the plan has found nothing yet, and another one has to follow the gap further."""
        return self.end.cut == self.started.cut and isinstance(reading(self.progress), InGap)

    def serves(self, started: ShardOffset, target: ShardOffset | None, limits: Limits | None) -> bool:
        """Return whether another plan need not be made. One up to the tip has a new tip each time."""
        is_within = limits is not None and self.limits is not None and limits.allow(self.limits)
        return is_within and started == self.started and target == self.target


@define
class ShardCache:
    """
    Cursors, estimates and failed searches of one shard.

    A new cache instead of it changes which calls are made, and where batches end. It changes neither the records that are read nor
    the losses that are reported. In a gap it costs the pages since its beginning, once more.
    """

    sampling: Sampling = field(factory=Sampling)
    search: Cursor | None = None
    """A search for the oldest record that is not done."""
    missing: Cut | None = None
    """A cut whose record was not found: most likely it has left the stream."""
    absent: Cut | None = None
    """A cut whose record is certainly not in the shard: no gap hides it."""
    unsettled: Unsettled | None = None
    """The last plan, until the calls that settle its doubt have succeeded. Only they are made again."""
    used_up: Cut | None = None
    """Where a plan ended that used up its limits: more records may follow."""
    near_end: tuple[Record, int] | None = None
    """A record of a closed shard, and a time in ms from which none arrived, where a plan has looked for the last one."""
    _next: tuple[Cut, Cursor] | None = field(default=None, init=False)
    """A cut, and a cursor that continues after it."""
    _first: tuple[Cut, Cursor] | None = field(default=None, init=False)
    """A cut, and the cursor that brought the first records after it, past any gap before them."""

    def keep(self, cut: Cut, cursor: Cursor | None) -> None:
        """Remember the *cursor* that continues after *cut*, so that the next plan from there saves a call."""
        self._next = None if cursor is None else (cut, cursor)

    def keep_first(self, cut: Cut, cursor: Cursor | None) -> None:
        """Remember the *cursor* that brings the first records after *cut* again; None where no record was found."""
        self._first = None if cursor is None else (cut, cursor)

    def cursor_at(self, cut: Cut) -> Cursor:
        """Return a cursor that reads from *cut*: a kept one, if there is one."""
        for kept in (self._next, self._first):
            if kept is not None and kept[0] == cut:
                return kept[1]
        return Cursor(cut)
