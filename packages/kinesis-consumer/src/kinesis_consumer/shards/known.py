"""Whether Kinesis knows a shard. A listing cannot say it: ListShards is eventually consistent, and may leave out any shard."""

from __future__ import annotations

from kinesis_core.aws import StreamApi
from kinesis_core.errors import InvalidRequestError, StreamNotFoundError
from kinesis_core.model import TrimHorizon


def is_known(api: StreamApi, shard_id: str) -> bool:
    """
    Return whether Kinesis knows the shard, listed or not.

    Raises:
        ServiceError: The call failed for another reason.
    """
    try:
        api.get_iterator(shard_id, TrimHorizon())
    except (StreamNotFoundError, InvalidRequestError):
        return False
    return True
