"""The shared options as a `Connection`."""

from __future__ import annotations

from kinesis_core.aws import Connection, RetryPolicy, StreamRef, WireFormat, check_cbor
from kinesis_core.errors import OptionError
from kinesis_core.options.catalog import (
    CHECK_PERMISSIONS,
    ENDPOINT_URL,
    HTTP_TRANSPORT,
    MAX_RETRIES,
    MAX_RETRY_INTERVAL,
    OUTAGE_TIMEOUT,
    REGION,
    RETRY_INTERVAL,
    STREAM_ARN,
    STREAM_NAME,
    STREAM_REGION,
    WIRE_FORMAT,
)
from kinesis_core.options.credentials import read_credentials
from kinesis_core.options.option import PREFIX
from kinesis_core.options.proxy import read_proxy
from kinesis_core.options.table import Values
from kinesis_credentials import (
    CredentialsError,
    CredentialSpec,
    find_endpoint_region,
    resolve_region,
)

_AWSLABS_REGION = f"{PREFIX}{REGION.name}"


def read_connection(
    values: Values, *, needs_stream: bool = True, endpoint_goes_first: bool = False
) -> Connection:
    """
    Return the connection that the shared options in *values* describe. It makes no network call.

    With *endpoint_goes_first*, awslabs' `kinesis.region` may differ from the region of an AWS endpoint. The source of
    awslabs calls Kinesis in the region of the endpoint, and DynamoDB in `kinesis.region`.

    Raises:
        OptionError: No stream is named, two options contradict each other, keys are incomplete, no region is found, or
            `wireFormat` is `cbor` and its package is not installed.
    """
    streams = _read_streams(values)
    if needs_stream and not streams:
        hint = " The argument of load() does not name a stream." if values.path is not None else ""
        raise OptionError(f"Option 'streamName' or 'streamARN' is required.{hint}")
    credentials = read_credentials(values)
    is_elsewhere = endpoint_goes_first and _is_endpoint_elsewhere(values)
    stream_region = _read_stream_region(values, credentials, has_region=not is_elsewhere)
    retry_s, max_retry_s = _read_retry_intervals(values)
    return Connection(
        streams=streams,
        region=values[REGION] or stream_region,
        endpoint_url=values[ENDPOINT_URL],
        credentials=credentials,
        retry=RetryPolicy(values[MAX_RETRIES], retry_s, max_retry_s, values[OUTAGE_TIMEOUT]),
        proxy_url=read_proxy(values),
        stream_region=stream_region if values[REGION] not in (None, stream_region) else None,
        transport=values[HTTP_TRANSPORT],
        check_permissions=values[CHECK_PERMISSIONS],
        wire_format=_read_wire_format(values),
    )


def ignored_region(values: Values, connection: Connection) -> tuple[str, ...]:
    """Return a line for the log if Kinesis is called in another region than the one that the user named."""
    if connection.stream_region is None or values.is_given(STREAM_REGION):
        return ()
    return (
        f"Option '{_AWSLABS_REGION}' set to '{connection.region}' is the region of STS and DynamoDB. Kinesis is called in "
        f"'{connection.stream_region}', the region of 'endpointUrl'.",
    )


def _read_streams(values: Values) -> tuple[StreamRef, ...]:
    names, arns = values[STREAM_NAME], values[STREAM_ARN]
    if not arns:
        return tuple(StreamRef(name) for name in names)
    streams = tuple(StreamRef(arn.rpartition("/")[2], arn) for arn in arns)
    found = [stream.name for stream in streams]
    if names and set(names) != set(found):
        raise OptionError(
            f"{values.label(STREAM_NAME)} names {', '.join(names)}, and {values.label(STREAM_ARN)} names "
            f"{', '.join(found)}. Keep one of them."
        )
    return streams


def _is_endpoint_elsewhere(values: Values) -> bool:
    """
    Return whether streams by name are at an AWS endpoint outside the region that awslabs' option names.

    Raises:
        OptionError: The same region is also given by a name that means the region of the streams.
    """
    endpoint_url, names = values[ENDPOINT_URL], values.spellings(REGION)
    by_awslabs = [name for name in names if name.strip().lower() == _AWSLABS_REGION]
    if (
        endpoint_url is None
        or values.is_given(STREAM_ARN)
        or values.is_given(STREAM_REGION)
        or not by_awslabs
    ):
        return False
    found = find_endpoint_region(endpoint_url)
    if found in (None, values[REGION]):
        return False
    others = [name for name in names if name not in by_awslabs]
    if others:
        raise OptionError(
            f"Options '{others[0]}' and '{by_awslabs[0]}' contradict each other: '{others[0]}' is the region of the streams, "
            f"'{by_awslabs[0]}' is not, and 'endpointUrl' is in '{found}'. Keep one of them."
        )
    return True


def _read_stream_region(values: Values, credentials: CredentialSpec, *, has_region: bool) -> str:
    try:
        return resolve_region(
            credentials,
            region=values[STREAM_REGION] or (values[REGION] if has_region else None),
            arns=values[STREAM_ARN],
            endpoint_url=values[ENDPOINT_URL],
        )
    except CredentialsError as error:
        raise OptionError(str(error)) from error


def _read_wire_format(values: Values) -> WireFormat:
    wire_format = values[WIRE_FORMAT]
    if wire_format is WireFormat.CBOR:
        check_cbor()
    return wire_format


def _read_retry_intervals(values: Values) -> tuple[float, float]:
    """Return both intervals. If only one is given, the default of the other is adjusted to it."""
    first_s, longest_s = values[RETRY_INTERVAL], values[MAX_RETRY_INTERVAL]
    if first_s <= longest_s:
        return first_s, longest_s
    if not values.is_given(MAX_RETRY_INTERVAL):
        return first_s, first_s
    if not values.is_given(RETRY_INTERVAL):
        return longest_s, longest_s
    raise OptionError(
        f"{values.label(RETRY_INTERVAL)} accepts at most the value of '{MAX_RETRY_INTERVAL.name}', "
        f"{MAX_RETRY_INTERVAL.parser.show(longest_s)}; got {RETRY_INTERVAL.parser.show(first_s)}."
    )
