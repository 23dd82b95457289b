"""Block traces as fio writes them: iolog version 3, one line a request, with its time.

    fio version 3 iolog
    1 bank.db-wal add
    1 bank.db-wal open
    1 bank.db-wal write 0 4120
    61 bank.db-wal datasync 0 0

A line is ``time file action [offset length]``; offset and length are bytes. fio's manual names no unit for the time;
fio itself writes and reads microseconds (``utime_since_now`` and ``iolog_delay`` in its iolog.c). That is the unit of
strace's clock, too, and of this module. The times start at 1, not at 0: fio takes a previous time of 0 for none and
would drop the first pause.

A file is opened at its first use and never closed: when fio replays all files onto one device
(``replay_redirect``), closing one would close the device.

File names are those below the working folder, or the absolute path without its first slash, so that a replay by fio
never writes to the files that were captured unless it is started in the same folder. Blanks, control characters,
``%`` and what is not ASCII are written as ``%20`` and so on: fio splits lines at blanks.

fio does not read compressed traces itself: ``zstd -dc t.iolog.zst | fio --name=t --read_iolog=-``. Older versions (3.33
is one) pass over trims with a message.
"""

import gzip
import hashlib
import os
import urllib.parse
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

from nandram.capture.files import File
from nandram.capture.records import Action, Record
from nandram.errors import UserError

_NAME_BYTES_MAX = 255
"""fio reads a name into 256 bytes."""
_BUFFER_LINES = 4096


class _Sink(Protocol):
    def write(self, data: bytes, /) -> int: ...


class IologWriter:
    """Writes records to a file, compressed if its name ends in ``.gz`` or ``.zst``, and counts them."""

    def __init__(self, path: Path, folder: str) -> None:
        self.counts: Counter[Action] = Counter()
        self.bytes: Counter[Action] = Counter()
        self.first_us: int | None = None
        self.last_us = 0
        self._folder = folder.rstrip("/") + "/"
        self._names: dict[int, str] = {}
        self._holders: dict[str, File] = {}
        self._lines = ["fio version 3 iolog\n"]
        self._stack = ExitStack()
        self._sink = self._open_sink(path)

    @property
    def files(self) -> int:
        """How many files the trace names."""
        return len(self._names)

    def _open_sink(self, path: Path) -> _Sink:
        try:
            raw = self._stack.enter_context(path.open("wb"))
        except OSError as error:
            raise UserError(f"{path}: cannot be written: {error.strerror}") from error
        if path.suffix == ".gz":
            # Neither a name nor a time in the header: the same records give the same bytes.
            return self._stack.enter_context(gzip.GzipFile("", "wb", 9, raw, mtime=0))
        if path.suffix == ".zst":
            import zstandard

            return self._stack.enter_context(zstandard.ZstdCompressor(level=19).stream_writer(raw, closefd=False))
        return raw

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._flush()
        self._stack.close()

    def write(self, record: Record) -> None:
        """Write one record; a file is added and opened at its first use."""
        file = record.file
        action = record.action
        if self.first_us is None:
            self.first_us = self.last_us = record.at_us
        # The clock of strace is the wall clock, which may be set back.
        self.last_us = max(self.last_us, record.at_us)
        at = self.last_us - self.first_us + 1
        name = self._names.get(file.number)
        if name is None:
            name = self._name(file)
            self._lines.append(f"{at} {name} add\n{at} {name} open\n")
        self._lines.append(f"{at} {name} {action.value} {record.offset_bytes} {record.length_bytes}\n")
        self.counts[action] += 1
        self.bytes[action] += record.length_bytes
        if len(self._lines) >= _BUFFER_LINES:
            self._flush()

    def _flush(self) -> None:
        self._sink.write("".join(self._lines).encode())
        self._lines.clear()

    def _name(self, file: File) -> str:
        """Choose the name of a file in the trace.

        A file that takes the path of one that is gone takes its name, and so its place on the drive, too: a file
        system gives freed blocks out again. While both live, the later one is numbered.
        """
        name = written_name(file.first_path, self._folder)
        holder = self._holders.get(name)
        unique = name
        number = 2
        while holder is not None and holder is not file and not holder.gone:
            unique = _shorten(f"{name}~{number}")
            holder = self._holders.get(unique)
            number += 1
        self._holders[unique] = file
        self._names[file.number] = unique
        return unique


def written_name(path: str, folder: str) -> str:
    """Return how a trace taken in `folder` (which ends in a slash) names `path`."""
    below = path.removeprefix(folder).lstrip("/") or "file"
    return _shorten(urllib.parse.quote(os.fsencode(below), safe="/!\"#$&'()*+,-.:;<=>?@[\\]^_`{|}~"))


def _shorten(name: str) -> str:
    """Keep the end of a name that is too long for fio, and tell it from others by a hash."""
    if len(name.encode()) <= _NAME_BYTES_MAX:
        return name
    digest = hashlib.sha256(name.encode()).hexdigest()[:16]
    return f"{digest}~{name[-(_NAME_BYTES_MAX - 17) :]}"
