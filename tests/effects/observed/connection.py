"""The options that source and sink share: their effects on the requests that servers receive."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from attrs import evolve

from effects.observed.wire import Sent
from effects.observed.world import STREAM, Effect, Observe, Options, World
from kinesis_core.aws import RetryBudget, stream_client
from kinesis_core.errors import ServiceError
from kinesis_core.model import TrimHorizon
from kinesis_emulator.faults import Fault
from support.fake_stream import FakeClock
from support.paths import TESTS
from support.streams import KEY_ID, SECRET

ROLE = "arn:aws:iam::210987654321:role/reader"
ARN = f"arn:aws:kinesis:us-east-1:123456789012:stream/{STREAM}"
NO_KEYS = {"awsAccessKeyId": None, "awsSecretKey": None}
ROLE_OPTIONS = {"stsRoleArn": ROLE, "stsSessionName": "nightly", "stsEndpointUrl": "{sts}"}
LOGIN = {"proxyUsername": "user", "proxyPassword": "pass"}
THROUGH_PROXY = {"proxyAddress": "127.0.0.1", "proxyPort": "{wire_port}"}


def kinesis_request(look: Callable[[Any], object]) -> Observe:
    """Observe the first request to Kinesis. None if there is no request."""

    def observe(world: World, options: Options) -> object:
        world.requests.clear()
        world.touch(options)
        return look(world.requests[0]) if world.requests else None

    return observe


def wire_request(look: Callable[[Sent], object]) -> Observe:
    """Observe the last request on the wire. None if there is no request."""

    def observe(world: World, options: Options) -> object:
        world.wire.sent.clear()
        world.touch(options)
        return look(world.wire.sent[-1]) if world.wire.sent else None

    return observe


def sts_request(look: Callable[[Mapping[str, str]], object]) -> Observe:
    """Observe the last request to STS. None if there is no request."""

    def observe(world: World, options: Options) -> object:
        world.sts.asked.clear()
        world.touch(options)
        return look(world.sts.asked[-1].params) if world.sts.asked else None

    return observe


def attempts(world: World, options: Options) -> object:
    """Return the number of attempts at a call that always fails."""
    world.requests.clear()
    world.refuse = lambda _: Fault("InternalFailure", status=500)
    connection = world.half.connect(world.options(options))
    with suppress(ServiceError):
        stream_client(connection, connection.streams[0]).describe()
    world.refuse = lambda _: None
    return len(world.requests)


def waits_s(world: World, options: Options) -> object:
    """Return the maximum waits before the first five retries."""
    connection = world.half.connect(world.options(options))
    policy = stream_client(connection, connection.streams[0]).policy
    return [policy.longest_s(attempt) for attempt in range(5)]


def outage_minutes(world: World, options: Options) -> object:
    """Return after how many whole minutes of failures a call fails, if an earlier call succeeded."""
    connection = world.half.connect(world.options(options))
    clock = FakeClock()
    api = evolve(stream_client(connection, connection.streams[0]), clock=clock, budget=RetryBudget())
    api.describe()
    world.refuse = lambda _: Fault("InternalFailure", status=500)
    with suppress(ServiceError):
        api.describe()
    world.refuse = lambda _: None
    return (clock.now - FakeClock().now) // 60


def calls_through_botocore(world: World, options: Options) -> object:
    """Return how many of two calls go through botocore's client."""
    connection = world.half.connect(world.options(options))
    api = stream_client(connection, connection.streams[0])
    seen: list[object] = []
    api.client.meta.events.register("before-call.kinesis.GetShardIterator", lambda **_: seen.append(1))
    for _ in range(2):
        api.get_iterator("shardId-000000000000", TrimHorizon())
    return len(seen)


def speaks_cbor(world: World, options: Options) -> object:
    """Return whether a call for an iterator is in CBOR."""
    world.emulator.calls.clear()
    connection = world.half.connect(world.options(options))
    stream_client(connection, connection.streams[0]).get_iterator("shardId-000000000000", TrimHorizon())
    return world.emulator.calls.count("GetShardIterator", wire_format="cbor") == 1


def freezes(world: World, options: Options) -> object:
    """Return whether the first task of a new worker freezes its heap."""
    world.emulator.put(STREAM, "one")
    given = json.dumps([world.half.name, world.options(options)])
    command = [sys.executable, "-m", "effects.observed.first_task"]
    done = subprocess.run(command, input=given, cwd=TESTS, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def is_checked(world: World, options: Options) -> object:
    """Return whether there are calls in addition to the description of the stream."""
    world.requests.clear()
    world.touch(options)
    return len(world.requests) > 1


access_key = kinesis_request(lambda request: request.access_key)
region = kinesis_request(lambda request: request.region)
is_proxied = wire_request(lambda request: request.url.startswith("http://"))
proxy_login = wire_request(lambda request: request.headers.get("proxy-authorization"))

EFFECTS = {
    "streamName": Effect(
        kinesis_request(lambda request: request.stream_name), {"streamName": "returns"}, "returns", STREAM
    ),
    "streamARN": Effect(
        kinesis_request(lambda request: request.params),
        {"streamARN": ARN},
        {"StreamARN": ARN},
        {"StreamName": STREAM},
    ),
    "region": Effect(region, {"region": "eu-west-1"}, "eu-west-1", "us-east-1"),
    "streamRegion": Effect(region, {"streamRegion": "eu-west-1"}, "eu-west-1", "us-east-1"),
    "endpointUrl": Effect(wire_request(lambda request: request.url), {"endpointUrl": "{wire}"}, "/", None),
    "awsAccessKeyId": Effect(access_key, {"awsAccessKeyId": "AKIAOTHER"}, "AKIAOTHER", KEY_ID),
    "awsSecretKey": Effect(
        wire_request(lambda request: [request.is_signed_with(secret) for secret in (SECRET, "another")]),
        {"awsSecretKey": "another"},
        [False, True],
        [True, False],
        both={"endpointUrl": "{wire}"},
    ),
    "sessionToken": Effect(
        wire_request(lambda request: request.headers.get("x-amz-security-token")),
        {"sessionToken": "t0ken"},
        "t0ken",
        None,
        both={"endpointUrl": "{wire}"},
    ),
    "awsProfile": Effect(access_key, {"awsProfile": "team"}, "AKIATEAM", "AKIAENVIRONMENT", both=NO_KEYS),
    # There is no EC2 instance here, and no other source of keys is used.
    "awsUseInstanceProfile": Effect(
        access_key, {"awsUseInstanceProfile": "true"}, None, "AKIAENVIRONMENT", both=NO_KEYS
    ),
    "credentialProviderClass": Effect(
        access_key,
        {"credentialProviderClass": "support.vault.Vault", "credentialProviderParam": "AKIAVAULT:pass"},
        "AKIAVAULT",
        "AKIAENVIRONMENT",
        both=NO_KEYS,
    ),
    "credentialProviderParam": Effect(
        access_key,
        {"credentialProviderParam": "AKIAONE:pass"},
        "AKIAONE",
        "AKIATWO",
        first={"credentialProviderParam": "AKIATWO:pass"},
        both={**NO_KEYS, "credentialProviderClass": "support.vault.Vault"},
    ),
    "stsRoleArn": Effect(
        access_key,
        {"stsRoleArn": ROLE},
        "210987654321",
        KEY_ID,
        both={name: value for name, value in ROLE_OPTIONS.items() if name != "stsRoleArn"},
    ),
    "stsSessionName": Effect(
        sts_request(lambda params: params["RoleSessionName"]),
        {"stsSessionName": "hourly"},
        "hourly",
        "nightly",
        both=ROLE_OPTIONS,
    ),
    "stsExternalId": Effect(
        sts_request(lambda params: params.get("ExternalId")),
        {"stsExternalId": "contract-7"},
        "contract-7",
        None,
        both=ROLE_OPTIONS,
    ),
    "stsEndpointUrl": Effect(
        sts_request(lambda params: params["RoleArn"]),
        {"stsEndpointUrl": "{sts}"},
        ROLE,
        None,
        both={**ROLE_OPTIONS, "stsEndpointUrl": None},
    ),
    "proxyUrl": Effect(is_proxied, {"proxyUrl": "{wire}"}, True, None),
    "proxyAddress": Effect(is_proxied, THROUGH_PROXY, True, None, first={"proxyPort": "{wire_port}"}),
    "proxyPort": Effect(is_proxied, THROUGH_PROXY, True, None, first={"proxyAddress": "127.0.0.1"}),
    # botocore sends no user name to a proxy without a password.
    "proxyUsername": Effect(proxy_login, LOGIN, "Basic dXNlcjpwYXNz", None, both=THROUGH_PROXY),
    "proxyPassword": Effect(
        proxy_login,
        LOGIN,
        "Basic dXNlcjpwYXNz",
        None,
        first={"proxyUsername": "user"},
        both=THROUGH_PROXY,
    ),
    "maxRetries": Effect(attempts, {"maxRetries": "2"}, 3, 1, both={"retryInterval": "0 s"}),
    "retryInterval": Effect(
        waits_s, {"retryInterval": "100 ms"}, [0.1, 0.2, 0.4, 0.8, 1.6], [1.0, 2.0, 4.0, 8.0, 10.0]
    ),
    "maxRetryInterval": Effect(
        waits_s, {"maxRetryInterval": "3 s"}, [1.0, 2.0, 3.0, 3.0, 3.0], [1.0, 2.0, 4.0, 8.0, 10.0]
    ),
    "outageTimeout": Effect(outage_minutes, {"outageTimeout": "3 m"}, 3, 1, both={"maxRetries": "1"}),
    "wireFormat": Effect(speaks_cbor, {"wireFormat": "cbor"}, True, False),
    "httpTransport": Effect(calls_through_botocore, {"httpTransport": "botocore"}, 2, 1),
    "checkPermissions": Effect(is_checked, {"checkPermissions": "false"}, False, True),
    "freezeWorkerHeap": Effect(freezes, {"freezeWorkerHeap": "false"}, False, True),
}
