"""
HTTP/2 on one connection: each stream is a call of its own, in a thread of its own.

One thread, the connection's, reads, writes and knows the state of the protocol; TLS does not allow two. The threads of calls hand it what
is to be sent. It sends no more than the client's flow control allows, takes turns among the streams, and keeps at most a megabyte
that is not sent yet. A client that reads nothing therefore stops only the streams that it does not read.

Source: RFC 9113.
"""

from __future__ import annotations

import selectors
import socket
import ssl
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import closing, suppress
from functools import partial
from itertools import chain
from queue import SimpleQueue
from typing import Any

import h2.config
import h2.connection
import h2.errors
import h2.events
import h2.exceptions
import h2.settings

from kinesis_emulator.endings import await_close, end_after, reset
from kinesis_emulator.events import log_refusal
from kinesis_emulator.exchange import (
    MAX_BODY_BYTES,
    Exchange,
    Headers,
    HttpRequest,
    HttpResponse,
    body_too_large,
)
from kinesis_emulator.faults import CutConnectionError
from kinesis_emulator.service import EventStream

MAX_STREAMS = 128
_STREAM_WINDOW_BYTES = 1024 * 1024
_CONNECTION_WINDOW_BYTES = 16 * 1024 * 1024
_READ_BYTES = 65_536
_UNSENT_BYTES = 1024 * 1024
_TURN_BYTES = 256 * 1024
"""How much of one stream is sent before the next one has its turn."""
_UNSENT_ANSWERS_BYTES = 4 * 1024 * 1024
"""With this much unsent, nothing more is read: a client that asks and never reads would grow the memory."""
_WOULD_BLOCK = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)


_Ending = Callable[["_Stream"], None]
"""What the connection's thread does with a stream at the end of its call."""


class _State(h2.connection.H2Connection):
    """
    The state of a connection, which goes on after a GOAWAY without an error.

    By RFC 9113 (6.8) a client that sends it begins no more calls, and waits for the responses to the others. The SDK for JavaScript
    does so with each subscription. h2 sends nothing any more after a GOAWAY.
    """

    def _receive_goaway_frame(self, frame: Any) -> tuple[list[Any], list[h2.events.Event]]:
        if frame.error_code != h2.errors.ErrorCodes.NO_ERROR:
            return super()._receive_goaway_frame(frame)
        event = h2.events.ConnectionTerminated()
        event.error_code = h2.errors.ErrorCodes.NO_ERROR
        return [], [event]


class _StreamGoneError(Exception):
    """The client has reset the stream, or the connection has ended."""


class _Stream:
    """
    One call.

    Attributes:
        is_complete: Whether the client has sent all of its request.
        is_called: Whether the call was handed to a thread.
        gone: Whether nothing can be sent any more.
        unsent: What is still to be sent.
        drained: Set while nothing is unsent, and once the stream is gone.
        at_end: What follows the unsent bytes: the end of the stream, or a reset.
    """

    def __init__(self, stream_id: int, method: str, path: str, headers: dict[str, str]) -> None:
        self.id = stream_id
        self.method = method
        self.path = path
        self.headers = headers
        self.body: list[bytes] = []
        self.body_bytes = 0
        self.is_complete = False
        self.is_called = False
        self.gone = False
        self.unsent: deque[memoryview] = deque()
        self.drained = threading.Event()
        self.at_end: Callable[[], None] | None = None


class Http2Connection:
    """
    One client's connection.

    Attributes:
        calls: How many requests it has had.

    Args:
        connection: The socket.
        client: The client's address, for the log.
        exchange: Makes the responses.
    """

    protocol = "HTTP/2"

    def __init__(self, connection: socket.socket, client: str, exchange: Exchange) -> None:
        self._connection = connection
        self._client = client
        self._exchange = exchange
        config = h2.config.H2Configuration(client_side=False, header_encoding=None)
        self._state = _State(config)
        self._streams: dict[int, _Stream] = {}
        self._sending: dict[int, _Stream] = {}
        """The streams with unsent bytes, in the order of their turns."""
        self._out: list[bytes | memoryview] = []
        self._out_bytes = 0
        self._batch = memoryview(b"")
        self._posted: deque[Callable[[], None]] = deque()
        self._events = selectors.EVENT_READ
        self._is_asleep = False
        self._is_leaving = False
        """Whether the client begins no more calls."""
        self._is_over = False
        self.calls = 0
        self._workers = _Workers()
        self._selector = selectors.DefaultSelector()
        self._wake_receiver, self._wake_sender = socket.socketpair()

    def serve(self, received: bytes) -> None:
        """Serve until the connection ends. *received* is what has been read already."""
        try:
            self._start()
            self._receive(received)
            self._flush()
            while not (self._is_over or self._has_left()):
                self._wait()
                self._run_posted()
                if not self._is_over:
                    self._fill()
                    self._flush()
        finally:
            self._end()

    def _start(self) -> None:
        self._connection.setblocking(False)
        for receiver in (self._wake_receiver, self._wake_sender):
            receiver.setblocking(False)
        self._selector.register(self._connection, self._events)
        self._selector.register(self._wake_receiver, selectors.EVENT_READ)
        codes = h2.settings.SettingCodes
        self._state.local_settings = h2.settings.Settings(
            client=False,
            initial_values={
                codes.MAX_CONCURRENT_STREAMS: MAX_STREAMS,
                codes.INITIAL_WINDOW_SIZE: _STREAM_WINDOW_BYTES,
                codes.MAX_HEADER_LIST_SIZE: 65_536,
            },
        )
        self._state.initiate_connection()
        self._state.increment_flow_control_window(_CONNECTION_WINDOW_BYTES - 65_535)

    def _end(self) -> None:
        """Let the threads of all calls end, and wait for them."""
        self._is_over = True
        for stream in list(self._streams.values()):
            self._forget(stream)
        self._workers.stop()
        self._selector.close()
        self._wake_receiver.close()
        self._wake_sender.close()

    def _has_left(self) -> bool:
        """Whether the client begins no more calls, and has the responses to all that it began."""
        return self._is_leaving and not self._streams and not self._batch

    # The connection's thread: what comes in

    def _wait(self) -> None:
        """Wait until there is something to do, and read what has come."""
        reads = self._out_bytes + len(self._batch) < _UNSENT_ANSWERS_BYTES
        events = (selectors.EVENT_READ if reads else 0) | (selectors.EVENT_WRITE if self._batch else 0)
        if events != self._events:
            self._events = events
            self._selector.modify(self._connection, events)
        self._is_asleep = True
        ready = [] if self._posted else self._selector.select()
        self._is_asleep = False
        for key, which in ready:
            if key.fileobj is self._wake_receiver:
                with suppress(BlockingIOError):
                    self._wake_receiver.recv(1024)
            elif which & selectors.EVENT_READ:
                self._read()

    def _read(self) -> None:
        try:
            data = self._connection.recv(_READ_BYTES)  # more than a record of TLS, so that none stays behind
        except _WOULD_BLOCK:
            return
        if data:
            self._receive(data)
        else:
            self._is_over = True

    def _receive(self, data: bytes) -> None:
        try:
            events = self._state.receive_data(data)
        except h2.exceptions.ProtocolError as error:
            self._refuse(f"malformed HTTP/2: {error}")
            return
        for event in events:
            self._note(event)

    def _refuse(self, reason: str) -> None:
        """End the connection with the GOAWAY that the state has made."""
        self._is_over = True
        log_refusal(self._client, reason)
        self._collect()
        self._flush()
        end_after(self._connection)

    def _note(self, event: h2.events.Event) -> None:
        match event:
            case h2.events.RequestReceived():
                self._open(event)
            case h2.events.DataReceived():
                self._take_data(event)
            case h2.events.StreamEnded():
                stream = self._streams.get(event.stream_id or 0)
                if stream is not None:
                    stream.is_complete = True
                    if not stream.is_called:
                        self._call(stream)
            case h2.events.StreamReset():
                stream = self._streams.get(event.stream_id or 0)
                if stream is not None:
                    self._forget(stream)
            case h2.events.ConnectionTerminated(error_code=h2.errors.ErrorCodes.NO_ERROR):
                self._is_leaving = True
            case h2.events.ConnectionTerminated():
                self._is_over = True

    def _open(self, event: h2.events.RequestReceived) -> None:
        texts = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in event.headers or ()]
        headers: dict[str, str] = dict(texts)  # a header that comes twice has its last value, as by HTTP/1.1
        method, path = headers.get(":method", ""), headers.get(":path", "")
        stream_id = event.stream_id or 0
        self._streams[stream_id] = _Stream(stream_id, method, path, headers)

    def _take_data(self, event: h2.events.DataReceived) -> None:
        stream = self._streams.get(event.stream_id or 0)
        size = event.flow_controlled_length or 0
        if size and not self._is_over:
            with suppress(h2.exceptions.StreamClosedError):
                self._state.acknowledge_received_data(size, event.stream_id or 0)
        if stream is None or stream.is_called:
            return
        stream.body_bytes += len(event.data or b"")
        if stream.body_bytes > MAX_BODY_BYTES:
            stream.body.clear()
            self._call(stream, self._exchange.refusal(body_too_large(), stream.headers))
        else:
            stream.body.append(event.data or b"")

    def _call(self, stream: _Stream, refusal: HttpResponse | None = None) -> None:
        """Let another thread carry out the call, or send its *refusal*."""
        stream.is_called = True
        self.calls += 1
        self._workers.run(_Call(self, self._exchange, stream, refusal).carry_out)

    # The connection's thread: what goes out

    def _run_posted(self) -> None:
        while self._posted and not self._is_over:
            self._posted.popleft()()

    def _fill(self) -> None:
        """Take what the windows allow from the streams, in turns, and let those end that have nothing left."""
        self._collect()
        for stream in list(self._sending.values()):
            if self._out_bytes >= _UNSENT_BYTES or self._batch or self._is_over:
                return
            del self._sending[stream.id]
            self._take_turn(stream)
            if stream.unsent:
                self._sending[stream.id] = stream
            else:
                self._finish(stream)

    def _take_turn(self, stream: _Stream) -> None:
        room = min(self._state.local_flow_control_window(stream.id), _TURN_BYTES)
        while room > 0 and stream.unsent:
            data = stream.unsent.popleft()
            if len(data) > room:
                stream.unsent.appendleft(data[room:])
                data = data[:room]
            room -= len(data)
            self._put_data(stream.id, data)

    def _put_data(self, stream_id: int, data: memoryview) -> None:
        """
        Put DATA frames out without a copy of *data*.

        `send_data` copies each frame four times. The windows are counted here as it counts them.
        """
        size = self._state.max_outbound_frame_size
        for start in range(0, len(data), size):
            piece = data[start : start + size]
            head = len(piece).to_bytes(3, "big") + b"\0\0" + stream_id.to_bytes(4, "big")
            self._out += (head, piece)
        self._out_bytes += len(data)
        self._state.outbound_flow_control_window -= len(data)
        self._state.streams[stream_id].outbound_flow_control_window -= len(data)

    def _finish(self, stream: _Stream) -> None:
        stream.drained.set()
        if stream.at_end is not None:
            stream.at_end()
            self._forget(stream)
            self._collect()

    def _collect(self) -> None:
        """Take the frames that the state has made: all but DATA."""
        frames = self._state.data_to_send()
        if frames:
            self._out.append(frames)
            self._out_bytes += len(frames)

    def _flush(self) -> None:
        """Send until the socket is full."""
        self._collect()
        while self._batch or self._out:
            if not self._batch:
                self._batch = memoryview(b"".join(self._out))
                self._out.clear()
                self._out_bytes = 0
            try:
                sent = self._connection.send(self._batch)
            except _WOULD_BLOCK:
                return
            self._batch = self._batch[sent:]
            if not self._batch and not self._is_over:
                self._run_posted()
                self._fill()

    def _forget(self, stream: _Stream) -> None:
        """Drop a stream that is over, and what is unsent of it."""
        stream.gone = True
        stream.unsent.clear()
        self._sending.pop(stream.id, None)
        self._streams.pop(stream.id, None)
        stream.drained.set()

    # The threads of calls

    def post(self, action: Callable[[], None]) -> None:
        """Let the connection's thread do this."""
        self._posted.append(action)
        if self._is_asleep:
            with suppress(OSError):  # it is awake, or has ended
                self._wake_sender.send(b"\0")

    def send_whole(self, head: _Ending, body: bytes, stream: _Stream) -> None:
        """Send a whole response at once, so that the client gets it in as few packets as possible."""
        head(stream)
        self.send_data(stream, body)
        self.end(stream)

    def send_head(self, status: int, headers: Headers, stream: _Stream) -> None:
        if not stream.gone:
            self._state.send_headers(stream.id, [(":status", str(status)), *headers])

    def send_data(self, stream: _Stream, data: bytes) -> None:
        if not stream.gone:
            if data:
                stream.unsent.append(memoryview(data))
            self._sending[stream.id] = stream

    def end(self, stream: _Stream) -> None:
        """Let the stream end after what is unsent of it."""
        if not stream.gone:
            stream.at_end = partial(self._end_stream, stream)
            self._sending[stream.id] = stream

    def _end_stream(self, stream: _Stream) -> None:
        self._state.end_stream(stream.id)
        if not stream.is_complete:  # it was refused: the client need not send the rest
            self._state.reset_stream(stream.id, h2.errors.ErrorCodes.NO_ERROR)

    def break_off(self, stream: _Stream) -> None:
        """End the stream after what is unsent of it, as `Settings.broken_http2` says."""
        if not stream.gone:
            endings: dict[str, Callable[[], None]] = {
                "stream": partial(self._state.reset_stream, stream.id, h2.errors.ErrorCodes.INTERNAL_ERROR),
                "goaway": self._go_away,
                "connection": self._leave,
            }
            stream.at_end = endings[self._exchange.settings.broken_http2]
            self._sending[stream.id] = stream

    def _go_away(self) -> None:
        """End the connection with GOAWAY, and wait until the client has closed it."""
        self._is_over = True
        self._state.close_connection()
        self._flush()
        await_close(self._connection)

    def _leave(self) -> None:
        """Close the connection, and send nothing that says so."""
        self._is_over = True

    def cut(self) -> None:
        """Close the connection with a TCP RST."""
        self._is_over = True
        self._selector.unregister(self._connection)
        self._out.clear()
        self._batch = memoryview(b"")
        reset(self._connection)


class _Call:
    """Makes the response to the request of a stream, and hands it to the connection's thread."""

    def __init__(
        self, connection: Http2Connection, exchange: Exchange, stream: _Stream, refusal: HttpResponse | None
    ) -> None:
        self._connection = connection
        self._exchange = exchange
        self._stream = stream
        self._refusal = refusal

    def carry_out(self) -> None:
        stream = self._stream
        body = b"".join(stream.body)
        stream.body.clear()
        ending: _Ending = self._connection.break_off
        try:
            response = self._refusal or self._exchange.response(
                HttpRequest(stream.method, stream.path, stream.headers, body, "2")
            )
            ending = self._send(response)
        except _StreamGoneError:
            return
        finally:
            self._connection.post(partial(ending, stream))

    def _send(self, response: HttpResponse) -> _Ending:
        """Send a response, and return what ends it. A fault breaks it off."""
        if isinstance(response.body, bytes):
            return self._send_body(response, response.body)
        if response.body is not None:
            return self._send_events(response, response.body)
        if response.fault.reset:
            self._connection.post(self._connection.cut)
        return self._connection.break_off

    def _send_body(self, response: HttpResponse, body: bytes) -> _Ending:
        fault = response.fault
        head = partial(self._connection.send_head, *_head(response, [("content-length", str(len(body)))]))
        if not (fault.cut_response or fault.stall_s):
            return partial(self._connection.send_whole, head, body)
        self._connection.post(partial(head, self._stream))
        half = len(body) // 2
        self._data(body[:half])
        time.sleep(fault.stall_s)
        if fault.cut_response:
            return self._connection.break_off
        self._data(body[half:])
        return self._connection.end

    def _send_events(self, response: HttpResponse, events: EventStream) -> _Ending:
        with closing(events.frames()) as frames:
            first = next(frames)  # the subscription is open before its client gets the head
            self._connection.post(partial(self._connection.send_head, *_head(response, []), self._stream))
            try:
                for frame in chain([first], frames):
                    if frame:
                        self._data(frame)
                        self._stream.drained.wait()
                    if self._stream.gone:
                        raise _StreamGoneError
            except CutConnectionError as cut:
                self._data(cut.frame[: len(cut.frame) // 2])
                return self._connection.break_off
        return self._connection.end

    def _data(self, data: bytes) -> None:
        self._stream.drained.clear()
        if self._stream.gone:  # after clear, because the connection's thread may have set it before
            self._stream.drained.set()
            raise _StreamGoneError
        self._connection.post(partial(self._connection.send_data, self._stream, data))


def _head(response: HttpResponse, more: Headers) -> tuple[int, Headers]:
    """Return the status and the headers of a response, with *more* of them."""
    return response.status, [*((name.lower(), value) for name, value in response.headers), *more]


class _Workers:
    """Threads for the calls of a connection: as many as there are calls at once. An idle one takes the next call."""

    def __init__(self) -> None:
        self._tasks: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._lock = threading.Lock()
        self._idle = 0
        self._threads: list[threading.Thread] = []

    def run(self, task: Callable[[], None]) -> None:
        with self._lock:
            is_new = self._idle == 0
            self._idle -= not is_new
        self._tasks.put(task)
        if is_new:
            thread = threading.Thread(target=self._work, name="kinesis-emulator-call", daemon=True)
            self._threads.append(thread)
            thread.start()

    def _work(self) -> None:
        while (task := self._tasks.get()) is not None:
            task()
            with self._lock:
                self._idle += 1

    def stop(self) -> None:
        """Wait for the calls in progress, and end all threads."""
        for _ in self._threads:
            self._tasks.put(None)
        for thread in self._threads:
            thread.join()
