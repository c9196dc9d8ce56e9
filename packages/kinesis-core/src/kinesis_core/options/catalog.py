"""The options that source and sink share: where the stream is, credentials, retries."""

from __future__ import annotations

from kinesis_core.options.option import Option, Unneeded, Unsupported, awslabs, databricks, qubole
from kinesis_core.options.parsers import (
    boolean,
    duration,
    integer,
    matching,
    optional_text,
    proxy_url,
    region,
    stream_arns,
    stream_names,
    text,
    url,
)

WHERE = "Where the stream is"
CREDENTIALS = "Credentials"
PROXY = "Proxy"
RETRIES = "Retries"

_LONGEST_RETRY_S = 300
_MILLISECONDS = duration(0, _LONGEST_RETRY_S, "ms")

STREAM_NAME = Option[tuple[str, ...]](
    name="streamName",
    meaning="The stream, or several with commas between, all in the region that `region` tells of.",
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
    meaning="The AWS region to sign requests for, where a stream's ARN does not tell it.",
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
AWS_USE_INSTANCE_PROFILE = Option[bool](
    name="awsUseInstanceProfile",
    meaning="Whether the role of the EC2 instance is used, by IMDSv2, and nothing else is asked.",
    parser=boolean(),
    default=False,
    default_text="`false`: botocore's chain, which ends with it",
    group=CREDENTIALS,
    aliases=(qubole("awsUseInstanceProfile"),),
)
CREDENTIAL_PROVIDER_CLASS = Option[str | None](
    name="credentialProviderClass",
    meaning="A class of your own that gives credentials, by its dotted Python path; driver and executors must have it.",
    parser=matching(
        r"[^\W\d]\w*(\.[^\W\d]\w*)+", "the dotted path of a Python class, such as company.aws.Vault"
    ),
    default=None,
    default_text="none",
    group=CREDENTIALS,
    aliases=(awslabs("kinesis.credentialProviderClass"),),
)
CREDENTIAL_PROVIDER_PARAM = Option[str | None](
    name="credentialProviderParam",
    meaning="What the class is made with, as one text; without it, the class is made without arguments.",
    parser=text("the parameter of the credential provider class"),
    default=None,
    default_text="none",
    group=CREDENTIALS,
    aliases=(awslabs("kinesis.credentialProviderParam"),),
    is_secret=True,
    needs=CREDENTIAL_PROVIDER_CLASS,
)
STS_ROLE_ARN = Option[str | None](
    name="stsRoleArn",
    meaning="A role to assume with the credentials that the other options, or botocore's chain, give.",
    parser=matching(
        r"arn:aws[a-z-]*:iam::\d{12}:role/[\w+=,.@/-]{1,576}",
        "the ARN of a role, such as arn:aws:iam::123456789012:role/reader",
    ),
    default=None,
    default_text="no role",
    group=CREDENTIALS,
    aliases=(awslabs("kinesis.stsRoleArn"), qubole("awsSTSRoleARN"), databricks("roleArn")),
)
STS_SESSION_NAME = Option[str | None](
    name="stsSessionName",
    meaning="What CloudTrail calls the session of the role; required with `stsRoleArn`.",
    parser=matching(r"[a-zA-Z0-9_+=,.@-]{2,64}", "2 to 64 letters, digits and any of _+=,.@-"),
    default=None,
    default_text="none",
    group=CREDENTIALS,
    aliases=(
        awslabs("kinesis.stsSessionName"),
        qubole("awsSTSSessionName"),
        databricks("roleSessionName"),
    ),
    needs=STS_ROLE_ARN,
)
STS_EXTERNAL_ID = Option[str | None](
    name="stsExternalId",
    meaning="The external id that the role's trust policy asks for.",
    parser=matching(r"[a-zA-Z0-9_+=,.@:/-]{2,1224}", "2 to 1224 letters, digits and any of _+=,.@:/-"),
    default=None,
    default_text="none",
    group=CREDENTIALS,
    aliases=(databricks("roleExternalId"),),
    is_secret=True,
    needs=STS_ROLE_ARN,
)
STS_ENDPOINT_URL = Option[str | None](
    name="stsEndpointUrl",
    meaning="Where STS answers, for `stsRoleArn`: a VPC endpoint, another region's, or a local server.",
    parser=url(),
    default=None,
    default_text="that of the region",
    group=CREDENTIALS,
    aliases=(
        awslabs("kinesis.stsEndpointUrl"),
        databricks("stsEndpoint", url(default_scheme="https")),
    ),
    needs=STS_ROLE_ARN,
)
PROXY_URL = Option[str | None](
    name="proxyUrl",
    meaning="A proxy for calls to Kinesis and STS, with user and password if it asks for them: `http://user:password@host:3128`.",
    parser=proxy_url(),
    default=None,
    default_text="none; botocore follows `HTTPS_PROXY` and `NO_PROXY` in the environment",
    group=PROXY,
    is_secret=True,
)
PROXY_ADDRESS = Option[str | None](
    name="proxyAddress",
    meaning="The host of the proxy; this and the next three are another way to say `proxyUrl`.",
    parser=matching(r"[a-zA-Z0-9._-]+|\[[0-9a-fA-F:.]+\]", "the name or address of a host"),
    default=None,
    default_text="none",
    group=PROXY,
    aliases=(awslabs("kinesis.sink.proxyAddress"),),
)
PROXY_PORT = Option[int](
    name="proxyPort",
    meaning="The proxy's port.",
    parser=integer(1, 65535),
    default=443,
    default_text="443",
    group=PROXY,
    aliases=(awslabs("kinesis.sink.proxyPort"),),
    needs=PROXY_ADDRESS,
)
PROXY_USERNAME = Option[str | None](
    name="proxyUsername",
    meaning="The user that the proxy knows.",
    parser=text("the name of a user"),
    default=None,
    default_text="none",
    group=PROXY,
    aliases=(awslabs("kinesis.sink.proxyUsername"),),
    is_secret=True,
    needs=PROXY_ADDRESS,
)
PROXY_PASSWORD = Option[str | None](
    name="proxyPassword",
    meaning="That user's password.",
    parser=text("the password of a user"),
    default=None,
    default_text="none",
    group=PROXY,
    aliases=(awslabs("kinesis.sink.proxyPassword"),),
    is_secret=True,
    needs=PROXY_ADDRESS,
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
    AWS_USE_INSTANCE_PROFILE,
    CREDENTIAL_PROVIDER_CLASS,
    CREDENTIAL_PROVIDER_PARAM,
    STS_ROLE_ARN,
    STS_SESSION_NAME,
    STS_EXTERNAL_ID,
    STS_ENDPOINT_URL,
    PROXY_URL,
    PROXY_ADDRESS,
    PROXY_PORT,
    PROXY_USERNAME,
    PROXY_PASSWORD,
    MAX_RETRIES,
    RETRY_INTERVAL,
    MAX_RETRY_INTERVAL,
)

COMMON_UNSUPPORTED = (
    Unsupported(
        names=("serviceCredential",),
        feature="Unity Catalog's service credentials",
        instead="Name a role in 'stsRoleArn', a profile, keys, a class of your own, or leave all out for botocore's chain.",
    ),
)

COMMON_UNNEEDED: tuple[Unneeded, ...] = ()

SPARK_OPTIONS = ("path", "paths", "checkpointlocation", "queryname", "outputmode", "serialization.format")
"""What Spark hands to a source or sink beside the user's own options, in lower case."""
