"""The runner of the conformance suite, against a server that answers as it is told."""

from __future__ import annotations

import dataclasses
import json
import struct
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from support.ports import free_port
from tools.conformance.calls import Endpoint, Keys
from tools.conformance.running import Clock, Runner
from tools.conformance.scenarios import Scenario, Step

Reply = tuple[int, Any]
NOT_FOUND: Reply = (
    400,
    {"__type": "ResourceNotFoundException", "message": "Stream x under account 123456789012 not found."},
)
THROTTLED: Reply = (400, {"__type": "LimitExceededException", "message": "Rate exceeded for account."})
GONE: Reply = (400, {"__type": "com.amazonaws#Gone", "message": "Gone."})


class Told:
    """Replies by operation, in order; the last one again and again."""

    def __init__(self) -> None:
        self.replies: dict[str, list[Reply | bytes]] = {}
        self.requests: list[tuple[str, Any]] = []
        self.headers: dict[str, str] = {}

    def reply(self, operation: str, body: Any, headers: dict[str, str]) -> Reply | bytes:
        self.requests.append((operation, body))
        self.headers = headers
        replies = self.replies.get(operation, [NOT_FOUND])
        return replies.pop(0) if len(replies) > 1 else replies[0]

    def calls(self, operation: str) -> list[Any]:
        return [body for name, body in self.requests if name == operation]


@pytest.fixture
def told() -> Told:
    return Told()


@pytest.fixture
def pauses() -> list[float]:
    return []


@pytest.fixture
def run(told: Told, pauses: list[float]) -> Iterator[Callable[..., str]]:
    """Yield a function that runs a scenario of its last step and those before, and returns the difference."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers["Content-Length"]))
            operation = self.headers.get("X-Amz-Target", "").partition(".")[2]
            reply = told.reply(operation, json.loads(raw or b"{}"), dict(self.headers.items()))
            status, body = (
                (200, reply) if isinstance(reply, bytes) else (reply[0], json.dumps(reply[1]).encode())
            )
            kind = (
                "application/vnd.amazon.eventstream"
                if isinstance(reply, bytes)
                else "application/x-amz-json-1.1"
            )
            body = b"" if reply == (200, "") else body
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Write nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()

    def carry_out(step: Step, *before: Step) -> str:
        runner = Runner(Endpoint(f"http://127.0.0.1:{server.server_port}"), Clock(pauses.append, 9.0))
        return runner.run(Scenario("one", "area", "fact", ("source",), before, step)).difference

    yield carry_out
    server.shutdown()
    thread.join()
    server.server_close()


def test_answer(run: Callable[..., str], told: Told) -> None:
    """An answer that fits passes. The request has the filled parameters and a signature."""
    told.replies["ListShards"] = [(200, {"Shards": []})]
    step = Step(
        "ListShards", {"StreamName": "${stream}", "Account": "${account}"}, expect={"answer": {"Shards": []}}
    )
    assert run(step) == ""
    (request,) = told.calls("ListShards")
    assert request["StreamName"].startswith("conformance-")
    assert request["Account"] == "123456789012"
    assert (
        "/us-east-1/kinesis/aws4_request, SignedHeaders=content-type;host;" in told.headers["Authorization"]
    )


@pytest.mark.parametrize(
    ("reply", "expect", "difference"),
    [
        ((200, {"A": 1}), {"answer": {"A": 2}}, "A is 1, not 2"),
        (GONE, {"answer": {}}, "it failed with Gone: Gone."),
        (GONE, None, "it failed with Gone: Gone."),
        ((200, {}), {"empty": True}, "the body is {}, and should be empty"),
        ((200, ""), {"empty": True}, ""),
        ((200, {}), {"error": {"type": "Gone"}}, "it succeeded with {}"),
        (GONE, {"error": {"type": "Gone", "message": "Gone."}}, ""),
        (GONE, {"error": {"type": "Lost"}}, 'the type is "Gone", not "Lost"'),
        (GONE, {"error": {"type": "Gone", "message": "Lost."}}, 'the message is "Gone.", not "Lost."'),
        (GONE, {"error": {"type": "Gone", "status": 500}}, "the status is 400, not 500"),
        (
            GONE,
            {"error": {"type": "Gone", "body": {"message": {"$absent": True}}}},
            'the body.message is "Gone.", and should be absent',
        ),
    ],
)
def test_outcomes(run: Callable[..., str], told: Told, reply: Reply, expect: Any, difference: str) -> None:
    """Each kind of outcome differs in its own words."""
    told.replies["Do"] = [reply]
    assert run(Step("Do", {}, expect=expect)) == difference


def test_saved_values(run: Callable[..., str], told: Told) -> None:
    """A step saves values for later steps. A step that fails ends the scenario, which names it."""
    told.replies = {"First": [(200, {"List": [{"Id": "x"}]})], "Second": [(200, {})]}
    assert (
        run(Step("Second", {"Id": "${id}"}, expect={"answer": {}}), Step("First", {}, (("id", "List.0.Id"),)))
        == ""
    )
    assert told.calls("Second") == [{"Id": "x"}]
    assert run(Step("Second", {}, expect={"answer": {}}), Step("Gone", {})).startswith(
        "Before the call, Gone: it failed"
    )


def test_until(run: Callable[..., str], told: Told, pauses: list[float]) -> None:
    """A step with `until` is repeated with pauses, but not for ever."""
    creating, active = (200, {"Status": "CREATING"}), (200, {"Status": "ACTIVE"})
    told.replies["Describe"] = [creating, creating, active]
    step = Step("Describe", {}, until={"Status": "ACTIVE"}, expect={"answer": {"Status": "ACTIVE"}})
    assert run(step) == ""
    assert pauses == [9.0, 9.0]
    told.replies["Describe"] = [creating]
    assert run(step) == 'Status is "CREATING", not "ACTIVE"'


def test_times(run: Callable[..., str], told: Told, pauses: list[float]) -> None:
    """A step with `times` is repeated at once."""
    told.replies["Get"] = [(200, {}), (200, {}), GONE, (200, {})]
    assert run(Step("Get", {}, times=5, expect={"error": {"type": "Gone"}})) == ""
    assert len(told.calls("Get")) == 3
    assert run(Step("Get", {}, times=5, expect={"error": {"type": "Gone"}})) == "it succeeded with {}"
    assert len(told.calls("Get")) == 8
    assert pauses == []


def test_throttles(run: Callable[..., str], told: Told, pauses: list[float]) -> None:
    """A throttled call is made again after a second, unless the scenario expects the throttle."""
    told.replies["Get"] = [THROTTLED, (200, {})]
    assert run(Step("Get", {}, expect={"answer": {}})) == ""
    assert pauses == [1.0]
    told.replies["Get"] = [THROTTLED]
    assert run(Step("Get", {}, expect={"error": {"type": "LimitExceededException"}})) == ""
    assert pauses == [1.0]


def test_wait(run: Callable[..., str], told: Told, pauses: list[float]) -> None:
    """A step may let time pass."""
    told.replies["Get"] = [(200, {})]
    assert run(Step("Get", {}, expect={"answer": {}}), Step(wait_s=301)) == ""
    assert pauses == [301]


def test_streams_are_deleted(run: Callable[..., str], told: Told) -> None:
    """A scenario deletes the streams that it made, whatever its outcome."""
    told.replies["CreateStream"] = [(200, "")]
    assert (
        run(Step("Lost", {}, expect={"answer": {}}), Step("CreateStream", {"StreamName": "${stream}-b"}))
        != ""
    )
    (made,) = told.calls("CreateStream")
    assert told.calls("DeleteStream") == [{"StreamName": made["StreamName"], "EnforceConsumerDeletion": True}]


def test_requests_of_another_form(run: Callable[..., str], told: Told) -> None:
    """`http` changes headers and the body, and leaves out the signature."""
    told.replies[""] = [(200, {})]
    http = {"headers": {"X-Amz-Target": None, "Content-Type": "text/plain"}, "body": "[1]", "signed": False}
    assert run(Step("Get", {}, http=http, expect={"answer": {}})) == ""
    assert told.calls("") == [[1]]
    assert told.headers["Content-Type"] == "text/plain"
    assert "Authorization" not in told.headers


def test_keys() -> None:
    """A request is signed with the given keys. The signature is the one that botocore makes."""
    keys = Keys("access", "private", "token")
    signed = Endpoint("http://localhost:1/", "eu-west-1", keys)._sign("POST", b"{}", {"X-Amz-Target": "T"})
    request = AWSRequest("POST", "http://localhost:1/", {"X-Amz-Target": "T"}, b"{}")
    request.context["timestamp"] = signed["X-Amz-Date"]
    for name in ("X-Amz-Date", "X-Amz-Security-Token"):
        request.headers[name] = signed[name]
    auth = SigV4Auth(Credentials(*dataclasses.astuple(keys)), "kinesis", "eu-west-1")
    expected = auth.signature(auth.string_to_sign(request, auth.canonical_request(request)), request)
    assert signed["Authorization"].endswith(f"Signature={expected}")
    assert "private" not in repr(keys)


def test_events(run: Callable[..., str], told: Told) -> None:
    """The events of a subscription are read until they have the records."""
    told.replies["SubscribeToShard"] = [
        frame("initial-response", {})
        + frame("SubscribeToShardEvent", {"Records": [1]})
        + frame("SubscribeToShardEvent", {"Records": []})
        + frame("SubscribeToShardEvent", {"Records": [2, 3]})
        + frame("SubscribeToShardEvent", {"Records": [4]})
    ]
    answer = {"Records": [1, 2, 3], "Events": {"$length": 3}}
    assert run(Step("SubscribeToShard", {}, events=2, expect={"answer": answer})) == ""
    assert (
        run(Step("SubscribeToShard", {}, expect={"answer": {"Records": [1], "Events": {"$length": 1}}})) == ""
    )


def test_server_that_is_gone() -> None:
    """A server that does not answer is a difference, and no error of the runner."""
    step = Step("Get", {}, expect={"answer": {}})
    runner = Runner(Endpoint(f"http://127.0.0.1:{free_port()}"), account="123456789012")
    assert (
        "Connection refused" in runner.run(Scenario("one", "area", "fact", ("source",), (), step)).difference
    )


def frame(event: str, payload: Any) -> bytes:
    """Return a message of an event stream. Its checksums are zero; the runner reads none."""
    headers = b"".join(
        bytes([len(name)]) + name.encode() + b"\x07" + len(value).to_bytes(2, "big") + value.encode()
        for name, value in ((":message-type", "event"), (":event-type", event))
    )
    body = json.dumps(payload).encode()
    return struct.pack(">III", 16 + len(headers) + len(body), len(headers), 0) + headers + body + bytes(4)
