"""The default of an option is the default of the settings that it sets, and is written once."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("pyspark")

from kinesis_core.aws import Connection, RetryPolicy
from kinesis_core.options import Option, OptionTable
from kinesis_core.planning import Limits, Planner, PlanSettings
from kinesis_core.producing import ProducerSettings
from kinesis_core.reading import FanOutSettings, ReadSettings
from kinesis_core.reading.arrow import BatchBuilder
from spark_kinesis_sink.options import SINK_OPTIONS
from spark_kinesis_source.options import SOURCE_OPTIONS

TABLES = {"source": SOURCE_OPTIONS, "sink": SINK_OPTIONS}
CONNECTION = Connection(streams=(), region="eu-west-1")
RETRY, READ, PLAN, LIMITS = RetryPolicy(), ReadSettings(), PlanSettings(), Limits()
FAN_OUT, PRODUCER = FanOutSettings(), ProducerSettings()


def argument(function: Callable[..., object], name: str) -> object:
    """Return the default of an argument."""
    return inspect.signature(function).parameters[name].default


SETTINGS: dict[str, tuple[object, ...]] = {
    "endpointUrl": (CONNECTION.endpoint_url,),
    "proxyUrl": (CONNECTION.proxy_url,),
    "streamRegion": (CONNECTION.stream_region,),
    "wireFormat": (CONNECTION.wire_format,),
    "checkPermissions": (CONNECTION.check_permissions,),
    "maxRetries": (RETRY.max_retries,),
    "retryInterval": (RETRY.interval_s,),
    "maxRetryInterval": (RETRY.max_interval_s,),
    "outageTimeout": (RETRY.outage_timeout_s,),
    "failOnDataLoss": (PLAN.fail_on_data_loss, READ.fail_on_data_loss),
    "trimHorizonMargin": (PLAN.trim_horizon_margin_s,),
    "maxBytesPerShard": (LIMITS.max_bytes,),
    "maxRecordsPerTrigger": (PLAN.batch_limits.max_records,),
    "maxBytesPerBatch": (PLAN.batch_limits.max_bytes,),
    "shardsPerTask": (READ.threads,),
    "shardDiscoveryInterval": (PLAN.shard_discovery_interval_s,),
    "planningThreads": (argument(Planner, "threads"),),
    "planBudget": (PLAN.plan_budget_s,),
    "maxShardSkew": (PLAN.max_shard_skew_s,),
    "maxRecordsPerFetch": (READ.max_records_per_fetch,),
    "maxBufferedBytes": (READ.max_buffered_bytes,),
    "minFetchPeriod": (READ.min_fetch_period_s, PLAN.min_fetch_period_s),
    "quotaShare": (PLAN.quota_share,),
    "inlineRecords": (PLAN.inline_records,),
    "maxFetchRate": (READ.max_fetch_rate_bytes,),
    "deaggregate": (argument(BatchBuilder, "deaggregate"),),
    "subscribeTimeout": (FAN_OUT.timeout_s,),
    "subscribeRetries": (FAN_OUT.retries,),
    "fanOutFallback": (FAN_OUT.fallback_to_polling,),
    "fanOutTransport": (FAN_OUT.transport,),
    "aggregationEnabled": (PRODUCER.aggregation_enabled,),
    "aggregationMaxSize": (PRODUCER.aggregation_max_size,),
    "recordMaxBufferedTimeMs": (PRODUCER.record_max_buffered_time_s,),
    "maxConnections": (PRODUCER.max_connections,),
    "recordTtlMs": (PRODUCER.record_ttl_s,),
}
"""The default of each settings class that an option sets."""
DECLARED = {
    "proxyPort",
    "awsUseInstanceProfile",
    "freezeWorkerHeap",
    "endingPosition",
    "filterPushdown",
    "maxRecordsPerShard",
    "minRecordsPerTrigger",
    "maxTriggerDelay",
    "addIdleTimeBetweenReads",
    "idleTimeBetweenReadsInMs",
    "consumerType",
    "consumerNamePrefix",
    "registeredConsumerIdType",
    "keepConsumer",
    "metadataCommitterType",
}
"""Options whose declaration has the default, because no settings class does."""
OPTIONS = list(dict.fromkeys(option for table in TABLES.values() for option in table.options))
EVERY_OPTION = pytest.mark.parametrize("option", OPTIONS, ids=[option.name for option in OPTIONS])


@EVERY_OPTION
def test_one_default(option: Option[Any]) -> None:
    """An option has the default of all settings that it sets. Without settings, it is listed here or has no default value."""
    if option.name in SETTINGS:
        assert {option.default} == set(SETTINGS[option.name])
        assert option.name not in DECLARED
    else:
        assert option.has_default_value == (option.name in DECLARED)


@pytest.mark.parametrize(
    "table",
    [
        SOURCE_OPTIONS,
        SINK_OPTIONS,
    ],
    ids=list(TABLES),
)
def test_no_default_in_words_that_is_a_value(table: OptionTable) -> None:
    """The text of a default value is derived. Only a default that is no value has words."""
    worded = [option for option in table.options if option.default_text != "not set"]
    assert [option.name for option in worded if option.has_default_value] == []


@EVERY_OPTION
def test_a_shown_default_can_be_set(option: Option[Any]) -> None:
    """The default on the page, as a user would type it, is parsed as the default."""
    if option.has_default_value:
        shown = option.shown_default
        texts = (shown.strip("`"), shown.partition(" ")[0])  # some units are for reading only
        assert option.default in [option.parser.parse(text) for text in texts if is_accepted(option, text)]


def is_accepted(option: Option[Any], text: str) -> bool:
    try:
        option.parser.parse(text)
    except ValueError:
        return False
    return True
