"""
Gaps: empty pages before the tip of a shard.

One rule says how far a gap is followed: as long as its pages come closer to the tip. After `STALLED_PAGES` in a row that do not, the
gap is stuck. At the rate of polling that takes ten seconds. Kinesis returns such pages for a position whose records have expired.
It also returns them for a shard that it cannot read for a while. So a stuck gap proves nothing: a check shows whether records
have expired.

A caller that comes back soon, and has other shards to read, follows a gap for `VISIT_PAGES` at a time.
"""

from __future__ import annotations

from msgspec import Struct

from kinesis_core.model import Page

STALLED_PAGES = 50
"""Empty pages in a row, none of them closer to the tip, after which a gap is stuck."""
VISIT_PAGES = 5
"""Empty pages that a visit follows: what the quota of a shard, 5 calls a second, allows in a second."""


class Gap(Struct, frozen=True, gc=False):
    """The empty pages that were read last."""

    behind_ms: int = 0
    """`MillisBehindLatest` of the last one."""
    stalled_pages: int = 0
    """Number of such pages in a row, including the last one, without progress towards the tip."""

    @property
    def is_stuck(self) -> bool:
        """Whether reading brings neither records nor progress."""
        return self.stalled_pages >= STALLED_PAGES

    def after(self, page: Page) -> Gap:
        """Return the gap after one more page. A page with records ends it."""
        if page.records:
            return NO_GAP
        moves = page.millis_behind < self.behind_ms
        return Gap(page.millis_behind, 1 if moves else self.stalled_pages + 1)


NO_GAP = Gap()
