"""The frontier: which shards may be read next, as one plan learns which ones are finished."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from attrs import define, field

from kinesis_core.model import Listing, ancestors, waits_for
from kinesis_core.planning.discovery import Discovery


@define
class Frontier:
    """
    The unfinished shards whose parents are finished. Each is taken once. A shallow copy is another frontier at the same place.

    The cost of moving on grows with the children of the shards passed, and not with the number of listed shards.
    """

    discovery: Discovery
    named: Collection[str]
    """The shards of the offset. A shard that is not listed has expired, and its plan finds that out."""
    finished: set[str]
    """The shards that need no reading: at first those that the offset calls so, then more that the lineage and the plan show."""
    ended: Collection[str]
    """The closed shards without a record after the offset. Each counts as finished once all of its listed parents do."""
    shards: list[str] = field(factory=list, init=False)
    _taken: set[str] = field(factory=set, init=False)
    _listing: Listing = field(factory=dict, init=False)

    def __attrs_post_init__(self) -> None:
        self._list()

    def is_of(self, listing: Listing, ended: Collection[str]) -> bool:
        """Return whether a new frontier of the same offset would be the same, with *listing* and *ended*."""
        return self._listing is listing and self.ended == ended

    def take(self, is_due: Callable[[str], bool]) -> list[str]:
        """Return the shards that are due and were not taken yet."""
        due = [shard_id for shard_id in self.shards if is_due(shard_id)]
        self._taken = self._taken.union(due)
        self.shards = [shard_id for shard_id in self.shards if shard_id not in self._taken]
        return due

    def move_on(self, passed: Iterable[str]) -> None:
        """Continue with the children of the shards *passed*, which count as finished from now on."""
        passed = list(passed)
        self.finished = self.finished.union(passed)
        if self._listing is not self.discovery.listing:
            self._list()
            return
        while passed:
            children = {child.shard_id: child for s in passed for child in self.discovery.children.get(s, ())}
            ready = [
                s
                for s, child in children.items()
                if s not in self.finished
                and s not in self._taken
                and not waits_for(child, self._listing, self.finished)
            ]
            self.shards = [*self.shards, *(s for s in ready if s not in self.ended)]
            passed = [s for s in ready if s in self.ended]
            self.finished = self.finished.union(passed)

    def _list(self) -> None:
        listing = self._listing = self.discovery.listing
        self.finished = self._find_finished()
        listed = [s.shard_id for s in listing.values() if not waits_for(s, listing, self.finished)]
        unlisted = [shard_id for shard_id in self.named if shard_id not in listing]
        passed = self.finished | self._taken
        self.shards = [shard_id for shard_id in [*listed, *unlisted] if shard_id not in passed]

    def _find_finished(self) -> set[str]:
        """
        Return the unnamed ancestors of named shards, and the ended shards that no unread one comes before.

        A plan may have looked far ahead of the offset. Without the second rule, it would continue with the children of a shard
        whose parents are not read yet. An offset that names these children would skip the parents.
        """
        listing, children = self._listing, self.discovery.children
        found = self.finished | (ancestors(self.named, listing) - set(self.named))
        ended = set(self.ended) - found
        unread = [s for s in children if s in listing and s not in found and s not in ended] if ended else []
        while unread:
            waiting = [child.shard_id for child in children.get(unread.pop(), ()) if child.shard_id in ended]
            ended.difference_update(waiting)
            unread += waiting
        return found | ended
