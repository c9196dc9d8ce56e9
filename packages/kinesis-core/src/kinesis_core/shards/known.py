"""Which shards Kinesis knows, listed or not: ListShards is eventually consistent."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol, TypeVar

from kinesis_core.aws import StreamApi
from kinesis_core.errors import InvalidRequestError, StreamNotFoundError
from kinesis_core.model import TrimHorizon

R = TypeVar("R")


class RunAll(Protocol):
    """Applies a function to every shard id, as `map` does, concurrently or not. It begins them in their order."""

    def __call__(self, plan: Callable[[str], R], shards: Iterable[str], /) -> Iterable[R]: ...


def is_known(api: StreamApi, shard_id: str) -> bool:
    """
    Return whether Kinesis knows the shard.

    Raises:
        ServiceError: The call failed for another reason.
    """
    try:
        api.get_iterator(shard_id, TrimHorizon())
    except (StreamNotFoundError, InvalidRequestError):  # a user may name a shard that never existed
        return False
    return True


def find_known(
    shard_ids: Iterable[str], is_known: Callable[[str], bool], run_all: RunAll = map
) -> tuple[str | None, set[str]]:
    """
    Return the first of *shard_ids*, in the order of their ids, that *is_known*, and those that are gone. *run_all* makes the calls.

    Shards after a known one are not asked for. Those whose calls are under way then are finished.
    """
    known: list[str] = []

    def is_gone(shard_id: str) -> bool:
        if known and min(known) < shard_id:
            return False
        if is_known(shard_id):
            known.append(shard_id)
            return False
        return True

    asked = sorted(shard_ids)
    gone = {shard_id for shard_id, left in zip(asked, run_all(is_gone, asked), strict=True) if left}
    return min(known, default=None), gone
