"""Sorts user records into the lanes of the shards that they belong to."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from attrs import define, field

from kinesis_core.producing.lanes import Lane
from kinesis_core.producing.routing import ShardMap, hash_of
from kinesis_core.producing.rows import Rows
from kinesis_core.producing.shard_pace import ShardPace

_REMEMBERED_KEYS = 65_536

Groups = dict[Lane, Rows]
"""Rows by the shard that they go to."""


@define(eq=False)
class Router:
    """The lanes of the shards that are open as far as we know, and the way to them."""

    shards: ShardMap
    longest_window_us: int
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
        """Return the lane of a shard that something was sorted to."""
        return self._lanes[shard_id]

    def group(self, rows: Rows) -> Groups:
        """Return *rows* by lane, in their order."""
        if rows.hash_keys is not None:
            return self._group_with_hash_keys(rows, rows.hash_keys)
        columns: dict[Lane, tuple[list[bytes], list[str]]] = {}
        found: list[Lane | None] = list(map(self._routes.get, rows.keys))
        for known, payload, key in zip(found, rows.data, rows.keys, strict=True):
            lane = known or self._route(key)
            column = columns.get(lane)
            if column is None:
                column = columns[lane] = ([], [])
            column[0].append(payload)
            column[1].append(key)
        return {lane: Rows(*column) for lane, column in columns.items()}

    def _group_with_hash_keys(self, rows: Rows, hash_keys: Sequence[str | None]) -> Groups:
        columns: dict[Lane, tuple[list[bytes], list[str], list[str | None]]] = {}
        for payload, key, hash_key in zip(rows.data, rows.keys, hash_keys, strict=True):
            lane = self._route(key) if hash_key is None else self._lane_of(int(hash_key))
            column = columns.setdefault(lane, ([], [], []))
            column[0].append(payload)
            column[1].append(key)
            column[2].append(hash_key)
        return {lane: Rows(*column) for lane, column in columns.items()}

    def _route(self, key: str) -> Lane:
        lane = self._routes.get(key)
        if lane is None:
            if len(self._routes) >= _REMEMBERED_KEYS:
                self._routes.clear()
            lane = self._routes[key] = self._lane_of(hash_of(key))
        return lane

    def _lane_of(self, hash_key: int) -> Lane:
        shard_id = self.shards.shard_of(hash_key)
        lane = self._lanes.get(shard_id)
        if lane is None:
            lane = self._lanes[shard_id] = Lane(shard_id, ShardPace(self.longest_window_us))
        return lane

    def use(self, shards: ShardMap) -> list[Lane]:
        """Go by *shards* from now on, and return the lanes of those that are no longer open."""
        self.shards = shards
        self._routes.clear()
        for lane in self.lanes:
            lane.is_gone = lane.shard_id not in shards.open_shards
        return [lane for lane in self.lanes if lane.is_gone]

    def misplaced(self, rows: Rows, shard_id: str) -> int:
        """Return how many of *rows* do not belong to the shard; all when we do not know it."""
        if shard_id not in self.shards.ranges:
            return len(rows)
        hashes = (hash_of(key, rows.hash_key(place)) for place, key in enumerate(rows.keys))
        return sum(not self.shards.owns(shard_id, hash_key) for hash_key in hashes)
