"""Shards that the user has chosen: when all of them are read to their end."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from attrs import define, field

if TYPE_CHECKING:
    from kinesis_core.model import Shard


@define
class Chosen:
    """Chosen shards, and the stream's shards when reading began."""

    shard_ids: frozenset[str]
    shards: Mapping[str, Shard]
    _seen: set[str] = field(factory=set, init=False)

    @staticmethod
    def of(shard_ids: frozenset[str], shards: Iterable[Shard]) -> Chosen:
        return Chosen(shard_ids, {shard.shard_id: shard for shard in shards})

    @property
    def are_closed(self) -> bool:
        """Whether all of them were closed when reading began."""
        return not any(self._is_open(shard_id) for shard_id in self.shard_ids)

    def have_ended(self, offset: Mapping[str, Any]) -> bool:
        """Return whether all of them are read to their end at *offset*, which comes after those that were given before."""
        (stream,) = offset["streams"].values()
        self._seen |= set(stream["shards"])
        unfinished = {shard_id for shard_id, shard in stream["shards"].items() if "SHARD_END" not in shard}
        return not any(self._is_to_come(shard_id, unfinished) for shard_id in self.shard_ids)

    def _is_to_come(self, shard_id: str, unfinished: set[str]) -> bool:
        """An offset has no shard that is finished, or that waits for its ancestors."""
        from kinesis_core.model import ancestors

        if shard_id in unfinished:
            return True
        if shard_id in self._seen:
            return False
        return self._is_open(shard_id) or bool(unfinished & ancestors([shard_id], self.shards))

    def _is_open(self, shard_id: str) -> bool:
        shard = self.shards.get(shard_id)
        return shard is not None and shard.is_open
