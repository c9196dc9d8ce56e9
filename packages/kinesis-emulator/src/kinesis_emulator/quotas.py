"""The limits of numbers: shards and on-demand streams of an account, streams that are CREATING, and changes of a stream in a day."""

from __future__ import annotations

from kinesis_emulator.errors import AwsError
from kinesis_emulator.service import Service
from kinesis_emulator.statuses import status_of
from kinesis_emulator.store import StoredStream

_DAY_MS = 24 * 3600 * 1000


def check_creation(service: Service, stream: StoredStream, shards: int) -> None:
    """
    Refuse to create *stream* with so many *shards* if that exceeds a limit of the account.

    Source: https://docs.aws.amazon.com/kinesis/latest/APIReference/API_CreateStream.html. The wording of the second refusal is a
    guess.
    """
    limits = service.settings.limits
    service.admit("CreateStream", f"account {stream.account_id}", limits.create_stream_per_s)
    now_ms = service.now_ms()
    others = service.store.list(stream.region, stream.account_id)
    if any(other.name == stream.name for other in others):
        return  # the name is in use, which is the error
    creating = sum(status_of(other, now_ms) == "CREATING" for other in others)
    if limits.streams_creating is not None and creating >= limits.streams_creating:
        raise _exceeded(
            f"Account {stream.account_id} already has the maximum of {creating} streams in CREATING status."
        )
    if stream.mode == "ON_DEMAND":
        check_on_demand(service, stream)
    check_shards(service, stream, shards)


def check_on_demand(service: Service, stream: StoredStream) -> None:
    """
    Refuse to let *stream* be an on-demand stream if the account has the maximum of them.

    Source: https://docs.aws.amazon.com/streams/latest/dev/service-sizes-and-limits.html. The wording is a guess.
    """
    most = service.settings.limits.on_demand_streams
    streams = service.store.list(stream.region, stream.account_id)
    current = sum(one.mode == "ON_DEMAND" for one in streams)
    if most is not None and current >= most:
        raise _exceeded(
            f"Account {stream.account_id} already has the maximum of {current} streams in On-Demand mode."
        )


def check_shards(service: Service, stream: StoredStream, additional: int) -> None:
    """
    Refuse *additional* shards that the account may not have. On-demand streams have no limit.

    The wording is that of AWS in kinesalite's tests.
    """
    most = service.settings.limits.shards_per_account
    if most is None or stream.mode == "ON_DEMAND" or additional <= 0:
        return
    current = service.open_shards(stream.region, stream.account_id)
    if current + additional > most:
        raise _exceeded(
            f"This request would exceed the shard limit for the account {stream.account_id} in {stream.region}. "
            f"Current shard count for the account: {current}. Limit: {most}. "
            f"Number of additional shards that would have resulted from this request: {additional}. "
            "Refer to the AWS Service Limits page (http://docs.aws.amazon.com/general/latest/gr/aws_service_limits.html) "
            "for current limits and how to request higher limits."
        )


def count_change(service: Service, stream: StoredStream, action: str, most: int | None) -> None:
    """
    Count a change of *stream* by *action*, or refuse it above *most* in a rolling day. The caller holds the stream's lock.

    The wording is a guess.
    """
    now_ms = service.now_ms()
    recent = [time_ms for time_ms in stream.changes_ms.get(action, ()) if time_ms > now_ms - _DAY_MS]
    if most is not None and len(recent) >= most:
        raise _exceeded(
            f"{action} has changed stream {stream.name} under account {stream.account_id} {len(recent)} times in the last "
            f"24 hours. Limit: {most}."
        )
    stream.changes_ms[action] = [*recent, now_ms]


def _exceeded(message: str) -> AwsError:
    return AwsError("LimitExceededException", message)
