"""The options that source and sink share: where the stream is, credentials, retries."""

from __future__ import annotations

from kinesis_core.options.option import Option, Unneeded, Unsupported, awslabs, databricks, qubole
from kinesis_core.options.parsers import (
    duration,
    integer,
    optional_text,
    region,
    stream_arns,
    stream_names,
    text,
    url,
)

WHERE = "Where the stream is"
CREDENTIALS = "Credentials"
RETRIES = "Retries"

_LONGEST_RETRY_S = 300
_MILLISECONDS = duration(0, _LONGEST_RETRY_S, "ms")

STREAM_NAME = Option[tuple[str, ...]](
    name="streamName",
    meaning="The stream, or several with commas between. All are in one region.",
    parser=stream_names(),
    default=(),
    default_text="this or `streamARN` is required",
    group=WHERE,
    aliases=(awslabs("kinesis.streamName"), qubole("streamName"), databricks("streamName")),
)
STREAM_ARN = Option[tuple[str, ...]](
    name="streamARN",
    meaning="The stream by its ARN, or several with commas between; also one of another account that grants access.",
    parser=stream_arns(),
    default=(),
    default_text="this or `streamName` is required",
    group=WHERE,
    aliases=(databricks("streamARN"),),
)
REGION = Option[str | None](
    name="region",
    meaning="The AWS region to sign requests for.",
    parser=region(),
    default=None,
    default_text=(
        "from the ARN, the host of an AWS endpoint, botocore's chain, `AWS_REGION`; "
        "`us-east-1` for an endpoint outside AWS"
    ),
    group=WHERE,
    aliases=(
        awslabs("kinesis.region"),
        awslabs("kinesis.kinesisRegion"),
        qubole("regionName"),
        databricks("region"),
    ),
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
AWS_ACCESS_KEY_ID = Option[str | None](
    name="awsAccessKeyId",
    meaning="The id of an access key, together with `awsSecretKey`.",
    parser=text("the id of an access key"),
    default=None,
    default_text="botocore's chain",
    group=CREDENTIALS,
    aliases=(
        awslabs("kinesis.awsAccessKeyId"),
        qubole("awsAccessKeyId"),
        databricks("awsAccessKey"),
    ),
    is_secret=True,
)
AWS_SECRET_KEY = Option[str | None](
    name="awsSecretKey",
    meaning="The secret of the access key.",
    parser=text("the secret of an access key"),
    default=None,
    default_text="botocore's chain",
    group=CREDENTIALS,
    aliases=(awslabs("kinesis.awsSecretKey"), qubole("awsSecretKey"), databricks("awsSecretKey")),
    is_secret=True,
)
SESSION_TOKEN = Option[str | None](
    name="sessionToken",
    meaning="The session token that belongs to a temporary access key.",
    parser=optional_text("the session token of a temporary access key"),
    default=None,
    default_text="none",
    group=CREDENTIALS,
    aliases=(awslabs("kinesis.sessionToken"), qubole("sessionToken"), databricks("sessionToken")),
    is_secret=True,
)
AWS_PROFILE = Option[str | None](
    name="awsProfile",
    meaning="A profile of the AWS configuration files, which driver and executors must have.",
    parser=text("the name of a profile"),
    default=None,
    default_text="botocore's chain",
    group=CREDENTIALS,
)
MAX_RETRIES = Option[int](
    name="maxRetries",
    meaning="How often a failed call is tried again; 0 means one attempt.",
    parser=integer(0, 100, "retries"),
    default=5,
    default_text="5",
    group=RETRIES,
    aliases=(awslabs("kinesis.clientNumRetries"), qubole("kinesis.client.numRetries")),
)
RETRY_INTERVAL = Option[float](
    name="retryInterval",
    meaning="The wait before the first retry at most; it doubles from one to the next, and chance shortens each.",
    parser=duration(0, _LONGEST_RETRY_S, "s"),
    default=1.0,
    default_text="1 s",
    group=RETRIES,
    aliases=(
        awslabs("kinesis.clientRetryIntervalsMs", _MILLISECONDS),
        qubole("kinesis.client.retryIntervalMs", _MILLISECONDS),
    ),
)
MAX_RETRY_INTERVAL = Option[float](
    name="maxRetryInterval",
    meaning="The longest wait before a retry.",
    parser=duration(0, _LONGEST_RETRY_S, "s"),
    default=10.0,
    default_text="10 s",
    group=RETRIES,
    aliases=(
        awslabs("kinesis.clientMaxRetryIntervalMs", _MILLISECONDS),
        qubole("kinesis.client.maxRetryIntervalMs", _MILLISECONDS),
    ),
)

COMMON_OPTIONS = (
    STREAM_NAME,
    STREAM_ARN,
    REGION,
    ENDPOINT_URL,
    AWS_ACCESS_KEY_ID,
    AWS_SECRET_KEY,
    SESSION_TOKEN,
    AWS_PROFILE,
    MAX_RETRIES,
    RETRY_INTERVAL,
    MAX_RETRY_INTERVAL,
)

COMMON_UNSUPPORTED = (
    Unsupported(
        names=("stsRoleArn", "awsSTSRoleARN", "roleArn"),
        feature="assuming a role",
        instead="A profile with role_arn, named by 'awsProfile' or AWS_PROFILE, assumes it.",
    ),
    Unsupported(
        names=("awsUseInstanceProfile",),
        feature="the instance profile alone",
        instead="Leave it out: the default chain ends with the instance profile.",
        accepted=("false",),
        refused=("true",),
        accepted_reason="without other credentials botocore's default chain is used",
    ),
    Unsupported(
        names=("credentialProviderClass",),
        feature="credentials from a class of your own",
        instead="A profile with credential_process, named by 'awsProfile', runs a program of your own.",
    ),
    Unsupported(
        names=("serviceCredential",),
        feature="Unity Catalog's service credentials",
        instead="Use a profile, keys, or botocore's default chain.",
    ),
    Unsupported(
        names=("proxyUrl", "kinesis.sink.proxyAddress", "proxyAddress"),
        feature="a proxy",
        instead="botocore follows HTTPS_PROXY in the environment of driver and executors.",
    ),
)

COMMON_UNNEEDED = (
    Unneeded(
        names=(
            "stsSessionName",
            "awsSTSSessionName",
            "roleSessionName",
            "stsExternalId",
            "roleExternalId",
            "stsEndpointUrl",
            "stsEndpoint",
        ),
        reason="it belongs to assuming a role, and no role is given",
    ),
    Unneeded(
        names=("credentialProviderParam",),
        reason="it belongs to a credential provider class, and none is given",
    ),
    Unneeded(
        names=(
            "kinesis.sink.proxyPort",
            "kinesis.sink.proxyUsername",
            "kinesis.sink.proxyPassword",
            "proxyPort",
            "proxyUsername",
            "proxyPassword",
        ),
        reason="it belongs to a proxy, and none is given",
    ),
)

SPARK_OPTIONS = ("path", "paths", "checkpointlocation", "queryname", "outputmode", "serialization.format")
"""What Spark hands to a source or sink beside the user's own options, in lower case."""
