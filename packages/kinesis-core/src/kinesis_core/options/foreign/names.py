"""Which names of other connectors an option has, and which names have no effect on a source or a sink."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from attrs import frozen

from kinesis_core.options.foreign.awslabs import AWSLABS
from kinesis_core.options.foreign.connectors import Origin, names_in
from kinesis_core.options.foreign.databricks import DATABRICKS
from kinesis_core.options.foreign.glue import GLUE, PARTITION_KEY
from kinesis_core.options.foreign.qubole import QUBOLE
from kinesis_core.options.option import IgnoredOption, Option, Parser, Unsupported, normalise

CONNECTORS = (AWSLABS, QUBOLE, DATABRICKS, GLUE)

SOURCE_NAMES = names_in(
    "startingPosition endingPosition filterPushdown failOnDataLoss trimHorizonMargin maxRecordsPerShard "
    "maxBytesPerShard maxRecordsPerTrigger maxBytesPerBatch minRecordsPerTrigger maxTriggerDelay "
    "maxShardSkew shardsPerTask maxPartitions shardDiscoveryInterval planningThreads planBudget "
    "maxRecordsPerFetch minFetchPeriod quotaShare inlineRecords addIdleTimeBetweenReads "
    "idleTimeBetweenReadsInMs maxFetchRate maxBufferedBytes deaggregate consumerType consumerName consumerNamePrefix consumerARN "
    "registeredConsumerId registeredConsumerIdType keepConsumer consumerTags subscribeTimeout "
    "subscribeRetries fanOutFallback fanOutTransport wakeConsumer metadataCommitterType dynamodbTableName "
    "dynamodbEndpointUrl"
)
"""The options that only the source has. The sink ignores them, and cannot import their declarations."""
SINK_NAMES = names_in(
    "aggregationEnabled aggregationMaxSize recordMaxBufferedTimeMs maxConnections recordTtlMs"
)
"""The options that only the sink has."""
REFUSED_BY_SINK = (PARTITION_KEY,)
"""What the sink alone refuses."""


@frozen(eq=False)
class Alias:
    """A name that another connector has for an option."""

    name: str
    """As that connector writes it, with its prefix."""
    origin: Origin
    parser: Parser[Any] | None
    """Reads that connector's unit or form. None if it is the same as ours."""


def aliases_of(option: Option[Any]) -> Iterator[Alias]:
    """Yield the names that other connectors have for *option*."""
    for connector in CONNECTORS:
        match connector.names.get(option.name):
            case str(name):
                yield Alias(name, connector.origin, None)
            case (name, form):
                yield Alias(name, connector.origin, form(option.parser))


def _all_names(ours: Iterable[str]) -> Iterator[str]:
    for name in ours:
        yield name
        for connector in CONNECTORS:
            if theirs := connector.names.get(name):
                yield theirs if isinstance(theirs, str) else theirs[0]


def _merged(ignored: Iterable[Mapping[str, str]]) -> tuple[IgnoredOption, ...]:
    names: dict[str, list[str]] = {}
    for each in ignored:
        for reason, text in each.items():
            names.setdefault(reason, []).extend(names_in(text))
    return tuple(IgnoredOption(tuple(found), reason) for reason, found in names.items())


def _of_other_half(half: str, pattern: str, names: Iterable[str]) -> IgnoredOption:
    """Return the entry for *names* of *half*. Of those that differ only in case or in the prefix `kinesis.`, it has the first."""
    found: dict[str, str] = {}
    for name in names:
        found.setdefault(normalise(name), name)
    return IgnoredOption((pattern, *found.values()), f"it is an option of the {half}")


def _names_of(entries: Iterable[IgnoredOption | Unsupported]) -> Iterator[str]:
    return (name for entry in entries for name in entry.names)


_BY_SOURCE = _merged(connector.ignored_by_source for connector in CONNECTORS)
_BY_SINK = _merged(connector.ignored_by_sink for connector in CONNECTORS)
IGNORED_BY_SOURCE = (
    *_BY_SOURCE,
    _of_other_half(
        "sink", "kinesis.sink.*", (*_all_names(SINK_NAMES), *_names_of(_BY_SINK), *_names_of(REFUSED_BY_SINK))
    ),
)
IGNORED_BY_SINK = (
    *_BY_SINK,
    _of_other_half("source", "kinesis.getRecords.*", (*_all_names(SOURCE_NAMES), *_names_of(_BY_SOURCE))),
)
