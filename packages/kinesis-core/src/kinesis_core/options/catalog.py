"""The options that source and sink share: the stream and its region, credentials, the proxy, retries, workers."""

from __future__ import annotations

from kinesis_core.aws import Connection, RetryPolicy, Transport, WireFormat
from kinesis_core.options.credentials import (
    CREDENTIAL_ALTERNATIVES,
    CREDENTIAL_OPTIONS,
    CREDENTIALS,
)
from kinesis_core.options.foreign import SERVICE_CREDENTIAL
from kinesis_core.options.option import Alternatives, Option
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
from kinesis_core.options.proxy import PROXY_ALTERNATIVES, PROXY_OPTIONS

WHERE = "Where the stream is"
RETRIES = "Retries"
HTTP = "HTTP"
WORKERS = "Spark's Python workers"

_RETRY = RetryPolicy()
_CONNECTION = Connection(streams=(), region="")
_LONGEST_RETRY_S = 300
_LONGEST_OUTAGE_S = 86_400
_MOST_RETRIES = 100

STREAM_NAME = Option[tuple[str, ...]](
    name="streamName",
    meaning="The name of the stream, or several names separated by commas. All of them are in `streamRegion`.",
    parser=stream_names(),
    default=(),
    default_text="not set; the source requires `streamName` or `streamARN`",
    group=WHERE,
)
STREAM_ARN = Option[tuple[str, ...]](
    name="streamARN",
    meaning=(
        "The ARN of the stream, or several ARNs separated by commas. Streams may be in different regions, and in other "
        "accounts that grant access. Each stream is called in the region of its ARN."
    ),
    parser=stream_arns(),
    default=(),
    default_text="not set; the source requires `streamName` or `streamARN`",
    group=WHERE,
)
REGION = Option[str | None](
    name="region",
    meaning=(
        "The AWS region of the query: STS and DynamoDB are called there. It is also the region of the streams, unless "
        "`streamRegion` or an ARN names another."
    ),
    parser=region(),
    default=None,
    default_text=(
        "the first that is set: `streamRegion`, the region in the ARN, the region in the host of an AWS endpoint, "
        "`AWS_DEFAULT_REGION`, the region of the profile, `AWS_REGION`; else `us-east-1` for an endpoint outside AWS"
    ),
    group=WHERE,
)
STREAM_REGION = Option[str | None](
    name="streamRegion",
    meaning="The AWS region of the streams in `streamName`, if it is not `region`.",
    parser=region(),
    default=None,
    default_text="`region`",
    group=WHERE,
)
ENDPOINT_URL = Option[str | None](
    name="endpointUrl",
    meaning="The URL of Kinesis, for example of a VPC endpoint or a local server.",
    parser=url(),
    default=_CONNECTION.endpoint_url,
    default_text="botocore's endpoint of the region",
    group=WHERE,
)
MAX_RETRIES = Option[int](
    name="maxRetries",
    meaning=(
        "The minimum number of retries of a failed call. The call fails after these retries once no call has succeeded "
        "for `outageTimeout`. 0 means one attempt. Throttled calls do not count: they are repeated until they succeed. "
        "The sink retries its writes by `recordTtlMs`."
    ),
    parser=integer(0, _MOST_RETRIES, "retries"),
    default=_RETRY.max_retries,
    group=RETRIES,
)
RETRY_INTERVAL = Option[float](
    name="retryInterval",
    meaning=(
        "The maximum wait before the first retry. The maximum doubles with each retry, up to `maxRetryInterval`. Each wait "
        "is a random time up to its maximum."
    ),
    parser=duration(0, _LONGEST_RETRY_S, "s"),
    default=_RETRY.interval_s,
    group=RETRIES,
)
MAX_RETRY_INTERVAL = Option[float](
    name="maxRetryInterval",
    meaning="The maximum wait before any retry.",
    parser=duration(0, _LONGEST_RETRY_S, "s"),
    default=_RETRY.max_interval_s,
    group=RETRIES,
)

OUTAGE_TIMEOUT = Option[float](
    name="outageTimeout",
    meaning=(
        "How long Kinesis may be unavailable before a failed call fails the query. A call that fails while other calls "
        "succeed is retried for twice as long."
    ),
    parser=duration(0, _LONGEST_OUTAGE_S, "s"),
    default=_RETRY.outage_timeout_s,
    group=RETRIES,
)

HTTP_TRANSPORT = Option[Transport | None](
    name="httpTransport",
    meaning=(
        "Who sends the frequent calls. `direct`: this package, on connections that botocore opens. `botocore`: botocore signs and "
        "sends every call, which takes at least six times the CPU of a small call and three times that of a large page. Use it "
        "to find out whether `direct` causes a problem. A DEBUG event `transport.chosen` names the one in use."
    ),
    parser=one_of({transport.value: transport for transport in Transport}),
    default=None,
    default_text="the environment variable `KINESIS_HTTP_TRANSPORT`, else `direct`",
    group=HTTP,
)

WIRE_FORMAT = Option[WireFormat](
    name="wireFormat",
    meaning=(
        "The format of reads and writes on the wire. `cbor` is AWS's binary format: it sends payloads without base64, which saves a "
        "quarter of the bytes. It requires `pip install 'kinesis-core[cbor]'` on driver and executors, and has not been used "
        "against AWS yet. Other calls use `json`."
    ),
    parser=one_of({wire_format.value: wire_format for wire_format in WireFormat}),
    default=_CONNECTION.wire_format,
    group=HTTP,
)

CHECK_PERMISSIONS = Option[bool](
    name="checkPermissions",
    meaning=(
        "Whether the driver checks, before a query starts, that its credentials allow all calls of the query. Set it to "
        "`false` if only the credentials of the executors allow them."
    ),
    parser=boolean(),
    default=_CONNECTION.check_permissions,
    group=CREDENTIALS,
)

FREEZE_WORKER_HEAP = Option[bool](
    name="freezeWorkerHeap",
    meaning=(
        "Whether a Python worker excludes the objects that it has loaded from garbage collection (`gc.freeze`). This saves "
        "time in every task. It applies to the whole worker process, including user functions."
    ),
    parser=boolean(),
    default=True,
    group=WORKERS,
)

COMMON_OPTIONS = (
    STREAM_NAME,
    STREAM_ARN,
    REGION,
    STREAM_REGION,
    ENDPOINT_URL,
    *CREDENTIAL_OPTIONS,
    CHECK_PERMISSIONS,
    *PROXY_OPTIONS,
    HTTP_TRANSPORT,
    WIRE_FORMAT,
    MAX_RETRIES,
    RETRY_INTERVAL,
    MAX_RETRY_INTERVAL,
    OUTAGE_TIMEOUT,
    FREEZE_WORKER_HEAP,
)

COMMON_UNSUPPORTED = (SERVICE_CREDENTIAL,)
COMMON_ALTERNATIVES: tuple[Alternatives, ...] = (CREDENTIAL_ALTERNATIVES, PROXY_ALTERNATIVES)

SPARK_OPTIONS = ("path", "paths", "checkpointlocation", "queryname", "outputmode", "serialization.format")
"""The names that Spark passes to a source or sink in addition to the user's options, in lower case."""
