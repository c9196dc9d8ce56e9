"""The options of enhanced fan-out: their effects on the consumers of a query, and on its tasks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from effects.observed.source import FROM_OLDEST, RECORDS, fill
from effects.observed.world import STREAM, Effect, Observe, Options, World
from kinesis_core.aws import FanOutTransport
from kinesis_core.errors import ServiceError
from kinesis_core.reading import FanOutSettings
from kinesis_emulator.faults import Fault
from kinesis_emulator.requests import Request
from spark_kinesis_source.options import SourceOptions
from spark_kinesis_source.task import ReadTask
from support.halves import payloads, plan, streaming

FAN_OUT = {"consumerType": "SubscribeToShard"}
KNOWN = {"registeredConsumerId": "known"}


def calls_of_tasks(world: World, given: Options) -> object:
    """Return the calls of tasks."""
    with streaming(fill(world, given)) as reader:
        partitions, _ = plan(reader)
        world.requests.clear()
        payloads(reader, partitions)
        return {request.action for request in world.requests}


def described(look: Callable[[dict[str, Any]], object]) -> Observe:
    """Observe the first request that describes the consumer."""
    return _asked("DescribeStreamConsumer", look)


def _asked(action: str, look: Callable[[dict[str, Any]], object]) -> Observe:
    def observe(world: World, given: Options) -> object:
        requests = _plan(world, given)
        return look(next(request.params for request in requests if request.action == action))

    return observe


def is_removed(world: World, given: Options) -> object:
    """Return whether the consumer is deregistered when the query stops."""
    return any(request.action == "DeregisterStreamConsumer" for request in _plan(world, given))


def _plan(world: World, given: Options) -> list[Request]:
    """Return the requests of a query that plans once and stops."""
    world.requests.clear()
    with streaming(world.options(given)) as reader:
        plan(reader)
    return world.requests


def rows_without_subscription(world: World, given: Options) -> object:
    """Return how many rows are read if the subscription of the shard is always in use, or the error."""

    def refuse(request: Request) -> Fault | None:
        return Fault("ResourceInUseException") if request.action == "SubscribeToShard" else None

    world.refuse = refuse
    with streaming(fill(world, given)) as reader:
        partitions, _ = plan(reader)
        try:
            return len(payloads(reader, partitions))
        except ServiceError as error:
            return error.code


def subscribing(look: Callable[[FanOutSettings], object]) -> Observe:
    """Observe the settings of a task's subscriptions."""

    def observe(world: World, given: Options) -> object:
        settings = ReadTask.of(SourceOptions.parse(world.options(given)), ()).fan_out
        assert settings is not None
        return look(settings)

    return observe


def registered(world: World, given: Options) -> object:
    """Return the names of the consumers that a query registers."""
    requests = _plan(world, given)
    return [
        request.params["ConsumerName"] for request in requests if request.action == "RegisterStreamConsumer"
    ]


name = described(lambda params: params.get("ConsumerName"))

EFFECTS = {
    "consumerType": Effect(
        calls_of_tasks,
        FAN_OUT,
        {"SubscribeToShard"},
        {"GetShardIterator", "GetRecords"},
        both={**FROM_OLDEST, "inlineRecords": "false"},
    ),
    "consumerName": Effect(name, {"consumerName": "mine"}, "mine", f"spark_{STREAM}", both=FAN_OUT),
    "consumerNamePrefix": Effect(
        name, {"consumerNamePrefix": "team-"}, f"team-{STREAM}", f"spark_{STREAM}", both=FAN_OUT
    ),
    "consumerARN": Effect(
        described(lambda params: "ConsumerARN" in params),
        {"consumerARN": "{consumer}"},
        True,
        False,
        both=FAN_OUT,
    ),
    "registeredConsumerId": Effect(name, KNOWN, "known", f"spark_{STREAM}", both=FAN_OUT),
    "registeredConsumerIdType": Effect(
        described(lambda params: "ConsumerARN" in params),
        {"registeredConsumerId": "{consumer}", "registeredConsumerIdType": "ARN"},
        True,
        False,
        first=KNOWN,
        both=FAN_OUT,
    ),
    "keepConsumer": Effect(is_removed, {"keepConsumer": "true"}, False, True, both=FAN_OUT),
    "consumerTags": Effect(
        _asked("RegisterStreamConsumer", lambda params: params.get("Tags")),
        {"consumerTags": "team=data,env=test"},
        {"team": "data", "env": "test"},
        None,
        both=FAN_OUT,
    ),
    "subscribeTimeout": Effect(
        subscribing(lambda settings: settings.timeout_s), {"subscribeTimeout": "5 s"}, 5.0, 60.0, both=FAN_OUT
    ),
    "subscribeRetries": Effect(
        subscribing(lambda settings: settings.retries), {"subscribeRetries": "3"}, 3, 10, both=FAN_OUT
    ),
    "fanOutTransport": Effect(
        subscribing(lambda settings: settings.transport),
        {"fanOutTransport": "HTTP/2"},
        FanOutTransport.HTTP_2,
        FanOutTransport.HTTP_1_1,
        both=FAN_OUT,
    ),
    "fanOutFallback": Effect(
        rows_without_subscription,
        {"fanOutFallback": "false"},
        "ResourceInUseException",
        RECORDS,
        both={**FAN_OUT, **FROM_OLDEST, "subscribeRetries": "0", "inlineRecords": "false"},
    ),
    "wakeConsumer": Effect(registered, {"wakeConsumer": "bell"}, ["bell"], []),
}
