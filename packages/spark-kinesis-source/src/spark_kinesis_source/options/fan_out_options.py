"""The options of enhanced fan-out as checked values."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import frozen

from kinesis_core.aws import Connection, FanOutTransport, StreamRef, check_http2
from kinesis_core.errors import OptionError
from kinesis_core.options import BadValueError, Values
from kinesis_core.reading import FanOutSettings
from spark_kinesis_source.options.fan_out import (
    CONSUMER_ALTERNATIVES,
    CONSUMER_ARN,
    CONSUMER_NAME,
    CONSUMER_NAME_PREFIX,
    CONSUMER_TYPE,
    FAN_OUT_FALLBACK,
    FAN_OUT_OPTIONS,
    FAN_OUT_TRANSPORT,
    KEEP_CONSUMER,
    REGISTERED_CONSUMER_ID,
    REGISTERED_CONSUMER_ID_TYPE,
    SUBSCRIBE_RETRIES,
    SUBSCRIBE_TIMEOUT,
    ConsumerIdType,
    ReadMode,
)

_LONGEST_NAME = 128


@frozen
class FanOutOptions:
    """How a query reads by enhanced fan-out."""

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
        if values[CONSUMER_TYPE] is ReadMode.POLLING:
            return None
        _check_named_once(values)
        arns = _read_arns(values)
        is_ours = not arns and not values.is_given(REGISTERED_CONSUMER_ID)
        return FanOutOptions(
            _match(values, arns, connection) if arns else _name(values, connection),
            deregister_on_stop=is_ours and not values[KEEP_CONSUMER],
            settings=_read_settings(values),
            register_if_missing=is_ours,
        )


def _read_settings(values: Values) -> FanOutSettings:
    if values[FAN_OUT_TRANSPORT] is FanOutTransport.HTTP_2:
        check_http2()
    return FanOutSettings(
        fallback_to_polling=values[FAN_OUT_FALLBACK],
        timeout_s=values[SUBSCRIBE_TIMEOUT],
        retries=values[SUBSCRIBE_RETRIES],
        transport=values[FAN_OUT_TRANSPORT],
    )


def ignored_fan_out_options(values: Values) -> tuple[str, ...]:
    """Return a line for the log for each option of fan-out that has no effect because the streams are polled."""
    if values[CONSUMER_TYPE] is ReadMode.FAN_OUT:
        return ()
    given = [option for option in FAN_OUT_OPTIONS if option is not CONSUMER_TYPE and values.is_given(option)]
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
            f"{values.label(REGISTERED_CONSUMER_ID)} accepts {CONSUMER_ARN.parser.domain}; got '{registered}'."
        ) from None


def _name(values: Values, connection: Connection) -> dict[str, str]:
    given = values[CONSUMER_NAME] or values[REGISTERED_CONSUMER_ID]
    prefix = values[CONSUMER_NAME_PREFIX]
    return {ref.label: given or (prefix + ref.name)[:_LONGEST_NAME] for ref in connection.streams}


def _match(values: Values, arns: tuple[str, ...], connection: Connection) -> dict[str, str]:
    """Return the consumer of each stream. Each stream must have exactly one."""
    option = CONSUMER_ARN if values.is_given(CONSUMER_ARN) else REGISTERED_CONSUMER_ID
    found = {ref.label: arn for ref in connection.streams for arn in arns if _is_of(arn, ref)}
    missing = [ref.label for ref in connection.streams if ref.label not in found]
    foreign = [arn for arn in arns if arn not in found.values()]
    if missing:
        raise OptionError(f"{values.label(option)} has no consumer of stream '{missing[0]}'.")
    if foreign:
        raise OptionError(
            f"{values.label(option)} has {foreign[0]}, which belongs to no stream of this query or is a second consumer of one. "
            "Remove it."
        )
    return found


def _is_of(arn: str, ref: StreamRef) -> bool:
    stream = arn.partition("/consumer/")[0]
    return stream == ref.arn if ref.arn else stream.rpartition("/")[2] == ref.name
