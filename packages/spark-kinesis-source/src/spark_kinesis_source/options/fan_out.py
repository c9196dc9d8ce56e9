"""The options of enhanced fan-out: whether it is used, which consumers, and how tasks subscribe."""

from __future__ import annotations

from enum import Enum

from kinesis_core.aws import FanOutTransport
from kinesis_core.model import SHARD_RATE_BYTES
from kinesis_core.options import (
    Alternatives,
    Option,
    Scope,
    boolean,
    duration,
    integer,
    list_of,
    matching,
    one_of,
    text,
)
from kinesis_core.reading import FanOutSettings
from spark_kinesis_source.options.rates import show_rate

FAN_OUT = "Enhanced fan-out"
_HOUR_S = 3600
_MOST_RETRIES = 1000
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


CONSUMER_TYPE = Option[ReadMode](
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
    group=FAN_OUT,
    scope=Scope.SOURCE,
)
CONSUMER_NAME = Option[str | None](
    name="consumerName",
    meaning=(
        "The name of the consumer. The query registers it with each stream if it does not exist, and deregisters it when the "
        "query stops. Use a separate name for each query: if two queries use the same name, one of them polls."
    ),
    parser=matching(_NAME, "1 to 128 letters, digits and any of _.-"),
    default=None,
    default_text="`consumerNamePrefix` followed by the name of the stream",
    group=FAN_OUT,
    scope=Scope.SOURCE,
)
CONSUMER_NAME_PREFIX = Option[str](
    name="consumerNamePrefix",
    meaning="The start of the consumer's name if `consumerName` is not set.",
    parser=matching(_NAME, "1 to 128 letters, digits and any of _.-"),
    default="spark_",
    group=FAN_OUT,
    scope=Scope.SOURCE,
)
CONSUMER_ARN = Option[tuple[str, ...]](
    name="consumerARN",
    meaning=(
        "The ARN of an existing consumer; for several streams one ARN per stream, separated by commas. The query never "
        "deregisters it."
    ),
    parser=list_of(
        _ARN,
        "ARNs of consumers, such as arn:aws:kinesis:eu-west-1:123456789012:stream/orders/consumer/me:1700000000",
    ),
    default=(),
    default_text="not set; the consumer has a name",
    group=FAN_OUT,
    scope=Scope.SOURCE,
)
REGISTERED_CONSUMER_ID = Option[str | None](
    name="registeredConsumerId",
    meaning=(
        "The name or ARN of an existing consumer, see `registeredConsumerIdType`. The query never registers or deregisters it."
    ),
    parser=text("the name or ARN of a registered consumer"),
    default=None,
    default_text="not set",
    group=FAN_OUT,
    scope=Scope.SOURCE,
)
REGISTERED_CONSUMER_ID_TYPE = Option[ConsumerIdType](
    name="registeredConsumerIdType",
    meaning="Whether `registeredConsumerId` is a name or an ARN.",
    parser=one_of({id_type.value: id_type for id_type in ConsumerIdType}),
    default=ConsumerIdType.NAME,
    group=FAN_OUT,
    scope=Scope.SOURCE,
    needs=REGISTERED_CONSUMER_ID,
)
KEEP_CONSUMER = Option[bool](
    name="keepConsumer",
    meaning=(
        "Whether a consumer that the query found or registered by name stays registered when the query stops. AWS charges for "
        "registered consumers."
    ),
    parser=boolean(),
    default=False,
    group=FAN_OUT,
    scope=Scope.SOURCE,
)
SUBSCRIBE_TIMEOUT = Option[float](
    name="subscribeTimeout",
    meaning=(
        "The maximum time until a consumer is ACTIVE, and the maximum time that a task waits for an event. After the first the "
        "query fails; after the second see `fanOutFallback`."
    ),
    parser=duration(1, _HOUR_S, "s"),
    default=_DEFAULTS.timeout_s,
    group=FAN_OUT,
    scope=Scope.SOURCE,
)
SUBSCRIBE_RETRIES = Option[int](
    name="subscribeRetries",
    meaning="How often in a row a task subscribes again after a subscription without an event.",
    parser=integer(0, _MOST_RETRIES, "retries"),
    default=_DEFAULTS.retries,
    group=FAN_OUT,
    scope=Scope.SOURCE,
)
FAN_OUT_FALLBACK = Option[bool](
    name="fanOutFallback",
    meaning=(
        "Whether a task polls if it has no subscription. It polls at once if the subscription of the shard is in use, as in "
        "micro-batches less than 5 s apart; otherwise after `subscribeTimeout` or `subscribeRetries`. With `false` the task "
        "waits, and then fails."
    ),
    parser=boolean(),
    default=_DEFAULTS.fallback_to_polling,
    group=FAN_OUT,
    scope=Scope.SOURCE,
)
FAN_OUT_TRANSPORT = Option[FanOutTransport](
    name="fanOutTransport",
    meaning=(
        "The protocol of subscriptions. `HTTP/2` requires `pip install 'kinesis-core[http2]'` on driver and executors. If the "
        "server does not offer HTTP/2, the task uses HTTP/1.1."
    ),
    parser=one_of({transport.value: transport for transport in FanOutTransport}),
    default=_DEFAULTS.transport,
    group=FAN_OUT,
    scope=Scope.SOURCE,
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
    SUBSCRIBE_TIMEOUT,
    SUBSCRIBE_RETRIES,
    FAN_OUT_FALLBACK,
    FAN_OUT_TRANSPORT,
)
