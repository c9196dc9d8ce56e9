"""The consumers of a query by enhanced fan-out: found or registered by the driver, and removed at the end."""

from __future__ import annotations

import signal
import sys
import threading
from typing import TYPE_CHECKING, NoReturn

from kinesis_core.aws import Connection
from kinesis_core.clock import SystemClock
from spark_kinesis_source.options import FanOutOptions

if TYPE_CHECKING:
    from kinesis_core.aws import Consumer


class Consumers:
    """The ACTIVE consumers of a query, on the driver."""

    def __init__(self, connection: Connection, options: FanOutOptions) -> None:
        """
        Find them, register those that are not there, and wait.

        Raises:
            ServiceError: One cannot be found or registered, is not ACTIVE in time, or may not be subscribed through.
        """
        from kinesis_core.aws import consumer_client

        self._apis = {ref.label: consumer_client(connection, ref) for ref in connection.streams}
        self._deregister_on_stop = options.deregister_on_stop
        self._found: dict[str, Consumer] = {}
        if self._deregister_on_stop:
            _stop_in_order()
        try:
            self._find(connection, options)
        except BaseException:
            self.remove()  # nobody will stop a query that has not begun
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
            )
            self._found[ref.label] = consumer
            check_permission(subscription_client(connection, ref, consumer.arn, settings.over_http2))

    @property
    def arns(self) -> dict[str, str]:
        """The consumers' ARNs, by what offsets call the stream."""
        return {label: consumer.arn for label, consumer in self._found.items()}

    def remove(self) -> None:
        """Deregister them, unless they are to be kept."""
        from kinesis_core.reading.fan_out import remove_consumer

        if self._deregister_on_stop:
            for label, consumer in self._found.items():
                remove_consumer(self._apis[label], consumer)


def _stop_in_order() -> None:
    """
    Let SIGTERM end this process as an exit does, so that Spark's own code calls the reader's `stop` on the way out.

    Spark stops a query by ending the process that its reader lives in, and of itself that is the end of it at once.
    """
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, _exit)


def _exit(_signal: int, _frame: object) -> NoReturn:
    # Spark sends a second one milliseconds later, which would end the call that removes the consumer.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    sys.exit(0)
