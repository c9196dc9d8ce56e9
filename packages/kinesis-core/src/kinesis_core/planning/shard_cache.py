"""ShardCache: what may be thrown away at any time, at the cost of calls."""

from __future__ import annotations

from attrs import define, field

from kinesis_core.model import Cut
from kinesis_core.planning.sampling import Sampling


@define
class ShardCache:
    """
    Iterators, estimates and failed searches of one shard.

    A new cache instead of it changes which calls are made, and where batches end. It changes neither the records that are read nor
    the losses that are reported.
    """

    sampling: Sampling = field(factory=Sampling)
    to_oldest: str | None = None
    """Continues a search for the oldest record."""
    missing: Cut | None = None
    """A cut whose record was not found: most likely it has left the stream."""
    _next: tuple[Cut, str] | None = field(default=None, init=False)
    """A cut, and an iterator that continues after it."""
    _first: tuple[Cut, str] | None = field(default=None, init=False)
    """A cut, and the iterator that brought the first records after it, past any gap before them."""

    def keep(self, cut: Cut, iterator: str | None) -> None:
        """Remember the *iterator* that continues after *cut*, so that the next plan from there saves a call."""
        self._next = None if iterator is None else (cut, iterator)

    def keep_first(self, cut: Cut, iterator: str | None) -> None:
        """Remember the *iterator* that brings the first records after *cut* again; None where no record was found."""
        self._first = None if iterator is None else (cut, iterator)

    def iterator_at(self, cut: Cut) -> str | None:
        for kept in (self._next, self._first):
            if kept is not None and kept[0] == cut:
                return kept[1]
        return None
