"""A client of one HTTP/2 connection that sees each frame, and decides when it reads."""

from __future__ import annotations

import json
import socket
import ssl
from collections.abc import Callable
from typing import Any

import h2.config
import h2.connection
import h2.events
import h2.settings
from attrs import define, field

from support.waiting import PATIENCE_S

HOST = "127.0.0.1"


@define
class Answer:
    """
    What has come of a response.

    Attributes:
        reset: The code of the RST_STREAM that ended it.
        unacknowledged: The bytes that the client holds back from the server's window.
    """

    headers: dict[str, str] = field(factory=dict)
    body: bytes = b""
    is_whole: bool = False
    reset: int | None = None
    unacknowledged: int = 0

    @property
    def is_over(self) -> bool:
        return self.is_whole or self.reset is not None

    @property
    def status(self) -> int:
        return int(self.headers[":status"])

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@define
class Http2Client:
    """
    A context manager.

    Attributes:
        trusted: The context of TLS; None for a plain connection.
        frame_bytes: The largest frame that it takes.
        window_bytes: How much of a stream the server may send before the client has read it.
        buffer_bytes: How much the system keeps of what has come. A small buffer stops a server that sends much at once.
        holds: The streams whose bytes are not acknowledged.
        ended: The event with which the server ended the connection.
    """

    port: int
    trusted: ssl.SSLContext | None = None
    frame_bytes: int = 16_384
    window_bytes: int = 65_535
    buffer_bytes: int | None = None
    holds: set[int] = field(factory=set, init=False)
    ended: h2.events.ConnectionTerminated | None = field(default=None, init=False)
    answers: dict[int, Answer] = field(factory=dict, init=False)
    socket: socket.socket = field(init=False)
    state: h2.connection.H2Connection = field(init=False)

    def __enter__(self) -> Http2Client:
        self.socket = socket.socket()
        if self.buffer_bytes is not None:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, self.buffer_bytes)
        self.socket.settimeout(PATIENCE_S)
        self.socket.connect((HOST, self.port))
        if self.trusted is not None:
            self.socket = self.trusted.wrap_socket(self.socket, server_hostname=HOST)
        config = h2.config.H2Configuration(client_side=True, header_encoding="utf-8")
        self.state = h2.connection.H2Connection(config)
        codes = h2.settings.SettingCodes
        self.state.initiate_connection()
        self.state.update_settings(
            {codes.MAX_FRAME_SIZE: self.frame_bytes, codes.INITIAL_WINDOW_SIZE: self.window_bytes}
        )
        self.state.increment_flow_control_window(2**30)  # streams have their own windows
        self.flush()
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def flush(self) -> None:
        self.socket.sendall(self.state.data_to_send())

    def begin(self, action: str = "", *, end: bool = False, **more: str) -> int:
        """Send the head of a request, and return the id of its stream."""
        stream = self.state.get_next_available_stream_id()
        headers = {
            ":method": "POST",
            ":scheme": "http",
            ":path": "/",
            ":authority": f"{HOST}:{self.port}",
            "x-amz-target": f"Kinesis_20131202.{action}",
            "content-type": "application/x-amz-json-1.1",
        }
        self.state.send_headers(stream, [*(headers | more).items()], end_stream=end)
        self.answers[stream] = Answer()
        self.flush()
        return stream

    def send(self, stream: int, body: bytes, *, end: bool = True) -> None:
        """Send a body as fast as the server's windows allow."""
        while body:
            room = min(self.state.local_flow_control_window(stream), self.state.max_outbound_frame_size)
            if not room:
                self.receive()
                continue
            self.state.send_data(stream, body[:room])
            body = body[room:]
            self.flush()
        if end:
            self.state.end_stream(stream)
            self.flush()

    def call(self, action: str, **params: Any) -> int:
        stream = self.begin(action)
        self.send(stream, json.dumps(params).encode())
        return stream

    def answer(self, stream: int) -> Answer:
        """Wait until the response of the stream has ended."""
        return self.wait(stream, lambda answer: answer.is_over)

    def wait(self, stream: int, is_so: Callable[[Answer], object]) -> Answer:
        while not is_so(self.answers[stream]):
            self.receive()
        return self.answers[stream]

    def release(self, stream: int) -> None:
        """Read the stream again."""
        self.holds.discard(stream)
        answer = self.answers[stream]
        self.state.acknowledge_received_data(answer.unacknowledged, stream)
        answer.unacknowledged = 0
        self.flush()

    def receive(self) -> None:
        """
        Wait for bytes, and take note of what they say.

        Raises:
            EOFError: The server has closed the connection. A TCP RST is a ConnectionError instead.
        """
        data = self.socket.recv(65_536)
        if not data:
            raise EOFError("the server has closed the connection")
        for event in self.state.receive_data(data):
            self._note(event)
        if self.ended is None:
            self.flush()

    def _note(self, event: h2.events.Event) -> None:
        match event:
            case h2.events.ResponseReceived():
                self.answers[event.stream_id].headers = {
                    str(name): str(value) for name, value in event.headers
                }
            case h2.events.DataReceived():
                answer = self.answers[event.stream_id]
                answer.body += event.data
                answer.unacknowledged += event.flow_controlled_length
                if event.stream_id not in self.holds:
                    self.state.acknowledge_received_data(answer.unacknowledged, event.stream_id)
                    answer.unacknowledged = 0
            case h2.events.StreamEnded():
                self.answers[event.stream_id].is_whole = True
            case h2.events.StreamReset():
                self.answers[event.stream_id].reset = int(event.error_code)
            case h2.events.ConnectionTerminated():
                self.ended = event
