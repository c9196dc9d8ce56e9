"""Whether the stream is polled or read by enhanced fan-out, and by which consumer."""

from __future__ import annotations

from kinesis_core.options import (
    Option,
    Parser,
    Scope,
    awslabs,
    boolean,
    clamped_duration,
    clamped_integer,
    databricks,
    duration,
    integer,
    list_of,
    matching,
    one_of,
    text,
)

FAN_OUT = "Enhanced fan-out"
_HOUR_S = 3600
_MOST_RETRIES = 1000
_NAME = r"[a-zA-Z0-9_.-]{1,128}"
_ARN = rf"arn:aws[a-z-]*:kinesis:[a-z0-9-]+:\d{{12}}:stream/{_NAME}/consumer/{_NAME}:\d+"


def _unless() -> Parser[bool]:
    """Return a parser of the opposite of what is said."""
    return Parser(boolean().domain, lambda value: not boolean().parse(value))


CONSUMER_TYPE = Option[bool](
    name="consumerType",
    meaning=(
        "`SubscribeToShard` reads by enhanced fan-out: 2 MiB/s of each shard for this query alone. A batch read is "
        "polled in either case."
    ),
    parser=one_of({"GetRecords": False, "polling": False, "SubscribeToShard": True, "efo": True}),
    default=False,
    default_text="`GetRecords`: the stream is polled",
    group=FAN_OUT,
    scope=Scope.SOURCE,
    aliases=(awslabs("kinesis.consumerType"), databricks("consumerMode")),
)
CONSUMER_NAME = Option[str | None](
    name="consumerName",
    meaning=(
        "The consumer's name; it is registered with each stream when it is not there, and removed when the query stops. "
        "Give each query one of its own: of two with the same one polls."
    ),
    parser=matching(_NAME, "1 to 128 letters, digits and any of _.-"),
    default=None,
    default_text="`consumerNamePrefix` and the stream's name",
    group=FAN_OUT,
    scope=Scope.SOURCE,
    aliases=(awslabs("kinesis.consumerName"), databricks("consumerName")),
)
CONSUMER_NAME_PREFIX = Option[str](
    name="consumerNamePrefix",
    meaning="What the consumer's name begins with when `consumerName` does not say it.",
    parser=matching(_NAME, "1 to 128 letters, digits and any of _.-"),
    default="spark_",
    default_text="`spark_`",
    group=FAN_OUT,
    scope=Scope.SOURCE,
    aliases=(databricks("consumerNamePrefix"),),
)
CONSUMER_ARN = Option[tuple[str, ...]](
    name="consumerARN",
    meaning="A consumer that must exist, or several with commas between, one for each stream. It is never removed.",
    parser=list_of(
        _ARN,
        "ARNs of consumers, such as arn:aws:kinesis:eu-west-1:123456789012:stream/orders/consumer/me:1700000000",
    ),
    default=(),
    default_text="the consumer goes by its name",
    group=FAN_OUT,
    scope=Scope.SOURCE,
)
REGISTERED_CONSUMER_ID = Option[str | None](
    name="registeredConsumerId",
    meaning="A consumer that must exist, by `registeredConsumerIdType`. It is never registered or removed.",
    parser=text("the name or ARN of a registered consumer"),
    default=None,
    default_text="none",
    group=FAN_OUT,
    scope=Scope.SOURCE,
    aliases=(databricks("registeredConsumerId"),),
)
REGISTERED_CONSUMER_ID_TYPE = Option[bool](
    name="registeredConsumerIdType",
    meaning="What `registeredConsumerId` is: `name`, or `ARN`.",
    parser=one_of({"name": False, "ARN": True}),
    default=False,
    default_text="`name`",
    group=FAN_OUT,
    scope=Scope.SOURCE,
    aliases=(databricks("registeredConsumerIdType"),),
    needs=REGISTERED_CONSUMER_ID,
)
KEEP_CONSUMER = Option[bool](
    name="keepConsumer",
    meaning="Whether a consumer that goes by `consumerName` stays registered, and is paid for, when the query stops.",
    parser=boolean(),
    default=False,
    default_text="`false`",
    group=FAN_OUT,
    scope=Scope.SOURCE,
    aliases=(databricks("requireConsumerDeregistration", _unless()),),
)
SUBSCRIBE_TIMEOUT = Option[float](
    name="subscribeTimeout",
    meaning="How long a consumer may take to become ACTIVE, and a task goes without an event, before that is an error.",
    parser=duration(1, _HOUR_S, "s"),
    default=60.0,
    default_text="60 s",
    group=FAN_OUT,
    scope=Scope.SOURCE,
    aliases=(
        awslabs("kinesis.subscribeToShard.timeoutSec", clamped_duration(1, _HOUR_S, "s", least_s=0)),
        databricks("registerConsumerTimeoutInterval"),
    ),
)
SUBSCRIBE_RETRIES = Option[int](
    name="subscribeRetries",
    meaning="How many more subscriptions in a row are tried after one that brought no event.",
    parser=integer(0, _MOST_RETRIES),
    default=10,
    default_text="10",
    group=FAN_OUT,
    scope=Scope.SOURCE,
    aliases=(awslabs("kinesis.subscribeToShard.maxRetries", clamped_integer(0, _MOST_RETRIES)),),
)
FAN_OUT_FALLBACK = Option[bool](
    name="fanOutFallback",
    meaning=(
        "Whether a task polls what it has no subscription for: at once when the shard is not free, as in micro-batches "
        "less than 5 s apart, and after `subscribeTimeout` or `subscribeRetries` else. `false` waits, and fails."
    ),
    parser=boolean(),
    default=True,
    default_text="`true`",
    group=FAN_OUT,
    scope=Scope.SOURCE,
)
FAN_OUT_TRANSPORT = Option[bool](
    name="fanOutTransport",
    meaning=(
        "What subscriptions are sent by. `HTTP/2` takes `pip install 'kinesis-core[http2]'` on driver and executors; a "
        "server that does not offer it is spoken to by HTTP/1.1."
    ),
    parser=one_of({"HTTP/1.1": False, "HTTP/2": True}),
    default=False,
    default_text="`HTTP/1.1`",
    group=FAN_OUT,
    scope=Scope.SOURCE,
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
