"""The options of enhanced fan-out, by the names of all connectors."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from kinesis_core.aws import FanOutTransport
from kinesis_core.errors import OptionError
from kinesis_core.reading import FanOutSettings
from spark_kinesis_source.options import FanOutOptions, SourceOptions
from spark_kinesis_source.options.fan_out import FAN_OUT

LEAST = {"streamName": "orders", "region": "eu-west-1", "consumerType": "SubscribeToShard"}
STREAM = "arn:aws:kinesis:eu-west-1:123456789012:stream/orders"
ME = f"{STREAM}/consumer/me:1700000000"
OTHER = "arn:aws:kinesis:eu-west-1:123456789012:stream/payments/consumer/me:1700000000"


def fan_out(**given: object) -> FanOutOptions:
    options = SourceOptions.parse({**LEAST, **given}).fan_out
    assert options is not None
    return options


@pytest.mark.parametrize(
    "name", ["consumerType", "kinesis.consumerType", "CONSUMERMODE", "kinesis.consumermode"]
)
@pytest.mark.parametrize("value", ["SubscribeToShard", "efo", "EFO", "subscribetoshard"])
def test_switching_it_on(name: str, value: str) -> None:
    """The value of each connector switches fan-out on."""
    options = SourceOptions.parse({"streamName": "orders", "region": "eu-west-1", name: value})
    assert options.fan_out == FanOutOptions({"orders": "spark_orders"}, True, FanOutSettings())
    assert options.ignored == ()


@pytest.mark.parametrize("given", [{}, {"consumerType": "GetRecords"}, {"consumerMode": "polling"}])
def test_polling(given: dict[str, str]) -> None:
    """The stream is polled by default. A value that asks for polling gets no line in the log."""
    options = SourceOptions.parse({"streamName": "orders", "region": "eu-west-1", **given})
    assert (options.fan_out, options.ignored) == (None, ())


VALUES = {
    "consumerName": "me",
    "consumerNamePrefix": "team_",
    "consumerARN": ME,
    "registeredConsumerId": "me",
    "registeredConsumerIdType": "name",
    "keepConsumer": "true",
    "consumerTags": "team=orders",
    "subscribeTimeout": "9",
    "subscribeRetries": "3",
    "fanOutFallback": "false",
    "fanOutTransport": "HTTP/2",
}
"""Options that have no effect where the stream is polled, unless `wakeConsumer` is set."""


def test_every_option_has_a_value() -> None:
    """Every option has a value here."""
    assert set(VALUES) == {option.name for option in FAN_OUT.options} - {"consumerType", "wakeConsumer"}


@pytest.mark.parametrize("name", VALUES)
def test_not_needed_when_polling(name: str) -> None:
    """An option of fan-out is accepted without fan-out, and one line in the log says why."""
    options = SourceOptions.parse({"streamName": "orders", "region": "eu-west-1", name: VALUES[name]})
    assert options.fan_out is None
    assert [
        reason for reason in options.ignored if "the stream is polled" in reason or "is not given" in reason
    ]


@pytest.mark.parametrize(
    ("given", "consumers", "deregister_on_stop"),
    [
        ({"kinesis.consumerName": "me"}, {"orders": "me"}, True),
        ({"consumerName": "me", "keepConsumer": "true"}, {"orders": "me"}, False),
        ({"consumerName": "me", "requireConsumerDeregistration": "true"}, {"orders": "me"}, True),
        ({"consumerName": "me", "requireConsumerDeregistration": "false"}, {"orders": "me"}, False),
        ({"consumerNamePrefix": "databricks_"}, {"orders": "databricks_orders"}, True),
        ({"consumerARN": ME}, {"orders": ME}, False),
        ({"registeredConsumerId": "me"}, {"orders": "me"}, False),
        ({"registeredConsumerId": ME, "registeredConsumerIdType": "ARN"}, {"orders": ME}, False),
        ({"streamARN": STREAM, "streamName": "orders", "consumerARN": ME}, {STREAM: ME}, False),
        ({"streamName": "orders,payments", "consumerName": "me"}, {"orders": "me", "payments": "me"}, True),
        (
            {"streamName": "orders,payments", "consumerARN": f"{OTHER},{ME}"},
            {"orders": ME, "payments": OTHER},
            False,
        ),
    ],
)
def test_consumers(given: dict[str, str], consumers: dict[str, str], deregister_on_stop: bool) -> None:
    """A consumer has a name or an ARN, for each stream. Only one by a name of the query is deregistered."""
    options = fan_out(**given)
    assert (dict(options.consumers), options.deregister_on_stop) == (consumers, deregister_on_stop)


@pytest.mark.parametrize(
    ("given", "register_if_missing"),
    [
        ({}, True),
        ({"consumerName": "me", "keepConsumer": "true"}, True),
        ({"consumerARN": ME}, False),
        ({"registeredConsumerId": "me"}, False),
        ({"registeredConsumerId": ME, "registeredConsumerIdType": "ARN"}, False),
    ],
)
def test_registering(given: dict[str, str], register_if_missing: bool) -> None:
    """A consumer that is given as registered must exist. The query registers only one by its own name."""
    assert fan_out(**given).register_if_missing is register_if_missing


def tagged(tags: dict[str, str]) -> FanOutSettings:
    return FanOutSettings(consumer_tags=tags)


@pytest.mark.parametrize(
    ("tags", "fault"),
    [
        ("team", "A tag has no '='."),
        ("team=a,team=b", "A key stands there twice."),
        ("aws:team=a", "The tag 'aws:team' begins with 'aws:', which AWS reserves."),
        ("team=a;b", "The tag 'team' has the character ';'."),
    ],
)
def test_wrong_tags(tags: str, fault: str) -> None:
    """Tags that AWS would refuse are refused when the query is loaded."""
    with pytest.raises(OptionError) as raised:
        fan_out(consumerTags=tags)
    assert "consumerTags" in str(raised.value)
    assert fault in str(raised.value)


@pytest.mark.parametrize(
    ("given", "settings"),
    [
        ({"kinesis.subscribeToShard.timeoutSec": "90"}, FanOutSettings(timeout_s=90)),
        ({"registerConsumerTimeoutInterval": "90s"}, FanOutSettings(timeout_s=90)),
        ({"subscribeTimeout": "2 m"}, FanOutSettings(timeout_s=120)),
        ({"kinesis.subscribeToShard.maxRetries": "3"}, FanOutSettings(retries=3)),
        ({"subscribeRetries": "0"}, FanOutSettings(retries=0)),
        ({"fanOutFallback": "false"}, FanOutSettings(fallback_to_polling=False)),
        (
            {"consumerTags": "team=orders, url = a=b,empty="},
            tagged({"team": "orders", "url": "a=b", "empty": ""}),
        ),
        ({"fanOutTransport": "http/2"}, FanOutSettings(transport=FanOutTransport.HTTP_2)),
    ],
)
def test_settings(given: dict[str, str], settings: FanOutSettings) -> None:
    """Settings of subscriptions, in the units of each connector."""
    assert fan_out(**given).settings == settings


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"consumerType": "push"},
            "Option 'consumerType' is 'push'. Use GetRecords, polling, SubscribeToShard or efo.",
        ),
        (
            {"consumerName": "me", "consumerARN": ME},
            "Option 'consumerName' and Option 'consumerARN' both name the consumer. Keep one of them.",
        ),
        (
            {"consumerName": "me", "registeredConsumerId": "me"},
            "Option 'consumerName' and Option 'registeredConsumerId' both name the consumer. Keep one of them.",
        ),
        (
            {"registeredConsumerId": "me", "registeredConsumerIdType": "ARN"},
            "Option 'registeredConsumerId' is 'me'. Use ARNs of consumers, such as "
            "arn:aws:kinesis:eu-west-1:123456789012:stream/orders/consumer/me:1700000000.",
        ),
        ({"consumerARN": OTHER}, "Option 'consumerARN' has no consumer of stream 'orders'."),
        (
            {"consumerARN": f"{ME},{OTHER}"},
            f"Option 'consumerARN' has {OTHER}, which belongs to no stream of this query or is a second consumer of one. "
            "Remove it.",
        ),
        (
            {"consumerName": "me and you"},
            "Option 'consumerName' is 'me and you'. Use 1 to 128 letters, digits and any of _.-.",
        ),
    ],
)
def test_refusals(given: dict[str, str], message: str) -> None:
    """A refusal names option, domain and value."""
    with pytest.raises(OptionError) as caught:
        fan_out(**given)
    assert str(caught.value) == message


def waking(**given: str) -> SourceOptions:
    return SourceOptions.parse({"streamName": "orders", "region": "eu-west-1", **given})


@pytest.mark.parametrize("reading", [{}, {"consumerType": "efo"}], ids=["polling", "efo"])
@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"wakeConsumer": "bell"}, FanOutOptions({"orders": "bell"}, True, FanOutSettings())),
        (
            {
                "wakeConsumer": "bell",
                "keepConsumer": "true",
                "subscribeTimeout": "9",
                "consumerTags": "team=a",
            },
            FanOutOptions(
                {"orders": "bell"}, False, FanOutSettings(timeout_s=9, consumer_tags={"team": "a"})
            ),
        ),
        (
            {"wakeConsumer": "bell", "fanOutTransport": "HTTP/2"},
            FanOutOptions({"orders": "bell"}, True, FanOutSettings(transport=FanOutTransport.HTTP_2)),
        ),
        (
            {"wakeConsumer": ME},
            FanOutOptions({"orders": ME}, False, FanOutSettings(), register_if_missing=False),
        ),
        (
            {"wakeConsumer": f"{OTHER},{ME}", "streamName": "orders,payments"},
            FanOutOptions(
                {"orders": ME, "payments": OTHER}, False, FanOutSettings(), register_if_missing=False
            ),
        ),
        (
            {"wakeConsumer": "bell", "streamName": "orders,payments"},
            FanOutOptions({"orders": "bell", "payments": "bell"}, True, FanOutSettings()),
        ),
    ],
)
def test_a_consumer_that_wakes(
    given: dict[str, str], reading: dict[str, str], expected: FanOutOptions
) -> None:
    """It has the lifetime, tags and transport of one that reads, and works beside it. No option of it is called useless."""
    options = waking(**given, **reading)
    assert options.wake == expected
    assert (options.fan_out is not None) is bool(reading)
    assert options.ignored == ()


def test_only_some_options_belong_to_a_consumer_that_wakes() -> None:
    """The others still have no effect where the stream is polled."""
    options = waking(wakeConsumer="bell", subscribeRetries="3", consumerName="me", keepConsumer="true")
    assert sorted(reason.split("'")[1] for reason in options.ignored) == ["consumerName", "subscribeRetries"]


def test_a_batch_read_wakes_nobody() -> None:
    """It says so."""
    options = waking(wakeConsumer="bell").for_batch_read()
    assert options.wake is None
    assert options.ignored == ("Enhanced fan-out has no effect here: a batch read polls.",)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"wakeConsumer": "bell,other"},
            "Option 'wakeConsumer' names several consumers. Give one name, or one ARN per stream.",
        ),
        (
            {"wakeConsumer": f"bell,{ME}"},
            "Option 'wakeConsumer' names several consumers. Give one name, or one ARN per stream.",
        ),
        ({"wakeConsumer": OTHER}, "Option 'wakeConsumer' has no consumer of stream 'orders'."),
        (
            {"wakeConsumer": "me", "consumerName": "me", "consumerType": "efo"},
            "Option 'wakeConsumer' is 'me', which reads stream 'orders'. A consumer has one subscription per shard, so name another one.",
        ),
        (
            {"wakeConsumer": ME, "consumerARN": ME, "consumerType": "efo"},
            f"Option 'wakeConsumer' is '{ME}', which reads stream 'orders'. A consumer has one subscription per shard, so name "
            "another one.",
        ),
        (
            {"wakeConsumer": "me", "consumerARN": ME, "consumerType": "efo"},
            "Option 'wakeConsumer' is 'me', which reads stream 'orders'. A consumer has one subscription per shard, so name another one.",
        ),
        (
            {"wakeConsumer": ME, "consumerName": "me", "consumerType": "efo"},
            f"Option 'wakeConsumer' is '{ME}', which reads stream 'orders'. A consumer has one subscription per shard, so name "
            "another one.",
        ),
        (
            {"wakeConsumer": "my bell"},
            "Option 'wakeConsumer' is 'my bell'. Use a name of 1 to 128 letters, digits and any of _.-, or ARNs of consumers.",
        ),
    ],
)
def test_refusals_of_a_consumer_that_wakes(given: dict[str, str], message: str) -> None:
    with pytest.raises(OptionError) as caught:
        waking(**given)
    assert str(caught.value) == message


def test_a_long_name_is_cut() -> None:
    """A name with a prefix is never longer than AWS allows."""
    [name] = fan_out(streamName="s" * 128).consumers.values()
    assert len(name) == 128


def test_travels() -> None:
    """The options pickle."""
    options: Any = fan_out(consumerARN=ME)
    assert pickle.loads(pickle.dumps(options)) == options  # noqa: S301 - our own bytes
