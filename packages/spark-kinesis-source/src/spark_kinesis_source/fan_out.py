"""The consumers of a query by enhanced fan-out. The driver finds or registers them, and deregisters them at the end."""

from __future__ import annotations

import signal
import sys
import threading
from contextlib import ExitStack
from typing import TYPE_CHECKING, NoReturn

from kinesis_core.aws import Connection
from kinesis_core.clock import SystemClock
from spark_kinesis_source.options import FanOutOptions

if TYPE_CHECKING:
    from kinesis_core.aws import Consumer, SubscribeApi


class QueryConsumers:
    """The ACTIVE consumers of a query, on the driver."""

    subscriptions: dict[str, SubscribeApi]
    """Their subscriptions, by the stream's name in offsets."""

    def __init__(self, connection: Connection, options: FanOutOptions) -> None:
        """
        Find the consumers, register missing ones, and wait until they are ACTIVE.

        Raises:
            ServiceError: A consumer cannot be found or registered, is not ACTIVE in time, or subscribing is denied.
        """
        from kinesis_core.aws import consumer_client

        self._apis = {ref.label: consumer_client(connection, ref) for ref in connection.streams}
        self._deregister_on_stop = options.deregister_on_stop
        self._found: dict[str, Consumer] = {}
        self.subscriptions = {}
        if self._deregister_on_stop:
            _exit_on_sigterm()
        try:
            self._find(connection, options)
        except BaseException:
            self.remove()  # Spark does not call stop() for a query that has not started
            raise

    def _find(self, connection: Connection, options: FanOutOptions) -> None:
        from kinesis_core.aws import subscription_client
        from kinesis_core.reading.fan_out import check_permission, find_consumer

        settings = options.settings
        for ref in connection.streams:
            name = options.consumers[ref.label]
            consumer = find_consumer(
                self._apis[ref.label],
                name,
                settings.timeout_s,
                SystemClock(),
                register_if_missing=options.register_if_missing,
                keep=not options.deregister_on_stop,
                tags=settings.consumer_tags,
            )
            self._found[ref.label] = consumer
            api = subscription_client(connection, ref, consumer.arn, settings.transport)
            check_permission(api)
            self.subscriptions[ref.label] = api

    @property
    def arns(self) -> dict[str, str]:
        """The ARNs of the consumers, by the stream's name in offsets."""
        return {label: consumer.arn for label, consumer in self._found.items()}

    def remove(self) -> None:
        """Deregister the consumers, unless the options keep them."""
        from kinesis_core.reading.fan_out import remove_consumer

        if self._deregister_on_stop:
            with ExitStack() as last:  # a signal that interrupts one removal keeps no other consumer
                for label, consumer in self._found.items():
                    last.callback(remove_consumer, self._apis[label], consumer)


def _exit_on_sigterm() -> None:
    """
    Make SIGTERM exit this process like `sys.exit`, so that Spark's code calls the reader's `stop`.

    Spark stops a query with a SIGTERM to the process of its reader. By default that ends the process without `stop`.
    """
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, _exit)


def _exit(_signal: int, _frame: object) -> NoReturn:
    # Spark sends a second SIGTERM milliseconds later, which would interrupt the call that deregisters the consumer.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    sys.exit(0)
