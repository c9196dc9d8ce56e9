"""
Discovery: keeps the listing of a stream's shards that plans use, and refuses one that left out shards.

ListShards is eventually consistent, and a listing of several pages is not a snapshot. These facts show what it left out:

* The open shards cover all hash keys, and the children of a closed shard cover all of its own.
* A shard outlives its parents, so the listing of a shard has all of its descendants.
* No shard expires before the shortest retention has passed, so the listing of a young stream has every parent.
* An offset names each shard, or an ancestor or a descendant of it. So a shard that is new to an offset descends from one that the
  offset names. If the shard between them is not listed, either the listing is stale, or that shard has
  expired unread.

A complete listing that is some moments old does no harm: new shards are found later.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Set as AbstractSet

from attrs import define, evolve, field, frozen

from kinesis_core.aws import StreamApi
from kinesis_core.clock import Clock
from kinesis_core.errors import StaleListingError
from kinesis_core.model import (
    HOUR_MS,
    MIN_RETENTION_HOURS,
    Children,
    Listing,
    ShardOffset,
    StreamSummary,
    TrimHorizon,
    ancestors,
    by_id,
    first_hole,
    index_children,
)
from kinesis_core.shards import RunAll, find_known
from kinesis_credentials import Advice
from kinesis_credentials.logs import get_logger

log = get_logger("kinesis_core")

PAUSES_S = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, *(15.0,) * 7)
"""
Pauses after stale listings in a row. They add up to two minutes: ListShards catches up within seconds, and a longer delay is
an error. The quota of ListShards allows far more calls.
"""

ReportLoss = Callable[[str, ShardOffset, str], None]
"""Reports lost records: the shard, the offset after which they were, and what happened. It raises if a loss stops the query."""


@define
class Discovery:
    """Lists the shards of one stream, and adopts a listing only when it is complete."""

    stream: str
    api: StreamApi
    clock: Clock
    report_loss: ReportLoss
    is_there: Callable[[str], bool]
    """Returns whether Kinesis knows a shard, by its id."""
    summary: Callable[[], StreamSummary]
    run_all: RunAll = map
    """Makes the calls of several `is_there`."""
    listing: Listing = field(factory=dict, init=False)
    """The last complete one. Empty before the first."""
    children: Children = field(factory=dict, init=False)
    awaited: AbstractSet[str] = field(default=frozenset(), init=False)
    """Shards that each listing must have, unless they have expired."""
    is_checked: bool = field(default=False, init=False)
    """Whether the listing was compared with the offset of the query: it may lack shards that only the offset names."""
    _listed_s: float = field(default=float("-inf"), init=False)
    _refused: int = field(default=0, init=False)
    """Stale listings in a row."""
    _refused_s: float = field(default=float("-inf"), init=False)
    _left: set[str] = field(factory=set, init=False)
    """Shards that have expired, as far as that is known."""

    def is_outdated(self, known: Known, age_s: float) -> bool:
        """Return whether the listing is older than *age_s*, or contradicts what is *known* of an offset."""
        is_older = not 0 <= self.clock.now_s() - self._listed_s < age_s
        return is_older or self.lacks_children(known.closed) or not self._fits(known)

    def lacks_children(self, closed: Iterable[str]) -> bool:
        """Return whether one of the *closed* shards is listed while its children are not: the listing is too old."""
        return any(shard_id in self.listing and shard_id not in self.children for shard_id in closed)

    def refresh(self, known: Known, *, patiently: bool) -> Listing:
        """
        List the shards, and return the listing to plan by. A stale listing is not adopted, and a pause follows it.

        With *patiently*, the pauses are waited out here until a listing is adopted.

        Raises:
            StaleListingError: Every listing was stale until the pauses were used up.
            DataLossError: A shard that is not listed may have expired unread, and a loss stops the query.
        """
        while self._pause_s() <= 0 or patiently:
            self.clock.sleep(self._pause_s())
            listing = by_id(self.api.list_shards())
            hole = self._find_hole(listing, known)
            while hole is not None and hole.lost is not None and self._is_loss_certain(known):
                self.report_loss(
                    hole.lost, ShardOffset(TrimHorizon()), f"{hole.what}, so its records may be lost"
                )
                self._left.add(hole.lost)
                hole = self._find_hole(listing, known)
            if hole is None:
                self._adopt(listing, known)
                break
            self._refuse(hole)
        return self.listing

    def _pause_s(self) -> float:
        """Return how long to wait before the shards may be listed again."""
        if not self._refused:
            return 0.0
        pause_s = PAUSES_S[self._refused - 1]
        passed_s = self.clock.now_s() - self._refused_s
        return pause_s - passed_s if passed_s >= 0 else 0.0  # the clock may be set back

    def _is_patience_over(self) -> bool:
        return self._refused >= len(PAUSES_S)

    def _is_loss_certain(self, known: Known) -> bool:
        """Return whether waiting for a shard that may be lost is useless: an unread shard has expired, or the pauses are used up."""
        return self._is_patience_over() or not self._left.isdisjoint(known.named - known.finished)

    def _find_hole(self, listing: Listing, known: Known) -> Hole | None:
        passed = evolve(known, named=known.named | self._left) if known.named else known
        hole = find_hole(listing, passed, is_young=self._is_young())
        if hole is not None and hole.lost is not None and self.is_there(hole.lost):
            hole = evolve(hole, lost=None)  # only the listing lacks it, however certain another loss is
        if hole is not None and hole.lost is None:
            return hole
        return self._find_unlisted(listing, known) or hole

    def _is_young(self) -> bool:
        """Return whether no shard can have expired yet, with an hour's margin for clocks that differ."""
        summary = self.summary()
        hours = min(MIN_RETENTION_HOURS, summary.retention_hours) - 1
        return self.api.now_ms() - summary.created_ms < hours * HOUR_MS

    def _find_unlisted(self, listing: Listing, known: Known) -> Hole | None:
        """Return a shard that Kinesis knows and does not list: its children would be read too early."""
        parents = {p for shard in listing.values() for p in shard.parents} if known.from_oldest else set()
        expected = known.expected | parents
        missing = (expected | self.awaited) - listing.keys() - self._left
        followed = known.finished & index_children(listing).keys() if missing else set()
        shard_id, gone = find_known(missing - followed, self.is_there, self.run_all)
        self.awaited -= gone
        self._left |= (
            gone & expected
        )  # one that is only awaited may have left unread, which has to be reported
        return None if shard_id is None else Hole(f"{shard_id} is not listed, and Kinesis knows it")

    def _fits(self, known: Known) -> bool:
        self.is_checked = self.is_checked or self._find_hole(self.listing, known) is None
        return self.is_checked

    def _adopt(self, listing: Listing, known: Known) -> None:
        fresh = [shard_id for shard_id in listing if shard_id not in self.listing]
        if fresh:
            log.info("shards.discovered", stream=self.stream, shards=fresh[:20], count=len(fresh))
        self.listing, self.children, self.is_checked = listing, index_children(listing), bool(known.named)
        self._listed_s, self._refused = self.clock.now_s(), 0

    def _refuse(self, hole: Hole) -> None:
        if self._is_patience_over():
            count, self._refused = self._refused + 1, 0
            raise StaleListingError(
                f"Stream {self.stream}: ListShards left out shards in each of {count} listings over {sum(PAUSES_S):.0f} s: {hole.what}. "
                "No record was skipped.",
                advice=(
                    Advice.START_AGAIN,
                    "If the error comes back, check the output of `aws kinesis list-shards`, and report a shard that is missing "
                    "there to AWS.",
                ),
                stream=self.stream,
            )
        self._refused, self._refused_s = self._refused + 1, self.clock.now_s()
        log.info("listing.refused", stream=self.stream, reason=hole.what, responses=self._refused)


@frozen
class Known:
    """What is known of a stream's shards without a listing."""

    named: AbstractSet[str] = frozenset()
    """The shards that an offset names. Empty where reading starts."""
    finished: AbstractSet[str] = frozenset()
    """Those that need no reading. A user may say so of an open shard."""
    closed: AbstractSet[str] = frozenset()
    """Those that were found closed."""
    expected: AbstractSet[str] = frozenset()
    """Those that a complete listing has, unless they have expired."""
    from_oldest: bool = False
    """Whether reading starts at old records, so that each parent that is not listed has to be looked up."""


@frozen
class Hole:
    """A part of the stream that a listing left out."""

    what: str
    """A clause for messages."""
    lost: str | None = None
    """The shard that was left out, if it may also have expired before it was read."""


def find_hole(listing: Listing, known: Known, *, is_young: bool = False) -> Hole | None:
    """
    Return something that *listing* left out; None where it shows no sign of that.

    *is_young* means that no shard can have expired yet. A hole that is certainly stale comes before one that
    may be a loss.
    """
    keys = first_hole(listing.values())
    if keys is not None:
        return Hole(f"no shard has the hash keys {keys[0]} to {keys[1]}")
    return (
        _without_children(listing, known.closed)
        or (_without_parents(listing) if is_young else None)
        or _without_origin(listing, known.named)
    )


def _without_children(listing: Listing, closed: AbstractSet[str]) -> Hole | None:
    children = index_children(listing)
    for shard_id, shard in listing.items():
        mine = children.get(shard_id, ())
        if shard.is_open and not mine and shard_id not in closed:
            continue
        keys = first_hole(mine, shard.hash_start, shard.hash_end)
        if keys is not None:
            return Hole(f"no child of the closed shard {shard_id} has the hash keys {keys[0]} to {keys[1]}")
    return None


def _without_parents(listing: Listing) -> Hole | None:
    for shard_id, shard in listing.items():
        for parent in shard.parents:
            if parent not in listing:
                return Hole(f"{parent}, the parent of {shard_id}, is not listed")
    return None


def _without_origin(listing: Listing, named: AbstractSet[str]) -> Hole | None:
    """Return a hole between the shards of an offset and a listed one that is new to it."""
    if not named:
        return None
    started = find_started(named, listing)
    origins = started | {parent for s in started if s in listing for parent in listing[s].parents}
    for shard_id, shard in listing.items():
        if shard_id in started:
            continue
        if not shard.parents:
            return Hole(f"{shard_id} has no parent and is not in the offset, nor any descendant of it")
        for parent in shard.parents:
            if parent not in listing and parent not in origins:
                return Hole(f"{parent}, the parent of {shard_id}, is not listed and was never read", parent)
    return None


def find_started(named: Collection[str], listing: Listing) -> set[str]:
    """Return the shards that an offset names, and their listed ancestors: those were read, or skipped by its start."""
    return ancestors(named, listing) | set(named)


def find_needless(finished: Iterable[str], named: Collection[str], listing: Listing) -> set[str]:
    """
    Return those of the *finished* shards that an offset need not name.

    All of their children are started. So a listed shard counts as read, because it is an ancestor of named
    ones. An expired shard is no longer needed to show where its children come from.
    """
    finished = set(finished)
    if not finished:
        return finished
    started, children = find_started(named, listing), index_children(listing)
    return {
        shard_id
        for shard_id in finished
        if (shard_id in children or shard_id not in listing)
        and all(child.shard_id in started for child in children.get(shard_id, ()))
    }
