"""The options of enhanced fan-out: whether it is used, which consumers, and how tasks subscribe."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from attrs import frozen

from kinesis_core.aws import Connection, FanOutTransport, StreamRef, check_http2
from kinesis_core.errors import OptionError
from kinesis_core.model import SHARD_RATE_BYTES
from kinesis_core.options import (
    GLUE_CONSUMER,
    Alternatives,
    BadValueError,
    Group,
    Values,
    boolean,
    duration,
    integer,
    list_of,
    matching,
    one_of,
    tags,
    text,
)
from kinesis_core.reading import FanOutSettings
from kinesis_credentials.base import shorten
from spark_kinesis_source.options.batches import show_rate

FAN_OUT = Group("Enhanced fan-out")
_NAME = r"[a-zA-Z0-9_.-]{1,128}"
_ARN = rf"arn:aws[a-z-]*:kinesis:[a-z0-9-]+:\d{{12}}:stream/{_NAME}/consumer/{_NAME}:\d+"
_DEFAULTS = FanOutSettings()


class ReadMode(Enum):
    """How a query reads its streams."""

    POLLING = "polling"
    FAN_OUT = "fan-out"


class ConsumerIdType(Enum):
    """What identifies a registered consumer."""

    NAME = "name"
    ARN = "ARN"


CONSUMER_TYPE = FAN_OUT.option(
    name="consumerType",
    meaning=(
        "How the query reads. `GetRecords` or `polling` shares the read rate of a shard with all polling consumers. "
        f"`SubscribeToShard` or `efo` reads by enhanced fan-out, with {show_rate(SHARD_RATE_BYTES)} of each shard for this "
        "query alone. A batch read always polls."
    ),
    parser=one_of(
        {
            "GetRecords": ReadMode.POLLING,
            "polling": ReadMode.POLLING,
            "SubscribeToShard": ReadMode.FAN_OUT,
            "efo": ReadMode.FAN_OUT,
        }
    ),
    default=ReadMode.POLLING,
)
CONSUMER_NAME = FAN_OUT.option(
    name="consumerName",
    meaning=(
        "The name of the consumer. The query registers it with each stream if it does not exist, and deregisters it when the "
        "query stops. Use a separate name for each query: if two queries use the same name, one of them polls."
    ),
    parser=matching(_NAME, "1 to 128 letters, digits and any of _.-"),
    default_text="`consumerNamePrefix` followed by the name of the stream",
)
CONSUMER_NAME_PREFIX = FAN_OUT.option(
    name="consumerNamePrefix",
    meaning="The start of the consumer's name if `consumerName` is not set.",
    parser=matching(_NAME, "1 to 128 letters, digits and any of _.-"),
    default="spark_",
)
CONSUMER_ARN = FAN_OUT.option(
    name="consumerARN",
    meaning=(
        "The ARN of an existing consumer; for several streams one ARN per stream, separated by commas. The query never "
        f"deregisters it. By its name `{GLUE_CONSUMER}` it also means `consumerType=efo`, unless `consumerType` is set."
    ),
    parser=list_of(
        _ARN,
        "ARNs of consumers, such as arn:aws:kinesis:eu-west-1:123456789012:stream/orders/consumer/me:1700000000",
    ),
    default=(),
    default_text="not set; the consumer has a name",
)
REGISTERED_CONSUMER_ID = FAN_OUT.option(
    name="registeredConsumerId",
    meaning=(
        "The name or ARN of an existing consumer, see `registeredConsumerIdType`. The query never registers or deregisters it."
    ),
    parser=text("the name or ARN of a registered consumer"),
)
REGISTERED_CONSUMER_ID_TYPE = FAN_OUT.option(
    name="registeredConsumerIdType",
    meaning="Whether `registeredConsumerId` is a name or an ARN.",
    parser=one_of({id_type.value: id_type for id_type in ConsumerIdType}),
    default=ConsumerIdType.NAME,
    needs=REGISTERED_CONSUMER_ID,
)
KEEP_CONSUMER = FAN_OUT.option(
    name="keepConsumer",
    meaning=(
        "Whether a consumer that the query found or registered by name stays registered when the query stops. AWS charges for "
        "registered consumers."
    ),
    parser=boolean(),
    default=False,
)


CONSUMER_TAGS = FAN_OUT.option(
    name="consumerTags",
    meaning=(
        "The tags of a consumer that the query registers, for bills and policies. A consumer that exists keeps its own. Tags need "
        "the permission `kinesis:TagResource` and a botocore that knows them."
    ),
    parser=tags(),
    default_text="no tags",
)
SUBSCRIBE_TIMEOUT = FAN_OUT.option(
    name="subscribeTimeout",
    meaning=(
        "The maximum time until a consumer is ACTIVE, and the maximum time that a task waits for an event. After the first the "
        "query fails; after the second see `fanOutFallback`."
    ),
    parser=duration(1, 3600, "s"),
    default=_DEFAULTS.timeout_s,
)
SUBSCRIBE_RETRIES = FAN_OUT.option(
    name="subscribeRetries",
    meaning="The maximum number of times in a row that a task subscribes again after a subscription without an event.",
    parser=integer(0, 1000, "retries"),
    default=_DEFAULTS.retries,
)
FAN_OUT_FALLBACK = FAN_OUT.option(
    name="fanOutFallback",
    meaning=(
        "Whether a task polls if it has no subscription. It polls at once if the subscription of the shard is in use, as in "
        "micro-batches less than 5 s apart. Otherwise it polls after `subscribeTimeout` or `subscribeRetries`. With `false` the "
        "task keeps trying for this time, and then fails."
    ),
    parser=boolean(),
    default=_DEFAULTS.fallback_to_polling,
)
FAN_OUT_TRANSPORT = FAN_OUT.option(
    name="fanOutTransport",
    meaning=(
        "The protocol of subscriptions. `HTTP/2` requires `pip install 'kinesis-core[http2]'` on driver and executors. If the "
        "server does not offer HTTP/2, the task uses HTTP/1.1."
    ),
    parser=one_of({transport.value: transport for transport in FanOutTransport}),
    default=_DEFAULTS.transport,
)
WAKE_CONSUMER = FAN_OUT.option(
    name="wakeConsumer",
    meaning=(
        "The name of a consumer, or the ARN of an existing one, that tells the driver of new records at once; for several streams one ARN "
        "per stream, separated by commas. Without it a record waits until the driver looks, 200 ms on average. It works with "
        "`consumerType=polling` too, and needs another consumer than the one that reads. A consumer given by name is registered and "
        "deregistered as with `consumerName`; use a separate name for each query. The driver receives all records of the streams with it, "
        "by a connection and a thread for each of up to 500 shards. Queries that end by themselves, and batch reads, do not use it. On "
        "Spark 4.0 and 4.1 it needs a limit, such as `maxRecordsPerShard`."
    ),
    parser=list_of(
        f"{_NAME}|{_ARN}",
        "a name of 1 to 128 letters, digits and any of _.-, or ARNs of consumers",
    ),
    default=(),
    default_text="not set; the driver looks",
)

CONSUMER_ALTERNATIVES: Alternatives = (
    (CONSUMER_NAME,),
    (CONSUMER_ARN,),
    (REGISTERED_CONSUMER_ID, REGISTERED_CONSUMER_ID_TYPE),
)
FAN_OUT_OPTIONS = (
    CONSUMER_TYPE,
    CONSUMER_NAME,
    CONSUMER_NAME_PREFIX,
    CONSUMER_ARN,
    REGISTERED_CONSUMER_ID,
    REGISTERED_CONSUMER_ID_TYPE,
    KEEP_CONSUMER,
    CONSUMER_TAGS,
    SUBSCRIBE_TIMEOUT,
    SUBSCRIBE_RETRIES,
    FAN_OUT_FALLBACK,
    FAN_OUT_TRANSPORT,
    WAKE_CONSUMER,
)
_OF_WAKING = (WAKE_CONSUMER, KEEP_CONSUMER, CONSUMER_TAGS, SUBSCRIBE_TIMEOUT, FAN_OUT_TRANSPORT)
"""The options that have an effect with `WAKE_CONSUMER`, also where the streams are polled."""


@frozen
class FanOutOptions:
    """The consumers by which a query reads by enhanced fan-out, or by which its driver learns of new records."""

    consumers: Mapping[str, str]
    """The name or ARN of the consumer, by the stream's name in offsets."""
    deregister_on_stop: bool
    """Whether the consumers are deregistered when the query stops."""
    settings: FanOutSettings
    register_if_missing: bool = True
    """Whether a consumer that does not exist is registered."""

    @staticmethod
    def from_values(values: Values, connection: Connection) -> FanOutOptions | None:
        """
        Return the options of fan-out in *values*. None means that the streams are polled.

        Raises:
            OptionError: The consumer is named twice, an ARN is malformed or of another stream, or the packages for
                HTTP/2 are not installed.
        """
        if read_mode(values) is ReadMode.POLLING:
            return None
        _check_named_once(values)
        arns = _read_arns(values)
        is_ours = not arns and not values.is_given(REGISTERED_CONSUMER_ID)
        named_by = CONSUMER_ARN if values.is_given(CONSUMER_ARN) else REGISTERED_CONSUMER_ID
        return FanOutOptions(
            _match(values.label(named_by), arns, connection) if arns else _name(values, connection),
            deregister_on_stop=is_ours and not values[KEEP_CONSUMER],
            settings=_read_settings(values),
            register_if_missing=is_ours,
        )

    @staticmethod
    def to_wake(
        values: Values, connection: Connection, reading: FanOutOptions | None
    ) -> FanOutOptions | None:
        """
        Return the consumers by which the driver learns of new records. None means that it only looks. *reading* is how the query reads.

        Raises:
            OptionError: The option names several consumers for a stream or none, or one that reads as well, or the packages for
                HTTP/2 are not installed.
        """
        given, label = values[WAKE_CONSUMER], values.label(WAKE_CONSUMER)
        if not given:
            return None
        arns = tuple(one for one in given if one.startswith("arn:"))
        if not arns and len(given) == 1:
            consumers = {ref.label: given[0] for ref in connection.streams}
        elif len(arns) == len(given):
            consumers = _match(label, arns, connection)
        else:
            raise OptionError(f"{label} names several consumers. Give one name, or one ARN per stream.")
        for stream, consumer in consumers.items():
            if reading is not None and _name_of(reading.consumers[stream]) == _name_of(consumer):
                raise OptionError(
                    f"{label} is '{shorten(consumer)}', which reads stream '{stream}'. A consumer has one subscription per shard, "
                    "so name another one."
                )
        is_ours = not arns
        return FanOutOptions(
            consumers,
            deregister_on_stop=is_ours and not values[KEEP_CONSUMER],
            settings=_read_settings(values),
            register_if_missing=is_ours,
        )


def read_mode(values: Values) -> ReadMode:
    """Return how the query reads. Glue's name of a consumer chooses fan-out by itself."""
    if values.is_given(CONSUMER_TYPE) or not values.is_spelled(CONSUMER_ARN, GLUE_CONSUMER):
        return values[CONSUMER_TYPE]
    return ReadMode.FAN_OUT


def _read_settings(values: Values) -> FanOutSettings:
    if values[FAN_OUT_TRANSPORT] is FanOutTransport.HTTP_2:
        check_http2()
    consumer_tags = values[CONSUMER_TAGS]
    return FanOutSettings(
        fallback_to_polling=values[FAN_OUT_FALLBACK],
        timeout_s=values[SUBSCRIBE_TIMEOUT],
        retries=values[SUBSCRIBE_RETRIES],
        transport=values[FAN_OUT_TRANSPORT],
        consumer_tags=consumer_tags or {},
    )


def ignored_fan_out_options(values: Values) -> tuple[str, ...]:
    """Return a line for the log for each option of fan-out that has no effect because the streams are polled."""
    if read_mode(values) is ReadMode.FAN_OUT:
        return ()
    effective = (CONSUMER_TYPE, *(_OF_WAKING if values[WAKE_CONSUMER] else ()))
    given = [option for option in FAN_OUT.options if option not in effective and values.is_given(option)]
    reason = "has no effect here: it belongs to enhanced fan-out, and the stream is polled."
    return tuple(f"{values.label(option)} {reason}" for option in given)


def _check_named_once(values: Values) -> None:
    given = [values.label(option) for option, *_ in CONSUMER_ALTERNATIVES if values.is_given(option)]
    if len(given) > 1:
        raise OptionError(f"{given[0]} and {given[1]} both name the consumer. Keep one of them.")


def _read_arns(values: Values) -> tuple[str, ...]:
    registered = values[REGISTERED_CONSUMER_ID]
    if registered is None or values[REGISTERED_CONSUMER_ID_TYPE] is ConsumerIdType.NAME:
        return values[CONSUMER_ARN]
    try:
        return CONSUMER_ARN.parser.parse(registered)
    except BadValueError:
        raise OptionError(
            f"{values.label(REGISTERED_CONSUMER_ID)} is '{shorten(registered)}'. Use {CONSUMER_ARN.parser.domain}."
        ) from None


def _name(values: Values, connection: Connection) -> dict[str, str]:
    given = values[CONSUMER_NAME] or values[REGISTERED_CONSUMER_ID]
    prefix = values[CONSUMER_NAME_PREFIX]
    return {ref.label: given or (prefix + ref.name)[:128] for ref in connection.streams}


def _match(label: str, arns: tuple[str, ...], connection: Connection) -> dict[str, str]:
    """Return the consumer of each stream, from the option *label*. Each stream must have exactly one."""
    found = {ref.label: arn for ref in connection.streams for arn in arns if _is_of(arn, ref)}
    missing = [ref.label for ref in connection.streams if ref.label not in found]
    foreign = [arn for arn in arns if arn not in found.values()]
    if missing:
        raise OptionError(f"{label} has no consumer of stream '{missing[0]}'.")
    if foreign:
        raise OptionError(
            f"{label} has {foreign[0]}, which belongs to no stream of this query or is a second consumer of one. "
            "Remove it."
        )
    return found


def _name_of(consumer: str) -> str:
    """Return the name of a consumer that is given by name or ARN."""
    return consumer.rpartition("/")[2].partition(":")[0]


def _is_of(arn: str, ref: StreamRef) -> bool:
    stream = arn.partition("/consumer/")[0]
    return stream == ref.arn if ref.arn else stream.rpartition("/")[2] == ref.name
