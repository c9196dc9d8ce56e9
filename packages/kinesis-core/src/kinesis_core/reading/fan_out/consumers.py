"""Finds or registers consumers before a query starts, and removes them when it stops."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import define

from kinesis_core.aws import Consumer, ConsumerApi, SubscribeApi
from kinesis_core.clock import Clock
from kinesis_core.errors import (
    AccessDeniedError,
    ResourceInUseError,
    ServiceError,
    StreamNotFoundError,
    ThrottledError,
)
from kinesis_core.model import TrimHorizon
from kinesis_credentials import Advice
from kinesis_credentials.logs import get_logger

log = get_logger("kinesis_core")

FIRST_WAIT_S, MAX_WAIT_S = 0.1, 1.0
"""Waits between two DescribeStreamConsumer calls. AWS needs some seconds to create a consumer, a local server none."""
_LIMIT = "LimitExceededException"
_QUOTA = (
    "A stream has at most 20 consumers, or 50 in the mode On-demand Advantage, and its queues count with them. "
    "An account registers at most 5 consumers at a time. 'kinesis consumers' lists and removes consumers."
)
"""Source: https://docs.aws.amazon.com/kinesis/latest/APIReference/API_RegisterStreamConsumer.html"""
_NO_SHARD = "shardId-999999999999"
"""A shard id that no stream has."""


def find_consumer(
    api: ConsumerApi,
    name_or_arn: str,
    timeout_s: float,
    clock: Clock,
    *,
    register_if_missing: bool = True,
    keep: bool = False,
    tags: Mapping[str, str] | None = None,
) -> Consumer:
    """
    Return the consumer once it is ACTIVE.

    With *register_if_missing*, a consumer given by name is registered, with *tags*, if it does not exist. After an error, a consumer
    that was registered here is removed because it costs money, unless *keep* is set.

    Raises:
        ResourceInUseError: It is not ACTIVE after *timeout_s*.
        StreamNotFoundError: It does not exist, and is not registered here.
        ServiceError: It can be neither described nor registered.
    """
    search = _Search(api, name_or_arn, register_if_missing and not name_or_arn.startswith("arn:"), tags)
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
    tags: Mapping[str, str] | None
    registered: Consumer | None = None
    """The consumer that the search has registered."""

    def wait(self, timeout_s: float, clock: Clock) -> Consumer:
        """Return the consumer once it is ACTIVE, as `find_consumer` does."""
        deadline_s, wait_s = clock.now_s() + timeout_s, FIRST_WAIT_S
        while (consumer := self._describe()).status != "ACTIVE":
            if clock.now_s() >= deadline_s:
                raise ResourceInUseError(
                    f"Consumer '{self.name}' is {consumer.status} and not ACTIVE after {timeout_s:g} s.",
                    code="ConsumerNotActive",
                    advice=Advice.AWAIT_CONSUMER,
                )
            clock.sleep(wait_s)
            wait_s = min(MAX_WAIT_S, 2 * wait_s)
        return consumer

    def _describe(self) -> Consumer:
        try:
            return self.api.describe_consumer(self.name)
        except StreamNotFoundError as error:
            if not self.register_if_missing:
                raise StreamNotFoundError(
                    f"Consumer '{self.name}' does not exist. {error.what}",
                    error.code,
                    error.request_id,
                    (Advice.REGISTER_CONSUMER, *error.advice),
                    **error.where,
                ) from error
        return self._register()

    def _register(self) -> Consumer:
        try:
            self.registered = self.api.register_consumer(self.name, *([self.tags] if self.tags else []))
        except (
            ResourceInUseError
        ):  # another query was faster, or DescribeStreamConsumer does not return it yet
            return Consumer(self.name, "", "CREATING")
        except ThrottledError as error:
            if error.code != _LIMIT:
                raise
            raise ThrottledError(
                f"{error.what} {_QUOTA}", error.code, error.request_id, error.advice, **error.where
            ) from error
        log.info("consumer.registered", consumer=self.name)
        return self.registered


def check_permission(api: SubscribeApi) -> None:
    """
    Check that SubscribeToShard is allowed, by a call for a shard that does not exist.

    AWS checks permissions first, and the call takes no shard from another reader. Other errors are ignored here.

    Raises:
        AccessDeniedError: The call is not allowed.
    """
    try:
        api.subscribe(_NO_SHARD, TrimHorizon()).close()
    except AccessDeniedError:
        raise
    except ServiceError as error:
        log.debug("consumer.allowed", consumer=api.consumer, reason=error.code)


def remove_consumer(api: ConsumerApi, consumer: Consumer) -> None:
    """Deregister *consumer*. A failure is only logged, because the caller is about to stop."""
    try:
        api.deregister_consumer(consumer.arn)
    except StreamNotFoundError:
        log.info("consumer.gone", consumer=consumer.name)
    except ServiceError as error:
        log.warning("consumer.left", consumer=consumer.name, reason=error)
    else:
        log.info("consumer.removed", consumer=consumer.name)
