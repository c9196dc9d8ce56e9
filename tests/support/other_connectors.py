"""
Configurations of other connectors, as their users have them: every option that each of them documents.

Values are others than our defaults, so that an option without effect is found out. What excludes each other stands in
configurations of its own.

Sources: https://github.com/awslabs/spark-sql-kinesis-connector (README, KinesisOptions), https://github.com/qubole/kinesis-sql
and https://github.com/roncemer/kinesis-spark-connector (README, KinesisSourceProvider),
https://docs.databricks.com/connect/streaming/kinesis.html,
https://docs.aws.amazon.com/glue/latest/dg/aws-glue-programming-etl-connect-kinesis-home.html.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Configuration = dict[str, str]
Parse = Callable[[Configuration], Any]
"""Makes options with `ignored`, as source and sink do."""

ENDPOINT = "https://kinesis.example.com"
"""Outside AWS, so it names no region."""
KEYS = {"awsAccessKeyId": "AKIDEXAMPLE", "awsSecretKey": "example-secret", "sessionToken": "example-token"}

_AWSLABS_WHERE = {
    "kinesis.endpointUrl": ENDPOINT,
    "kinesis.region": "us-east-2",
    "kinesis.streamName": "teststream",
}
_PROXY = {
    "kinesis.sink.proxyAddress": "proxy.example.com",
    "kinesis.sink.proxyPort": "3128",
    "kinesis.sink.proxyUsername": "user",
    "kinesis.sink.proxyPassword": "example-secret",
}
_QUBOLE_WHERE = {"streamName": "test", "endpointUrl": ENDPOINT, "regionName": "us-east-2"}
_GLUE_WHERE = {
    "endpointUrl": ENDPOINT,
    "streamARN": "arn:aws:kinesis:us-east-2:222222222222:stream/test",
}
_DATABRICKS_WHERE = {"streamName": "clicks,views", "region": "us-west-2", "endpoint": ENDPOINT}

SOURCES: dict[str, Configuration] = {
    "awslabs": {
        **_AWSLABS_WHERE,
        "kinesis.failOnDataLoss": "false",
        "kinesis.maxFetchRecordsPerShard": "500",
        "kinesis.maxFetchTimePerShardSec": "30",
        "kinesis.startingPosition": "AT_TIMESTAMP 2023-08-30T19:00:05-08:00",
        "kinesis.describeShardInterval": "1s",
        "kinesis.minBatchesToRetain": "50",
        "kinesis.checkNewRecordThreads": "4",
        "kinesis.metadataCommitterType": "HDFS",
        "kinesis.metadataPath": "s3://example/metadata",
        "kinesis.metadataNumRetries": "4",
        "kinesis.metadataRetryIntervalsMs": "500",
        "kinesis.metadataMaxRetryIntervalMs": "5000",
        "kinesis.clientNumRetries": "4",
        "kinesis.clientRetryIntervalsMs": "500",
        "kinesis.clientMaxRetryIntervalMs": "5000",
        "kinesis.getRecords.numberOfRecordsPerFetch": "5000",
        "kinesis.getRecords.fetchIntervalMs": "500",
        "kinesis.internal.avoidEmptyBatches": "true",
        "kinesis.internal.dataQueueCapacity": "500",
        "kinesis.internal.dataQueueWaitTimeoutSec": "10",
        "kinesis.internal.maxDataQueueEmptyCount": "3",
        "kinesis.internal.maintenanceTaskIntervalSec": "60",
        **{f"kinesis.{name}": value for name, value in KEYS.items()},
    },
    "awslabs, with a role in another region": {
        "kinesis.endpointUrl": ENDPOINT,
        "kinesis.kinesisRegion": "us-east-2",
        "kinesis.streamName": "teststream",
        "kinesis.stsRoleArn": "arn:aws:iam::222222222222:role/reader",
        "kinesis.stsSessionName": "StsSessionName",
        "kinesis.stsEndpointUrl": "https://sts.example.com",
        **_PROXY,
    },
    "awslabs, with a class and a table": {
        **_AWSLABS_WHERE,
        "kinesis.credentialProviderClass": "example.credentials.Provider",
        "kinesis.credentialProviderParam": "a parameter",
        "kinesis.metadataCommitterType": "DYNAMODB",
        "kinesis.dynamodb.tableName": "kinesisTestMetadata",
    },
    "awslabs, by fan-out": {
        **_AWSLABS_WHERE,
        "kinesis.consumerType": "SubscribeToShard",
        "kinesis.consumerName": "TestConsumer",
        "kinesis.subscribeToShard.timeoutSec": "30",
        "kinesis.subscribeToShard.maxRetries": "5",
    },
    "qubole": {
        **_QUBOLE_WHERE,
        **KEYS,
        "startingPosition": "TRIM_HORIZON",
        "failondataloss": "false",
        "kinesis.executor.maxFetchTimeInMs": "1000",
        "kinesis.executor.maxFetchRecordsPerShard": "500",
        "kinesis.executor.maxRecordPerRead": "5000",
        "kinesis.executor.addIdleTimeBetweenReads": "true",
        "kinesis.executor.idleTimeBetweenReadsInMs": "500",
        "kinesis.executor.metadata.committer": "hdfs",
        "kinesis.executor.metadata.path": "s3://example/metadata",
        "kinesis.client.describeShardInterval": "1s",
        "kinesis.client.maxParallelThreads": "4",
        "kinesis.client.numRetries": "3",
        "kinesis.client.retryIntervalMs": "500",
        "kinesis.client.maxRetryIntervalMs": "5000",
        "kinesis.client.avoidEmptyBatches": "true",
    },
    "qubole, with a role": {
        **_QUBOLE_WHERE,
        "awsUseInstanceProfile": "true",
        "awsSTSRoleARN": "arn:aws:iam::222222222222:role/reader",
        "awsSTSSessionName": "reader",
    },
    "AWS Glue": {
        **_GLUE_WHERE,
        "typeOfData": "kinesis",
        "classification": "json",
        "delimiter": ",",
        "inferSchema": "true",
        "schema": "`id` INT",
        "avroSchema": "{}",
        "startingPosition": "2023-04-04T08:00:00Z",
        "failOnDataLoss": "false",
        "maxFetchTimeInMs": "1000",
        "maxFetchRecordsPerShard": "500",
        "maxRecordPerRead": "5000",
        "addIdleTimeBetweenReads": "true",
        "idleTimeBetweenReadsInMs": "500",
        "describeShardInterval": "2s",
        "numRetries": "4",
        "retryIntervalMs": "500",
        "maxRetryIntervalMs": "5000",
        "avoidEmptyBatches": "true",
        "addRecordTimestamp": "true",
        "emitConsumerLagMetrics": "true",
        "awsSTSRoleARN": "arn:aws:iam::222222222222:role/reader",
        "awsSTSSessionName": "glue",
        "awsSTSEndpoint": "https://sts.example.com",
    },
    "AWS Glue, by fan-out": {
        **_GLUE_WHERE,
        "fanoutConsumerARN": "arn:aws:kinesis:us-east-2:222222222222:stream/test/consumer/ours:1700000000",
    },
    "Databricks": {
        **_DATABRICKS_WHERE,
        "initialPosition": '{"at_timestamp": "06/25/2020 10:23:45 PDT", "format": "MM/dd/yyyy HH:mm:ss ZZZ"}',
        "awsAccessKey": "AKIDEXAMPLE",
        "awsSecretKey": "example-secret",
        "roleArn": "arn:aws:iam::222222222222:role/reader",
        "roleExternalId": "an-external-id",
        "roleSessionName": "databricks",
        "stsEndpoint": "https://sts.example.com",
        "maxRecordsPerFetch": "5000",
        "maxFetchRate": "1.0",
        "minFetchPeriod": "400ms",
        "maxFetchDuration": "10s",
        "fetchBufferSize": "20gb",
        "shardsPerTask": "5",
        "shardFetchInterval": "1s",
        "maxShardsPerDescribe": "100",
        "coalesceThresholdBlockSize": "10000000",
        "coalesceBinSize": "128000000",
    },
    "Databricks, by ARN": {
        "streamARN": "arn:aws:kinesis:us-west-2:222222222222:stream/clicks",
        "initialPosition": "earliest",
        "maxPartitions": "4",
        "consumerMode": "efo",
        "consumerNamePrefix": "our_",
        "consumerRefreshInterval": "300s",
        "requireConsumerDeregistration": "false",
        "registerConsumerTimeoutInterval": "30s",
        "deregisterConsumerTimeoutInterval": "60s",
    },
    "Databricks, as a consumer with a name": {
        **_DATABRICKS_WHERE,
        "consumerMode": "efo",
        "consumerName": "clicks",
        "roleArn": "arn:aws:iam::222222222222:role/reader",
    },
    "Databricks, as a registered consumer": {
        "streamARN": "arn:aws:kinesis:us-west-2:222222222222:stream/clicks",
        "consumerMode": "efo",
        "registeredConsumerId": (
            "arn:aws:kinesis:us-west-2:222222222222:stream/clicks/consumer/ours:1700000000"
        ),
        "registeredConsumerIdType": "ARN",
    },
}
SINKS: dict[str, Configuration] = {
    "awslabs": {
        **_AWSLABS_WHERE,
        "kinesis.sink.flushWaitTimeMs": "200",
        "kinesis.sink.recordMaxBufferedTimeMs": "500",
        "kinesis.sink.maxConnections": "1",
        "kinesis.sink.aggregationEnabled": "False",
        "kinesis.sink.recordTtl": "60000",
        **_PROXY,
        **{f"kinesis.{name}": value for name, value in KEYS.items()},
    },
    "awslabs, with a class and a role in another region": {
        "kinesis.endpointUrl": ENDPOINT,
        "kinesis.kinesisRegion": "us-east-2",
        "kinesis.streamName": "sparkSinkTest",
        "kinesis.clientNumRetries": "4",
        "kinesis.clientRetryIntervalsMs": "500",
        "kinesis.clientMaxRetryIntervalMs": "5000",
        "kinesis.credentialProviderClass": "example.credentials.Provider",
        "kinesis.credentialProviderParam": "a parameter",
        "kinesis.stsRoleArn": "arn:aws:iam::222222222222:role/writer",
        "kinesis.stsSessionName": "StsSessionName",
        "kinesis.stsEndpointUrl": "https://sts.example.com",
    },
    "qubole": {
        **_QUBOLE_WHERE,
        **KEYS,
        "kinesis.executor.recordMaxBufferedTime": "500",
        "kinesis.executor.maxConnections": "1",
        "kinesis.executor.aggregationEnabled": "false",
        "kniesis.executor.flushwaittimemillis": "200",
    },
    "qubole, with a role": {
        **_QUBOLE_WHERE,
        "awsUseInstanceProfile": "true",
        "awsSTSRoleARN": "arn:aws:iam::222222222222:role/writer",
        "awsSTSSessionName": "writer",
        "kinesis.client.numRetries": "3",
        "kinesis.client.retryIntervalMs": "500",
        "kinesis.client.maxRetryIntervalMs": "5000",
    },
    "AWS Glue": {
        **_GLUE_WHERE,
        "recordMaxBufferedTime": "500",
        "aggregationEnabled": "false",
        "aggregationMaxCount": "100",
        "collectionMaxCount": "100",
        "collectionMaxSize": "100000",
        "producerRateLimit": "100",
        "numRetries": "4",
        "retryIntervalMs": "500",
        "maxRetryIntervalMs": "5000",
        "awsSTSRoleARN": "arn:aws:iam::222222222222:role/writer",
        "awsSTSSessionName": "glue",
        "awsSTSEndpoint": "https://sts.example.com",
    },
    "AWS Glue, aggregates": {**_GLUE_WHERE, "aggregationMaxSize": "100000"},
}
