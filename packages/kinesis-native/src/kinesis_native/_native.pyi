from collections.abc import Sequence
from typing import Any, final

@final
class Page:
    def __len__(self) -> int: ...
    @property
    def millis_behind(self) -> int: ...
    @property
    def next_iterator(self) -> str | None: ...
    @property
    def continuation(self) -> str | None: ...
    def record(self, index: int) -> tuple[str, bytes, str | None, float | None, str | None]: ...
    def records(
        self, start: int, stop: int
    ) -> list[tuple[str, bytes, str | None, float | None, str | None]]: ...
    def data_bytes(self, start: int, stop: int) -> int: ...
    def batch(
        self,
        columns: Sequence[str],
        start: int,
        stop: int,
        *,
        deaggregate: bool,
        skip: int,
        stream_name: str,
        stream: str,
        shard_id: str,
        millis_behind: int,
    ) -> Batch | None: ...

@final
class Batch:
    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[Any, Any]: ...

def decode_cbor_page(body: bytes | bytearray, with_data: bool) -> Page | None: ...
def decode_page(
    body: bytes | bytearray, with_data: bool, start: int = 0, stop: int | None = None
) -> Page | None: ...
