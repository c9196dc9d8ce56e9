"""The options that source and sink share: where the stream is, retries, and those about credentials and a proxy."""

from __future__ import annotations

from kinesis_core.aws import RetryPolicy
from kinesis_core.options.clamps import clamped_duration, clamped_integer
from kinesis_core.options.credentials import CREDENTIAL_OPTIONS, CREDENTIALS, CREDENTIALS_UNSUPPORTED
from kinesis_core.options.option import Option, awslabs, databricks, qubole
from kinesis_core.options.parsers import boolean, duration, integer, region, stream_arns, stream_names, url
from kinesis_core.options.proxy import PROXY_OPTIONS

WHERE = "Where the stream is"
RETRIES = "Retries"
WORKERS = "Spark's Python workers"

_DEFAULTS = RetryPolicy()
_LONGEST_RETRY_S = 300
_LONGEST_OUTAGE_S = 86_400
_MILLISECONDS = duration(0, _LONGEST_RETRY_S, "ms")
_AWSLABS_MILLISECONDS = clamped_duration(0, _LONGEST_RETRY_S, "ms")
_MOST_RETRIES = 100

STREAM_NAME = Option[tuple[str, ...]](
    name="streamName",
    meaning="The stream, or several with commas between, all in `streamRegion`.",
    parser=stream_names(),
    default=(),
    default_text="this or `streamARN` is required",
    group=WHERE,
    aliases=(awslabs("kinesis.streamName"), qubole("streamName"), databricks("streamName")),
)
STREAM_ARN = Option[tuple[str, ...]](
    name="streamARN",
    meaning=(
        "The stream by its ARN, or several with commas between: also of other regions, and of other accounts that grant "
        "access. Each is called in the region of its ARN."
    ),
    parser=stream_arns(),
    default=(),
    default_text="this or `streamName` is required",
    group=WHERE,
    aliases=(databricks("streamARN"),),
)
REGION = Option[str | None](
    name="region",
    meaning="The AWS region that the query runs in: STS and DynamoDB are asked there, and the streams are there as well "
    "unless `streamRegion` or an ARN says otherwise.",
    parser=region(),
    default=None,
    default_text=(
        "`streamRegion`, or from the ARN, the host of an AWS endpoint, botocore's chain, `AWS_REGION`; "
        "`us-east-1` for an endpoint outside AWS"
    ),
    group=WHERE,
    aliases=(awslabs("kinesis.region"), qubole("regionName"), databricks("region")),
)
STREAM_REGION = Option[str | None](
    name="streamRegion",
    meaning="The AWS region of the streams that go by `streamName`, where that is not the one that the query runs in.",
    parser=region(),
    default=None,
    default_text="`region`",
    group=WHERE,
    aliases=(awslabs("kinesis.kinesisRegion"),),
)
ENDPOINT_URL = Option[str | None](
    name="endpointUrl",
    meaning="Where Kinesis answers: a VPC endpoint, or a local server.",
    parser=url(),
    default=None,
    default_text="botocore's, for the region",
    group=WHERE,
    aliases=(
        awslabs("kinesis.endpointUrl"),
        qubole("endpointUrl"),
        databricks("endpoint", url(default_scheme="https")),
    ),
)
MAX_RETRIES = Option[int](
    name="maxRetries",
    meaning=(
        "Minimum number of retries of a failed call. The call fails after these retries once no call has succeeded for "
        "`outageTimeout`. 0 means one attempt. Throttles do not count: they are waited out. The sink retries its "
        "writes until `recordTtlMs`."
    ),
    parser=integer(0, _MOST_RETRIES, "retries"),
    default=_DEFAULTS.max_retries,
    default_text=str(_DEFAULTS.max_retries),
    group=RETRIES,
    aliases=(
        awslabs("kinesis.clientNumRetries", clamped_integer(0, _MOST_RETRIES, "retries")),
        qubole("kinesis.client.numRetries"),
    ),
)
RETRY_INTERVAL = Option[float](
    name="retryInterval",
    meaning="The wait before the first retry at most; it doubles from one to the next, and chance shortens each.",
    parser=duration(0, _LONGEST_RETRY_S, "s"),
    default=_DEFAULTS.interval_s,
    default_text=f"{_DEFAULTS.interval_s:g} s",
    group=RETRIES,
    aliases=(
        awslabs("kinesis.clientRetryIntervalsMs", _AWSLABS_MILLISECONDS),
        qubole("kinesis.client.retryIntervalMs", _MILLISECONDS),
    ),
)
MAX_RETRY_INTERVAL = Option[float](
    name="maxRetryInterval",
    meaning="The longest wait before a retry.",
    parser=duration(0, _LONGEST_RETRY_S, "s"),
    default=_DEFAULTS.max_interval_s,
    default_text=f"{_DEFAULTS.max_interval_s:g} s",
    group=RETRIES,
    aliases=(
        awslabs("kinesis.clientMaxRetryIntervalMs", _AWSLABS_MILLISECONDS),
        qubole("kinesis.client.maxRetryIntervalMs", _MILLISECONDS),
    ),
)

OUTAGE_TIMEOUT = Option[float](
    name="outageTimeout",
    meaning=(
        "How long Kinesis may be unavailable before a failed call fails the query. A call that fails while other calls "
        "succeed is retried for twice as long."
    ),
    parser=duration(0, _LONGEST_OUTAGE_S, "s"),
    default=_DEFAULTS.outage_timeout_s,
    default_text=f"{_DEFAULTS.outage_timeout_s:g} s",
    group=RETRIES,
)

CHECK_PERMISSIONS = Option[bool](
    name="checkPermissions",
    meaning="Whether the driver checks before a query starts that its credentials allow the calls that will follow. Set it to "
    "`false` if only the executors' credentials allow them.",
    parser=boolean(),
    default=True,
    default_text="`true`",
    group=CREDENTIALS,
)

FREEZE_WORKER_HEAP = Option[bool](
    name="freezeWorkerHeap",
    meaning=(
        "Whether a Python worker sets what it has loaded aside from garbage collection (`gc.freeze`), which spares "
        "each task about 45 ms. It holds for the whole worker process."
    ),
    parser=boolean(),
    default=True,
    default_text="`true`",
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
    MAX_RETRIES,
    RETRY_INTERVAL,
    MAX_RETRY_INTERVAL,
    OUTAGE_TIMEOUT,
    FREEZE_WORKER_HEAP,
)

COMMON_UNSUPPORTED = CREDENTIALS_UNSUPPORTED

SPARK_OPTIONS = ("path", "paths", "checkpointlocation", "queryname", "outputmode", "serialization.format")
"""What Spark hands to a source or sink beside the user's own options, in lower case."""
