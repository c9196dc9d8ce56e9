"""An HTTP/2 server on 127.0.0.1 with TLS. It passes calls on to an emulator over HTTP/1.1."""

from __future__ import annotations

import asyncio
import ssl
import threading
from collections.abc import AsyncIterator, Coroutine
from pathlib import Path
from typing import Any, Literal

import h2.config
import h2.connection
import h2.events
import h2.exceptions
from attrs import define, field

from support.certificates import HOST
from support.waiting import PATIENCE_S

Ending = Literal["reset", "goaway", "cut"]
"""How a response ends that the emulator breaks off: the stream is reset, the connection is closed with GOAWAY, or cut."""
Protocol = Literal["h2", "http/1.1"]
_BREAKS = (asyncio.IncompleteReadError, ConnectionError)


@define
class Http2Front:
    """
    A context manager.

    Attributes:
        ending: How broken responses end.
        speaks: The protocols offered to clients. HTTP/1.1 is passed on byte by byte.
        calls: The requests on each HTTP/2 connection, in order.
        open: The connections that are open now.
    """

    port_behind: int
    certificate: Path
    key: Path
    ending: Ending = "reset"
    speaks: Protocol = "h2"
    calls: list[int] = field(factory=list, init=False)
    open: int = field(default=0, init=False)
    _loop: asyncio.AbstractEventLoop = field(factory=asyncio.new_event_loop, init=False)
    _thread: threading.Thread = field(init=False)
    _server: asyncio.Server = field(init=False)
    _tasks: set[asyncio.Task[None]] = field(factory=set, init=False)

    @property
    def url(self) -> str:
        return f"https://{HOST}:{self._server.sockets[0].getsockname()[1]}"

    def __enter__(self) -> Http2Front:
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._run(self._listen())
        return self

    def __exit__(self, *_: object) -> None:
        self._run(self._stop())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _run(self, work: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result(PATIENCE_S)

    async def _listen(self) -> None:
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(self.certificate, self.key)
        tls.set_alpn_protocols([self.speaks])
        self._server = await asyncio.start_server(self._accept, HOST, 0, ssl=tls)

    async def _stop(self) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = self._loop.create_task(self._serve(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        behind = await asyncio.open_connection(HOST, self.port_behind)
        self.open += 1
        try:
            if writer.get_extra_info("ssl_object").selected_alpn_protocol() == "h2":
                await _Connection(self, reader, writer, behind).serve()
            else:
                await _first(_pump(reader, behind[1]), _pump(behind[0], writer))
        except _BREAKS:
            pass  # one side has closed the connection
        finally:
            self.open -= 1
            for one in (writer, behind[1]):
                one.transport.abort()


async def _first(*works: Coroutine[Any, Any, None]) -> None:
    """Run all *works* until one of them is done."""
    tasks = [asyncio.ensure_future(work) for work in works]
    done, others = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
    for task in done:
        task.result()


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65536):
        writer.write(data)
        await writer.drain()


@define(eq=False)
class _Connection:
    """One client's HTTP/2 connection: one request after the other."""

    front: Http2Front
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    behind: tuple[asyncio.StreamReader, asyncio.StreamWriter]
    _state: h2.connection.H2Connection = field(init=False)
    _requests: asyncio.Queue[tuple[int, bytes]] = field(factory=asyncio.Queue, init=False)
    _heads: dict[int, list[Any]] = field(factory=dict, init=False)
    _bodies: dict[int, bytes] = field(factory=dict, init=False)
    _has_room: asyncio.Event = field(factory=asyncio.Event, init=False)

    async def serve(self) -> None:
        config = h2.config.H2Configuration(client_side=False, header_encoding="utf-8")
        self._state = h2.connection.H2Connection(config)
        self._state.initiate_connection()
        self.front.calls.append(0)
        await self._send()
        await _first(self._listen(), self._response_all())

    async def _send(self) -> None:
        self.writer.write(self._state.data_to_send())
        await self.writer.drain()

    async def _listen(self) -> None:
        while data := await self.reader.read(65536):
            for event in self._state.receive_data(data):
                self._note(event)
            await self._send()

    def _note(self, event: h2.events.Event) -> None:
        match event:
            case h2.events.RequestReceived():
                self._heads[event.stream_id], self._bodies[event.stream_id] = list(event.headers), b""
            case h2.events.DataReceived():
                self._bodies[event.stream_id] += event.data
                self._state.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
            case h2.events.StreamEnded():
                request = _http1(self._heads[event.stream_id], self._bodies[event.stream_id])
                self._requests.put_nowait((event.stream_id, request))
            case h2.events.WindowUpdated() | h2.events.RemoteSettingsChanged():
                self._has_room.set()

    async def _response_all(self) -> None:
        while True:
            stream, request = await self._requests.get()
            self.front.calls[-1] += 1
            self.behind[1].write(request)
            try:
                await self._response(stream)
            except _BREAKS:
                await self._break(stream)
                return

    async def _response(self, stream: int) -> None:
        status, headers = _parse_head(await self.behind[0].readuntil(b"\r\n\r\n"))
        kept = [
            (name, value)
            for name, value in headers.items()
            if name not in ("transfer-encoding", "connection")
        ]
        self._state.send_headers(stream, [(":status", status), *kept])
        await self._send()
        async for piece in _body(self.behind[0], headers):
            await self._send_data(stream, piece)
        self._state.end_stream(stream)
        await self._send()

    async def _send_data(self, stream: int, data: bytes) -> None:
        while data:
            self._has_room.clear()
            room = min(self._state.local_flow_control_window(stream), self._state.max_outbound_frame_size)
            if not room:
                await self._has_room.wait()
            self._state.send_data(stream, data[:room])
            data = data[room:]
            await self._send()

    async def _break(self, stream: int) -> None:
        if self.front.ending == "reset":
            self._state.reset_stream(stream)
        if self.front.ending == "goaway":
            self._state.close_connection()
        await self._send()
        if self.front.ending != "cut":
            await self.reader.read()  # until the client closes the connection


def _http1(headers: list[Any], body: bytes) -> bytes:
    known = dict(headers)
    lines = [f"POST {known[':path']} HTTP/1.1", f"host: {known[':authority']}"]
    lines += [f"{name}: {value}" for name, value in headers if not name.startswith(":") and name != "host"]
    return "\r\n".join([*lines, "", ""]).encode() + body


def _parse_head(head: bytes) -> tuple[str, dict[str, str]]:
    first, *lines = head.decode("latin-1").rstrip().split("\r\n")
    pairs = (line.split(": ", 1) for line in lines)
    return first.split()[1], {name.lower(): value for name, value in pairs}


async def _body(reader: asyncio.StreamReader, headers: dict[str, str]) -> AsyncIterator[bytes]:
    if "content-length" in headers:
        yield await reader.readexactly(int(headers["content-length"]))
        return
    while size := int((await reader.readuntil(b"\r\n")).strip(), 16):
        while size:
            if not (piece := await reader.read(size)):
                raise ConnectionError
            yield piece
            size -= len(piece)
        await reader.readexactly(2)
    await reader.readexactly(2)
