"""A client of NBD with one request at a time, which returns the server's error numbers."""

import socket
import struct
from pathlib import Path
from types import TracebackType

READ, WRITE, DISCONNECT, FLUSH, TRIM = range(5)
_REQUEST = 0x25609513
_FIXED_NEWSTYLE, _NO_ZEROES = 1, 2
_EXPORT_NAME = 1


class Client:
    """A connection to the server at a Unix-domain socket."""

    def __init__(self, path: Path) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(60)
        self._socket.connect(str(path))
        magic, option, _flags = struct.unpack(">8s8sH", self._receive(18))
        assert (magic, option) == (b"NBDMAGIC", b"IHAVEOPT")
        self._socket.sendall(struct.pack(">L8sLL", _FIXED_NEWSTYLE | _NO_ZEROES, option, _EXPORT_NAME, 0))
        self.bytes, _flags = struct.unpack(">QH", self._receive(10))

    def __enter__(self) -> "Client":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._socket.close()

    def run(self, command: int, offset: int = 0, count: int = 0, data: bytes = b"") -> tuple[int, bytes]:
        """Perform a command; return its error number, 0 for success, and the data read."""
        header = struct.pack(">LHHQQL", _REQUEST, 0, command, 7, offset, count or len(data))
        self._socket.sendall(header + data)
        _magic, error, _handle = struct.unpack(">LLQ", self._receive(16))
        return error, self._receive(count) if command == READ and error == 0 else b""

    def _receive(self, count: int) -> bytes:
        data = b""
        while len(data) < count:
            chunk = self._socket.recv(count - len(data))
            assert chunk, "the server closed the connection"
            data += chunk
        return data
