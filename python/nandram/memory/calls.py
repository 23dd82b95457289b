"""Operations common to a memory in a file and its readers: reading, names, tokens, closing."""

from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, cast

from nandram.errors import UserError
from nandram.options import text_of

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from typing_extensions import Buffer

    from nandram._core import MemoryFile, MemoryReading

    Data = Buffer | NDArray[Any]


class Opened:
    """An open memory with read access."""

    _file: "MemoryFile | MemoryReading"

    @property
    def capacity(self) -> int:
        """Bytes that can be allocated."""
        return self._file.capacity()

    def read(self, address: int, size: int) -> bytes:
        """Return `size` bytes starting at `address`."""
        return self._file.read(count("address", address), count("size", size))

    def read_into(self, address: int, buffer: "Data") -> None:
        """Fill a buffer, such as a bytearray or a contiguous array, with the bytes starting at `address`."""
        self._file.read_into(count("address", address), bytes_of(buffer))

    def find(self, name: str) -> tuple[int, int]:
        """Return the address and size of a named area."""
        return self._file.find(text_of("name", name))

    def names(self) -> dict[str, tuple[int, int]]:
        """Return the address and size of each area by name."""
        return {name: (address, size) for address, size, name in self._file.names()}

    def tokens(self) -> dict[int, str | None]:
        """Return the live tokens with their names, oldest first."""
        return dict(self._file.tokens())

    def close(self) -> None:
        """Close the memory and discard unsynced changes. Closing twice has no effect.

        Raises `BufferError` while arrays or buffers in the memory are alive, like ``mmap``.
        """
        self._file.close()

    def __enter__(self) -> Self:
        """Return the memory, which is closed at the end of the block."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the memory. During an exception, live arrays are no error: its frames may hold them."""
        try:
            self.close()
        except BufferError:
            if error is None:
                raise


def count(what: str, value: int) -> int:
    """Return a byte count or address as an int. Raises `UserError`."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise UserError(f"{what} is {value!r}, expected a whole number")
    number = value.__index__()
    if not 0 <= number < 2**64:
        raise UserError(f"{what} is {number}, expected 0 to 2^64 - 1")
    return number


def bytes_of(data: "Data") -> memoryview:
    """Return a view of the bytes of a buffer. Raises `UserError` if it is not contiguous."""
    try:
        # Before Python 3.12, the type of an array does not declare that it is a buffer.
        view = memoryview(cast("Buffer", data))
    except TypeError as error:
        raise UserError(f"found a {type(data).__name__}, expected bytes or an array") from error
    if not view.c_contiguous:
        raise UserError(f"the array of shape {view.shape} is not contiguous: copy it first")
    return view.cast("B") if view.nbytes else memoryview(b"")


def size_text(what: str, size: object) -> str | None:
    """Return a size with its unit: a text as it is, a whole number in bytes. Raises `UserError` for anything else."""
    if size is None or isinstance(size, str):
        return size
    if isinstance(size, bool) or not hasattr(size, "__index__"):
        raise UserError(f'{what}: found {size!r}, expected a size with its unit, such as "1GiB", or a number of bytes')
    return f"{size.__index__()}B"
