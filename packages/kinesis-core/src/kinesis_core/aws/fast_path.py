"""
The three calls whose number counts, past most of botocore's machinery.

A call through a botocore client takes about 0.7 ms of CPU, of which sending and receiving are a third. So the first
call of an action on a stream goes that way, and later ones repeat its request with another body and signature. What
botocore knows stays botocore's: the endpoint, the keys and their refreshing, proxies, certificates, connections and
the words of errors. Where anything is not as expected the call goes through the client, as the first one did.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import datetime, timezone
from typing import Any

from attrs import define, field
from botocore import xform_name
from botocore.awsrequest import AWSPreparedRequest, AWSRequest
from botocore.client import BaseClient
from botocore.credentials import Credentials, ReadOnlyCredentials
from botocore.exceptions import ClientError, ConnectionClosedError
from botocore.hooks import first_non_none_response
from botocore.parsers import create_parser

from kinesis_core.aws.http_exchange import HttpResponse, OpenConnections
from kinesis_core.aws.retry import log_retry
from kinesis_core.aws.service_errors import is_final
from kinesis_core.aws.signing import RequestTemplate, find_template

BODY = "KinesisCoreBody"
"""Where an answer has its body, which is the caller's to decode: botocore's parser takes longest of all."""
STRATEGY = "RecordDistributionStrategy"
"""Where the answer to DescribeStreamSummary says whether Kinesis distributes the records."""
_CALL = "KinesisCoreCall"
_PLACEHOLDERS: Mapping[str, Mapping[str, Any]] = {
    "GetShardIterator": {"ShardId": "-", "ShardIteratorType": "LATEST"},
    "GetRecords": {"ShardIterator": "-"},
    "PutRecords": {"Records": ({"Data": b"", "PartitionKey": "-"},)},
}
"""Stand for what is in the body, which is given; botocore checks and serializes them for nothing."""


@define
class _WholeCall:
    """A call on its way through the client."""

    body: bytes
    requests: list[AWSRequest] = field(factory=list)


def install_raw_bodies(client: BaseClient) -> None:
    """Let the three calls of *client* take their bodies ready-made and hand those of good answers over unparsed."""
    events = client.meta.events
    for action in _PLACEHOLDERS:
        events.register(f"provide-client-params.kinesis.{action}", _set_aside)
        events.register(f"before-call.kinesis.{action}", _give_body)
        events.register(f"before-parse.kinesis.{action}", _take_body)
    events.register_last(
        "request-created", _note_request
    )  # those for all actions come last, behind the signing


def install_distribution_strategy(client: BaseClient) -> None:
    """Let DescribeStreamSummary of *client* say who distributes records, as `STRATEGY`, also where botocore does not know it."""
    client.meta.events.register("before-parse.kinesis.DescribeStreamSummary", _take_strategy)


def _take_strategy(response_dict: dict[str, Any], customized_response_dict: dict[str, Any], **_: Any) -> None:
    with suppress(ValueError, LookupError, TypeError):  # botocore says what is wrong with such an answer
        facts = json.loads(response_dict["body"])["StreamDescriptionSummary"]
        customized_response_dict[STRATEGY] = facts[STRATEGY]


def _set_aside(params: dict[str, Any], context: dict[str, Any], **_: Any) -> None:
    context[_CALL] = params.pop(_CALL)  # botocore knows no such parameter


def _give_body(params: dict[str, Any], **_: Any) -> None:
    params["body"] = params["context"][_CALL].body


def _note_request(request: AWSRequest, **_: Any) -> None:
    call: _WholeCall | None = request.context.get(_CALL)
    if call is not None:
        call.requests.append(request)


def _take_body(response_dict: dict[str, Any], customized_response_dict: dict[str, Any], **_: Any) -> None:
    if response_dict["status_code"] < 300:
        customized_response_dict[BODY] = response_dict["body"]
        response_dict["body"] = b"{}"


def _utc_now() -> datetime:
    return datetime.now(timezone.utc)


@define
class FastPath:
    """
    The calls on one stream through *client*, which signs with *credentials*. Safe in threads.

    `install_raw_bodies` was called with the client.
    """

    client: Any
    credentials: Credentials
    _utc_now: Callable[[], datetime] = _utc_now
    _templates: dict[str, RequestTemplate] = field(factory=dict, init=False)
    _connections: OpenConnections = field(init=False)

    def call(self, action: str, stream: Mapping[str, str], body: bytes) -> dict[str, Any]:
        """
        Return the answer with its `BODY`; *stream* are the parameters that choose the endpoint.

        Raises:
            `CALL_ERRORS`, as the client does.
        """
        keys = self.credentials.get_frozen_credentials()
        template = self._templates.get(action)
        if template is not None and template.keys == keys:
            response = self._call_directly(action, stream, template.make(body, self._utc_now()))
            if response is not None:
                return response
        return self._call_whole(action, stream, body, keys)

    def _call_whole(
        self, action: str, stream: Mapping[str, str], body: bytes, keys: ReadOnlyCredentials
    ) -> dict[str, Any]:
        self._templates.pop(action, None)
        call = _WholeCall(body)
        request = {**stream, **_PLACEHOLDERS[action], _CALL: call}
        response: dict[str, Any] = getattr(self.client, xform_name(action))(**request)
        if len(call.requests) == 1 and self._connections.session is not None:
            template = find_template(call.requests[0].prepare(), keys)
            if template is not None:
                self._templates[action] = template
        return response

    @_connections.default
    def _find_connections(self) -> OpenConnections:
        # Neither name is documented: where a botocore has others, every call goes through the client.
        return OpenConnections(getattr(getattr(self.client, "_endpoint", None), "http_session", None))

    def _call_directly(
        self, action: str, stream: Mapping[str, str], request: AWSPreparedRequest
    ) -> dict[str, Any] | None:
        """Return the answer, or None when the client had better ask: the keys may be stale, or the place another."""
        response = self._exchange(action, request)
        if response.status < 300:
            return {BODY: response.body, "ResponseMetadata": {"HTTPHeaders": response.headers}}
        refusal = self._parse_refusal(action, response)
        # No other refusal did anything, so that the call may be made again.
        code = refusal.response.get("Error", {}).get("Code", "")
        if response.status >= 500 or is_final(code):
            raise refusal
        log_retry(action, code, 1, 0.0, stream="".join(stream.values()))
        return None

    def _exchange(self, action: str, request: AWSPreparedRequest) -> HttpResponse:
        handled = self.client.meta.events.emit(f"before-send.kinesis.{action}", request=request)
        instead = first_non_none_response(handled)
        if instead is not None:  # a hook of the user responds in the service's place
            return HttpResponse(instead.status_code, instead.headers, instead.content)
        response = self._connections.exchange(request)
        if response is None:
            sent = self._connections.session.send(request)
            response = HttpResponse(sent.status_code, sent.headers, sent.content)
            size = str(len(response.body))
            if response.headers.get("content-length", size) != size:  # which the session does not look at
                raise ConnectionClosedError(endpoint_url=request.url)
        return response

    def _parse_refusal(self, action: str, response: HttpResponse) -> ClientError:
        model = self.client.meta.service_model.operation_model(action)
        facts = {"status_code": response.status, "headers": response.headers, "body": bytes(response.body)}
        parser = create_parser(model.metadata["protocol"])
        return ClientError(parser.parse(facts, model.output_shape), action)
