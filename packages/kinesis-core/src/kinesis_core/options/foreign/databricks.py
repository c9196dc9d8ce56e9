"""The connector of Databricks: https://docs.databricks.com/aws/en/connect/streaming/kinesis."""

from __future__ import annotations

from kinesis_core.options.foreign.connectors import NO_SUCH_SETTING, Connector, Origin, same
from kinesis_core.options.foreign.forms import negated, or_host, read_in
from kinesis_core.options.option import Unsupported

DATABRICKS_ROLE = "roleArn"
DATABRICKS_SESSION = "spark-kinesis"
"""The name of the role session where the user sets `roleArn` only: Databricks does not require a name."""
DATABRICKS = Connector(
    Origin.DATABRICKS,
    {
        **same(
            "streamName streamARN region awsSecretKey sessionToken shardsPerTask maxPartitions "
            "maxRecordsPerFetch minFetchPeriod maxFetchRate consumerName consumerNamePrefix "
            "registeredConsumerId registeredConsumerIdType"
        ),
        "endpointUrl": ("endpoint", or_host),
        "awsAccessKeyId": "awsAccessKey",
        "stsRoleArn": DATABRICKS_ROLE,
        "stsSessionName": "roleSessionName",
        "stsExternalId": "roleExternalId",
        "stsEndpointUrl": ("stsEndpoint", or_host),
        "startingPosition": "initialPosition",
        "maxBytesPerShard": ("maxFetchDuration", read_in("ms")),
        "maxBytesPerBatch": "fetchBufferSize",
        "shardDiscoveryInterval": "shardFetchInterval",
        "consumerType": "consumerMode",
        "keepConsumer": ("requireConsumerDeregistration", negated),
        "subscribeTimeout": "registerConsumerTimeoutInterval",
    },
    ignored_by_source={
        NO_SUCH_SETTING: (
            "maxShardsPerDescribe coalesceThresholdBlockSize coalesceBinSize "
            "deregisterConsumerTimeoutInterval consumerRefreshInterval"
        ),
    },
)
SERVICE_CREDENTIAL = Unsupported(
    names=("serviceCredential",),
    feature="Unity Catalog's service credentials",
    instead=(
        "Set 'stsRoleArn', 'awsProfile', 'awsAccessKeyId' or 'credentialProviderClass', or none of them for botocore's "
        "credential chain."
    ),
)
