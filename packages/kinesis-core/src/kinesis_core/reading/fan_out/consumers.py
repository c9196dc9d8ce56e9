"""Consumers by name: found or registered before a query starts, and removed when it stops."""

from __future__ import annotations

from attrs import define

from kinesis_core.aws import Consumer, ConsumerApi, SubscribeApi
from kinesis_core.clock import Clock
from kinesis_core.errors import (
    AccessDeniedError,
    ResourceInUseError,
    ServiceError,
    StreamNotFoundError,
)
from kinesis_core.logs import get_logger
from kinesis_core.model import TrimHorizon

log = get_logger("kinesis_core")

FIRST_LOOK_S, LOOK_EVERY_S = 0.1, 1.0
"""AWS takes some seconds to make a consumer, local servers take none."""
_NO_SHARD = "shardId-999999999999"


def find_consumer(
    api: ConsumerApi,
    name_or_arn: str,
    timeout_s: float,
    clock: Clock,
    *,
    register_if_missing: bool = True,
    keep: bool = False,
) -> Consumer:
    """
    Return a consumer once it is ACTIVE; one that goes by its name is registered when it is not there, if *registers*.

    Whatever was registered here is removed when it is not handed out, unless one *keeps* it: it costs money.

    Raises:
        ResourceInUseError: It is not ACTIVE after *timeout_s*.
        StreamNotFoundError: There is none, and none is to be registered.
        ServiceError: It can be neither seen nor registered.
    """
    search = _Search(api, name_or_arn, register_if_missing and not name_or_arn.startswith("arn:"))
    try:
        return search.wait(timeout_s, clock)
    except BaseException:
        if search.registered is not None and not keep:
            remove_consumer(api, search.registered)
        raise


@define
class _Search:
    """The search for one consumer."""

    api: ConsumerApi
    name: str
    register_if_missing: bool
    registered: Consumer | None = None
    """What was registered on the way."""

    def wait(self, timeout_s: float, clock: Clock) -> Consumer:
        gives_up_s, wait_s = clock.now_s() + timeout_s, FIRST_LOOK_S
        while (consumer := self._look()).status != "ACTIVE":
            if clock.now_s() >= gives_up_s:
                raise ResourceInUseError(
                    f"Consumer '{self.name}' is {consumer.status} and not ACTIVE after {timeout_s:g} s. Start the query "
                    "again, give it more time by subscribeTimeout, or name another consumer.",
                    code="ConsumerNotActive",
                )
            clock.sleep(wait_s)
            wait_s = min(LOOK_EVERY_S, 2 * wait_s)
        return consumer

    def _look(self) -> Consumer:
        try:
            return self.api.describe_consumer(self.name)
        except StreamNotFoundError as error:
            if not self.register_if_missing:
                raise StreamNotFoundError(
                    f"Consumer '{self.name}' must exist, and does not. Register it first; one that goes by consumerName is "
                    f"registered when it is not there. {error}",
                    error.code,
                    error.request_id,
                ) from error
        return self._register()

    def _register(self) -> Consumer:
        try:
            self.registered = self.api.register_consumer(self.name)
        except ResourceInUseError:  # another query was faster, or AWS does not show yet what we registered
            return Consumer(self.name, "", "CREATING")
        log.info("consumer.registered", consumer=self.name)
        return self.registered


def check_permission(api: SubscribeApi) -> None:
    """
    See that the consumer's subscriptions are allowed, by asking for one to a shard that there never is.

    AWS looks at permissions first, so that this takes no shard from anybody. What else goes wrong does not count here.

    Raises:
        AccessDeniedError: They are not.
    """
    try:
        api.subscribe(_NO_SHARD, TrimHorizon()).close()
    except AccessDeniedError:
        raise
    except ServiceError as error:
        log.debug("consumer.allowed", consumer=api.consumer, reason=error.code)


def remove_consumer(api: ConsumerApi, consumer: Consumer) -> None:
    """Deregister *consumer*; whoever calls is about to stop, so that a failure is logged and no more."""
    try:
        api.deregister_consumer(consumer.arn)
    except StreamNotFoundError:
        log.info("consumer.gone", consumer=consumer.name)
    except ServiceError as error:
        log.warning("consumer.left", consumer=consumer.name, reason=str(error))
    else:
        log.info("consumer.removed", consumer=consumer.name)
