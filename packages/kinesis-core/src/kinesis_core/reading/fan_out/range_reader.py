"""Ranges by subscription, and by polling where no subscription can be had."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Generator

from attrs import field, frozen

from kinesis_core.aws import SubscribeApi
from kinesis_core.clock import Clock
from kinesis_core.errors import AccessDeniedError, ServiceError
from kinesis_core.logs import get_logger
from kinesis_core.model import Page, ShardRange
from kinesis_core.reading.fan_out.subscription_reader import FanOutReader
from kinesis_core.reading.polling import PolledRanges
from kinesis_core.reading.progress import PATIENCE
from kinesis_core.reading.settings import FanOutSettings

log = get_logger("kinesis_core")


@frozen
class FanOutRanges:
    """
    How `read_chains` reads each range: through the consumer that *api_for* a stream's name returns.

    What a subscription leaves over, *polled* reads, unless the settings say otherwise or access is denied.
    """

    api_for: Callable[[str], SubscribeApi]
    polled: PolledRanges
    settings: FanOutSettings
    rng: random.Random
    _reasons: list[str] = field(factory=list, init=False)

    def __call__(self, shard_range: ShardRange, clock: Clock) -> Generator[Page, None, None]:
        reader = FanOutReader(
            self.api_for(shard_range.stream),
            shard_range,
            self.settings,
            self.polled.settings.fail_on_data_loss,
            clock,
            self.rng,
            self.polled.check(shard_range, clock),
            self.polled.with_data,
        )
        try:
            yield from reader.pages()
        except ServiceError as error:
            if not self.settings.falls_back or isinstance(error, AccessDeniedError):
                raise
            self._reasons.append(error.code)
            reader.progress.patience = PATIENCE
            yield from self.polled.rest(reader.progress, clock)

    def log_polled(self) -> None:
        """Log how many ranges were polled, whole or in part, and why; nothing where there were none."""
        if self._reasons:
            log.info("fan_out.polled", ranges=len(self._reasons), reasons=dict(Counter(self._reasons)))
