"""The options that source and sink share, and the connection that they describe."""

from __future__ import annotations

from kinesis_core.aws import Connection, RetryPolicy, StreamRef, Transport, WireFormat, check_cbor
from kinesis_core.errors import OptionError
from kinesis_core.options.credentials import CREDENTIAL_ALTERNATIVES, CREDENTIALS, read_credentials
from kinesis_core.options.foreign import SERVICE_CREDENTIAL
from kinesis_core.options.option import PREFIX, Alternatives, Group
from kinesis_core.options.parsers import (
    boolean,
    duration,
    integer,
    one_of,
    region,
    stream_arns,
    stream_names,
    url,
)
from kinesis_core.options.proxy import PROXY, PROXY_ALTERNATIVES, read_proxy
from kinesis_core.options.table import Values
from kinesis_credentials import CredentialsError, CredentialSpec, find_endpoint_region, resolve_region

WHERE = Group("Where the stream is")
RETRIES = Group("Retries")
HTTP = Group("HTTP")
WORKERS = Group("Spark's Python workers")

_RETRY = RetryPolicy()
_CONNECTION = Connection(streams=(), region="")
_LONGEST_RETRY_S = 300

STREAM_NAME = WHERE.option(
    name="streamName",
    meaning="The name of the stream, or several names separated by commas. All of them are in `streamRegion`.",
    parser=stream_names(),
    default=(),
    default_text="not set; the source requires `streamName` or `streamARN`",
)
STREAM_ARN = WHERE.option(
    name="streamARN",
    meaning=(
        "The ARN of the stream, or several ARNs separated by commas. Streams may be in different regions, and in other "
        "accounts that grant access. Each stream is called in the region of its ARN."
    ),
    parser=stream_arns(),
    default=(),
    default_text="not set; the source requires `streamName` or `streamARN`",
)
REGION = WHERE.option(
    name="region",
    meaning=(
        "The AWS region of the query: STS and DynamoDB are called there. It is also the region of the streams, unless "
        "`streamRegion` or an ARN names another."
    ),
    parser=region(),
    default_text=(
        "the first that is set: `streamRegion`, the region in the ARN, the region in the host of an AWS endpoint, "
        "`AWS_DEFAULT_REGION`, the region of the profile, `AWS_REGION`; else `us-east-1` for an endpoint outside AWS"
    ),
)
STREAM_REGION = WHERE.option(
    name="streamRegion",
    meaning="The AWS region of the streams in `streamName`, if it is not `region`.",
    parser=region(),
    default_text="`region`",
)
ENDPOINT_URL = WHERE.option(
    name="endpointUrl",
    meaning="The URL of Kinesis, for example of a VPC endpoint or a local server.",
    parser=url(),
    default=_CONNECTION.endpoint_url,
    default_text="botocore's endpoint of the region",
)
MAX_RETRIES = RETRIES.option(
    name="maxRetries",
    meaning=(
        "The minimum number of retries of a failed call. The call fails after these retries once no call has succeeded "
        "for `outageTimeout`. 0 means one attempt. Throttled calls do not count: they are repeated until they succeed. "
        "The sink retries its writes by `recordTtlMs`."
    ),
    parser=integer(0, 100, "retries"),
    default=_RETRY.max_retries,
)
RETRY_INTERVAL = RETRIES.option(
    name="retryInterval",
    meaning=(
        "The maximum wait before the first retry. The maximum doubles with each retry, up to `maxRetryInterval`. Each wait "
        "is a random time up to its maximum."
    ),
    parser=duration(0, _LONGEST_RETRY_S, "s"),
    default=_RETRY.interval_s,
)
MAX_RETRY_INTERVAL = RETRIES.option(
    name="maxRetryInterval",
    meaning="The maximum wait before any retry.",
    parser=duration(0, _LONGEST_RETRY_S, "s"),
    default=_RETRY.max_interval_s,
)

OUTAGE_TIMEOUT = RETRIES.option(
    name="outageTimeout",
    meaning=(
        "How long Kinesis may be unavailable before a failed call fails the query. A call that fails while other calls "
        "succeed is retried for twice as long."
    ),
    parser=duration(0, 86_400, "s"),
    default=_RETRY.outage_timeout_s,
)

HTTP_TRANSPORT = HTTP.option(
    name="httpTransport",
    meaning=(
        "Who sends the frequent calls. `direct`: this package, on connections that botocore opens. `botocore`: botocore signs "
        "and sends every call. This takes at least six times the CPU for a small call, and three times the CPU for a large "
        "page. Use it "
        "to find out whether `direct` causes a problem. The DEBUG event `transport.chosen` names the choice."
    ),
    parser=one_of({transport.value: transport for transport in Transport}),
    default_text="the environment variable `KINESIS_HTTP_TRANSPORT`, else `direct`",
)

WIRE_FORMAT = HTTP.option(
    name="wireFormat",
    meaning=(
        "The format of reads and writes on the wire. `cbor` is AWS's binary format: it sends payloads without base64, which saves a "
        "quarter of the bytes. It requires `pip install 'kinesis-core[cbor]'` on driver and executors, and has not been used "
        "against AWS yet. Other calls use `json`."
    ),
    parser=one_of({wire_format.value: wire_format for wire_format in WireFormat}),
    default=_CONNECTION.wire_format,
)

CHECK_PERMISSIONS = CREDENTIALS.option(
    name="checkPermissions",
    meaning=(
        "Whether the driver checks, before a query starts, that its credentials allow all calls of the query. Set it to "
        "`false` if only the credentials of the executors allow them."
    ),
    parser=boolean(),
    default=_CONNECTION.check_permissions,
)

FREEZE_WORKER_HEAP = WORKERS.option(
    name="freezeWorkerHeap",
    meaning=(
        "Whether a Python worker excludes the objects that it has loaded from garbage collection (`gc.freeze`). This saves "
        "time in every task. It applies to the whole worker process, including user functions."
    ),
    parser=boolean(),
    default=True,
)

COMMON_OPTIONS = tuple(
    option for group in (WHERE, CREDENTIALS, PROXY, HTTP, RETRIES, WORKERS) for option in group.options
)

COMMON_UNSUPPORTED = (SERVICE_CREDENTIAL,)
COMMON_ALTERNATIVES: tuple[Alternatives, ...] = (CREDENTIAL_ALTERNATIVES, PROXY_ALTERNATIVES)

SPARK_OPTIONS = ("path", "paths", "checkpointlocation", "queryname", "outputmode", "serialization.format")
"""The names that Spark passes to a source or sink in addition to the user's options, in lower case."""


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
        raise OptionError(error.what, advice=error.advice) from error


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
        f"{values.label(RETRY_INTERVAL)} is {RETRY_INTERVAL.parser.show(first_s)}. Use at most the value of "
        f"'{MAX_RETRY_INTERVAL.name}', {MAX_RETRY_INTERVAL.parser.show(longest_s)}."
    )
