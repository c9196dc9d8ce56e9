"""The options of a read of a table: which options of the table they replace."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations, permutations

import pytest

from kinesis_core.errors import OptionError
from kinesis_core.options import options_of_read
from spark_kinesis_source.options import SOURCE_OPTIONS, SourceOptions

TABLE = {"streamname": "orders", "region": "eu-west-1", "consumertype": "efo"}
ARN = "arn:aws:kinesis:eu-west-1:123456789012:stream/orders"
CONSUMER = f"{ARN}/consumer/me:1700000000"
KEYS = {"awsAccessKeyId": "AKIDEXAMPLE", "awsSecretKey": "s3cr3t"}
CLASS = {"credentialProviderClass": "company.aws.Vault"}
ROLE = {"stsRoleArn": "arn:aws:iam::123456789012:role/reader", "stsSessionName": "tests"}
PROXY = {"proxyAddress": "proxy"}
LOGIN = {**PROXY, "proxyUsername": "clerk"}
# Each option with a value, and with what it requires or belongs to.
EXAMPLES: dict[str, dict[str, str]] = {
    "streamName": {"streamName": "orders"},
    "streamARN": {"streamARN": ARN},
    "region": {"region": "eu-west-1"},
    "streamRegion": {"streamRegion": "eu-west-1"},
    "endpointUrl": {"endpointUrl": "http://127.0.0.1:4567"},
    "awsAccessKeyId": KEYS,
    "awsSecretKey": KEYS,
    "sessionToken": {**KEYS, "sessionToken": "t0ken"},
    "awsProfile": {"awsProfile": "team"},
    "awsUseInstanceProfile": {"awsUseInstanceProfile": "true"},
    "credentialProviderClass": CLASS,
    "credentialProviderParam": {**CLASS, "credentialProviderParam": "path"},
    "stsRoleArn": ROLE,
    "stsSessionName": ROLE,
    "stsExternalId": {**ROLE, "stsExternalId": "some:id"},
    "stsEndpointUrl": {**ROLE, "stsEndpointUrl": "http://127.0.0.1:4568"},
    "checkPermissions": {"checkPermissions": "false"},
    "proxyUrl": {"proxyUrl": "http://u:p@other:3128"},
    "proxyAddress": PROXY,
    "proxyPort": {**PROXY, "proxyPort": "3128"},
    "proxyUsername": LOGIN,
    "proxyPassword": {**LOGIN, "proxyPassword": "sesame"},
    "httpTransport": {"httpTransport": "botocore"},
    "wireFormat": {"wireFormat": "cbor"},
    "maxRetries": {"maxRetries": "2"},
    "retryInterval": {"retryInterval": "100 ms"},
    "maxRetryInterval": {"maxRetryInterval": "30 s"},
    "outageTimeout": {"outageTimeout": "5 m"},
    "freezeWorkerHeap": {"freezeWorkerHeap": "false"},
    "startingPosition": {"startingPosition": "TRIM_HORIZON"},
    "endingPosition": {"endingPosition": "AT_TIMESTAMP 1769850000"},
    "filterPushdown": {"filterPushdown": "true"},
    "failOnDataLoss": {"failOnDataLoss": "false"},
    "trimHorizonMargin": {"trimHorizonMargin": "10 m"},
    "maxRecordsPerShard": {"maxRecordsPerShard": "500"},
    "maxBytesPerShard": {"maxBytesPerShard": "20m"},
    "maxRecordsPerTrigger": {"maxRecordsPerTrigger": "500"},
    "maxBytesPerBatch": {"maxBytesPerBatch": "20g"},
    "minRecordsPerTrigger": {"minRecordsPerTrigger": "500"},
    "maxTriggerDelay": {"minRecordsPerTrigger": "500", "maxTriggerDelay": "10 s"},
    "maxShardSkew": {"maxShardSkew": "1 min"},
    "shardsPerTask": {"shardsPerTask": "5"},
    "maxPartitions": {"maxPartitions": "4"},
    "shardDiscoveryInterval": {"shardDiscoveryInterval": "1 s"},
    "planningThreads": {"planningThreads": "2"},
    "planBudget": {"planBudget": "500 ms"},
    "maxRecordsPerFetch": {"maxRecordsPerFetch": "100"},
    "minFetchPeriod": {"minFetchPeriod": "0"},
    "quotaShare": {"quotaShare": "1"},
    "inlineRecords": {"inlineRecords": "false"},
    "addIdleTimeBetweenReads": {"addIdleTimeBetweenReads": "true"},
    "idleTimeBetweenReadsInMs": {"addIdleTimeBetweenReads": "true", "idleTimeBetweenReadsInMs": "7"},
    "maxFetchRate": {"maxFetchRate": "1.0"},
    "maxBufferedBytes": {"maxBufferedBytes": "64m"},
    "deaggregate": {"deaggregate": "false"},
    "consumerType": {"consumerType": "efo"},
    "consumerName": {"consumerName": "me"},
    "consumerNamePrefix": {"consumerNamePrefix": "team_"},
    "consumerARN": {"consumerARN": CONSUMER},
    "registeredConsumerId": {"registeredConsumerId": "other"},
    "registeredConsumerIdType": {"registeredConsumerId": CONSUMER, "registeredConsumerIdType": "ARN"},
    "keepConsumer": {"keepConsumer": "true"},
    "consumerTags": {"consumerTags": "team=orders"},
    "subscribeTimeout": {"subscribeTimeout": "30 s"},
    "subscribeRetries": {"subscribeRetries": "3"},
    "fanOutFallback": {"fanOutFallback": "false"},
    "fanOutTransport": {"fanOutTransport": "HTTP/1.1"},
    "wakeConsumer": {"wakeConsumer": "bell"},
    "metadataCommitterType": {"metadataCommitterType": "DYNAMODB"},
    "dynamodbTableName": {"metadataCommitterType": "DYNAMODB", "dynamodbTableName": "progress"},
    "dynamodbEndpointUrl": {"metadataCommitterType": "DYNAMODB", "dynamodbEndpointUrl": "http://127.0.0.1:1"},
}
PAIRS = [
    (one.name, other.name)
    for alternatives in SOURCE_OPTIONS.alternatives
    for first, second in permutations(alternatives, 2)
    for one in first
    for other in second
]


def read(given: Mapping[str, str], of_table: Mapping[str, str]) -> SourceOptions:
    """Return the options of a read with *given*, of a table with *of_table*."""
    in_catalog = {**TABLE, **{name.lower(): value for name, value in of_table.items()}}
    return SourceOptions.parse(options_of_read(given, in_catalog, SOURCE_OPTIONS))


@pytest.mark.parametrize(("of_table", "given"), PAIRS)
def test_alternatives(of_table: str, given: str) -> None:
    """An option of a read replaces all options of the table that exclude it, as if the table did not have them."""
    assert read(EXAMPLES[given], EXAMPLES[of_table]) == read(EXAMPLES[given], {})


@pytest.mark.parametrize(
    ("given", "of_table"),
    [
        ({"credentialProviderParam": "path"}, CLASS),
        ({"proxyUsername": "clerk", "proxyPassword": "sesame"}, {**PROXY, "proxyPort": "3128"}),
        ({"proxyPort": "3128"}, PROXY),
        ({"proxyAddress": "other"}, {**PROXY, "proxyPort": "3128"}),
        ({"idleTimeBetweenReadsInMs": "7"}, {"addIdleTimeBetweenReads": "true"}),
        ({"registeredConsumerIdType": "ARN"}, {"registeredConsumerId": CONSUMER}),
        ({"awsUseInstanceProfile": "false"}, {"awsProfile": "team"}),
        ({"addIdleTimeBetweenReads": "false"}, {"minFetchPeriod": "1 s"}),
        ({"sessionToken": ""}, {"awsProfile": "team"}),
        (ROLE, {"awsProfile": "team"}),
    ],
)
def test_options_that_belong_together(given: dict[str, str], of_table: dict[str, str]) -> None:
    """An option of a read adds to the options of the table that it belongs to, or that it does not exclude."""
    assert read(given, of_table) == SourceOptions.parse({**TABLE, **of_table, **given})


def test_every_option_has_an_example() -> None:
    """A new option of the source needs an example here."""
    assert set(EXAMPLES) == {option.name for option in SOURCE_OPTIONS.options}


def test_every_alternative_is_declared() -> None:
    """The source combines any two of its options, unless they are declared as alternatives."""
    refused = set()
    for one, other in combinations(EXAMPLES, 2):
        given = EXAMPLES[one] | EXAMPLES[other]
        try:
            SourceOptions.parse({**TABLE, **given})
        except OptionError:
            refused.add((one, other))
    assert refused
    assert refused <= set(PAIRS)
