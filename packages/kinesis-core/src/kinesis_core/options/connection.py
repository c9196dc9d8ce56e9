"""How to reach the streams, from the options that source and sink share."""

from __future__ import annotations

from attrs import frozen

from kinesis_core.errors import OptionError
from kinesis_core.options.catalog import (
    AWS_ACCESS_KEY_ID,
    AWS_PROFILE,
    AWS_SECRET_KEY,
    ENDPOINT_URL,
    MAX_RETRIES,
    MAX_RETRY_INTERVAL,
    REGION,
    RETRY_INTERVAL,
    SESSION_TOKEN,
    STREAM_ARN,
    STREAM_NAME,
)
from kinesis_core.options.table import Values
from kinesis_credentials import (
    CredentialsError,
    CredentialSpec,
    DefaultChain,
    IncompleteKeysError,
    Profile,
    StaticKeys,
    resolve_region,
)

_DEFAULT_CREDENTIALS = DefaultChain()
_KEY_PARTS = (AWS_ACCESS_KEY_ID, AWS_SECRET_KEY, SESSION_TOKEN)


@frozen
class StreamRef:
    """A stream as the user named it."""

    name: str
    arn: str | None = None


@frozen
class ConnectionOptions:
    """Everything needed to call Kinesis. It pickles, and its repr shows no secret."""

    streams: tuple[StreamRef, ...]
    region: str
    endpoint_url: str | None = None
    credentials: CredentialSpec = _DEFAULT_CREDENTIALS
    max_retries: int = MAX_RETRIES.default
    retry_interval_s: float = RETRY_INTERVAL.default
    max_retry_interval_s: float = MAX_RETRY_INTERVAL.default

    @staticmethod
    def from_values(values: Values, *, needs_stream: bool = True) -> ConnectionOptions:
        """
        Return what the shared options in *values* say; calls nothing over the network.

        Raises:
            OptionError: No stream is named, two options contradict each other, keys are incomplete, or no region
                is found.
        """
        streams = _read_streams(values)
        if needs_stream and not streams:
            hint = " What load() is given names no stream." if values.path is not None else ""
            raise OptionError(f"Option 'streamName' or 'streamARN' is required.{hint}")
        credentials = _read_credentials(values)
        retry_s, max_retry_s = _read_retry_intervals(values)
        return ConnectionOptions(
            streams=streams,
            region=_read_region(values, credentials),
            endpoint_url=values[ENDPOINT_URL],
            credentials=credentials,
            max_retries=values[MAX_RETRIES],
            retry_interval_s=retry_s,
            max_retry_interval_s=max_retry_s,
        )


def _read_streams(values: Values) -> tuple[StreamRef, ...]:
    names, arns = values[STREAM_NAME], values[STREAM_ARN]
    if not arns:
        return tuple(StreamRef(name) for name in names)
    streams = tuple(StreamRef(arn.rpartition("/")[2], arn) for arn in arns)
    found = [stream.name for stream in streams]
    if len(set(found)) < len(found):
        raise OptionError(
            f"{values.label(STREAM_ARN)} names two streams called alike; read them with one source each."
        )
    if names and set(names) != set(found):
        raise OptionError(
            f"{values.label(STREAM_NAME)} names {', '.join(names)}, and {values.label(STREAM_ARN)} names "
            f"{', '.join(found)}. Keep one of them."
        )
    return streams


def _read_credentials(values: Values) -> CredentialSpec:
    key_id, secret, token = values[AWS_ACCESS_KEY_ID], values[AWS_SECRET_KEY], values[SESSION_TOKEN]
    profile = values[AWS_PROFILE]
    if key_id is None and secret is None and token is None:
        return _DEFAULT_CREDENTIALS if profile is None else Profile(profile)
    if profile is not None:
        raise OptionError(
            f"{values.label(AWS_PROFILE)} and explicit keys are two sources of credentials. Keep one of them."
        )
    if key_id is None or secret is None:
        have = next(part for part in _KEY_PARTS if values[part] is not None)
        missing = " and ".join(f"'{part.name}'" for part in _KEY_PARTS[:2] if values[part] is None)
        raise OptionError(f"{values.label(have)} needs {missing} beside it.")
    try:
        return StaticKeys(key_id, secret, token)
    except IncompleteKeysError as error:
        raise OptionError(f"{values.label(AWS_ACCESS_KEY_ID)} and its like are damaged. {error}") from None


def _read_region(values: Values, credentials: CredentialSpec) -> str:
    try:
        return resolve_region(
            credentials,
            region=values[REGION],
            arns=values[STREAM_ARN],
            endpoint_url=values[ENDPOINT_URL],
        )
    except CredentialsError as error:
        raise OptionError(str(error)) from error


def _read_retry_intervals(values: Values) -> tuple[float, float]:
    """Return both intervals; where only one is given, the other one's default gives way to it."""
    first_s, longest_s = values[RETRY_INTERVAL], values[MAX_RETRY_INTERVAL]
    if first_s <= longest_s:
        return first_s, longest_s
    if not values.is_given(MAX_RETRY_INTERVAL):
        return first_s, first_s
    if not values.is_given(RETRY_INTERVAL):
        return longest_s, longest_s
    raise OptionError(
        f"{values.label(RETRY_INTERVAL)} accepts at most the longest wait, {longest_s:g} s; got {first_s:g} s."
    )
