"""Sorts user records into the lanes of the shards that they belong to."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator

from attrs import define, field

from kinesis_core.producing.rows import Rows
from kinesis_core.producing.shard_map import ShardMap, hash_of
from kinesis_core.producing.shard_queue import Lane
from kinesis_core.producing.write_window import ShardPace

_REMEMBERED_KEYS = 65_536

Groups = dict[Lane, Rows]
"""Rows by the shard that they go to."""


@define(eq=False)
class Router:
    """The lanes of the shards that are open as far as we know, and the way to them."""

    shards: ShardMap
    longest_window_s: float
    random_keys: Iterator[str]
    """For user records without a key."""
    is_auto: bool = False
    """Whether Kinesis chooses the shards, so that any lane will do."""
    _turn: int = field(default=0, init=False)
    """Of the lane that rows are spread from next."""
    _lanes: dict[str, Lane] = field(factory=dict, init=False)
    _routes: dict[str, Lane] = field(factory=dict, init=False)
    """By partition key: hashing takes twenty times as long as looking up."""

    @property
    def lanes(self) -> Collection[Lane]:
        return self._lanes.values()

    @property
    def known_keys(self) -> Collection[str]:
        return self._routes

    def lane(self, shard_id: str) -> Lane:
        """Return the lane of a shard."""
        lane = self._lanes.get(shard_id)
        if lane is None:
            lane = self._lanes[shard_id] = Lane(shard_id, ShardPace(self.longest_window_s))
        return lane

    def group(self, rows: Rows) -> Groups:
        """Return *rows* by lane, in their order."""
        return self._spread(rows) if self.is_auto else self._sort(rows.with_keys(self.random_keys))

    def _spread(self, rows: Rows) -> Groups:
        """Return *rows* in equal parts: the lanes then hold no shard up, and learn how much the stream takes."""
        shards = self.shards.open_shards
        parts = min(len(shards), len(rows))
        first, self._turn = self._turn, self._turn + parts
        bounds = [len(rows) * part // parts for part in range(parts + 1)]
        return {
            self.lane(shards[(first + part) % len(shards)]): rows.part(bounds[part], bounds[part + 1])
            for part in range(parts)
        }

    def _sort(self, rows: Rows) -> Groups:
        places: defaultdict[Lane, list[int]] = defaultdict(list)
        for place, lane in enumerate(self._lanes_of(rows)):
            places[lane].append(place)
        if len(places) == 1:
            return dict.fromkeys(places, rows)
        return {lane: rows.pick(chosen) for lane, chosen in places.items()}

    def _lanes_of(self, rows: Rows) -> Iterable[Lane]:
        if rows.hash_keys is not None:
            pairs = zip(rows.keys, rows.hash_keys, strict=True)
            return [self._route(key) if h is None else self._lane_of(int(h)) for key, h in pairs]
        try:
            return list(map(self._routes.__getitem__, rows.keys))
        except KeyError:
            known = self._routes.get
            return [known(key) or self._route(key) for key in rows.keys]

    def _route(self, key: str) -> Lane:
        lane = self._routes.get(key)
        if lane is None:
            if len(self._routes) >= _REMEMBERED_KEYS:
                self._routes.clear()
            lane = self._routes[key] = self._lane_of(hash_of(key))
        return lane

    def _lane_of(self, hash_key: int) -> Lane:
        return self.lane(self.shards.shard_of(hash_key))

    def use(self, shards: ShardMap) -> list[Lane]:
        """Go by *shards* from now on, and return the lanes of those that are not open or are another stream's."""
        is_other = self.shards.contradicts(shards)
        self.shards = shards
        opened = frozenset(() if is_other else shards.open_shards)
        return self._give_up(lane for lane in self.lanes if lane.shard_id not in opened)

    def distribute(self, *, is_auto: bool) -> list[Lane]:
        """Let Kinesis choose the shards from now on, or no longer; return the lanes that there were."""
        self.is_auto = is_auto
        return self._give_up(self.lanes)

    def _give_up(self, lanes: Iterable[Lane]) -> list[Lane]:
        gone = list(lanes)
        for lane in gone:
            lane.is_gone = True
            del self._lanes[lane.shard_id]
        self._routes.clear()
        return gone

    def misplaced(self, rows: Rows, shard_id: str) -> int:
        """Return how many of *rows* do not belong to the shard; all when we do not know it."""
        if shard_id not in self.shards.ranges:
            return len(rows)
        hashes = (hash_of(key, rows.hash_key(place)) for place, key in enumerate(rows.keys))
        return sum(not self.shards.owns(shard_id, hash_key) for hash_key in hashes)
