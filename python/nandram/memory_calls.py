"""What a memory on a file and a reader beside it have in common: reading, names, tokens, an end."""

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
    """A memory that is open, to be read."""

    _file: "MemoryFile | MemoryReading"

    @property
    def capacity(self) -> int:
        """Bytes that can be allocated."""
        return self._file.capacity()

    def read(self, address: int, size: int) -> bytes:
        """Return `size` bytes from `address` on."""
        return self._file.read(count("address", address), count("size", size))

    def read_into(self, address: int, buffer: "Data") -> None:
        """Read as many bytes as a buffer has into it: a bytearray, or an array that is contiguous."""
        self._file.read_into(count("address", address), bytes_of(buffer))

    def find(self, name: str) -> tuple[int, int]:
        """Return address and size of the area of that name."""
        return self._file.find(text_of("name", name))

    def names(self) -> dict[str, tuple[int, int]]:
        """Return the names of areas: address and size of each."""
        return {name: (address, size) for address, size, name in self._file.names()}

    def tokens(self) -> dict[int, str | None]:
        """Return the tokens that are live, oldest first, and their names."""
        return dict(self._file.tokens())

    def close(self) -> None:
        """Close it. What was not synced is given up. Closing twice does nothing.

        Raises `BufferError` while arrays or buffers on it are alive, as ``mmap`` does.
        """
        self._file.close()

    def __enter__(self) -> Self:
        """Return itself; it is closed at the end."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close it. An exception on its way hides that arrays are alive: its frames may be what holds them."""
        try:
            self.close()
        except BufferError:
            if error is None:
                raise


def count(what: str, value: int) -> int:
    """That a number is one of bytes."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise UserError(f"{what} is {value!r}, expected a whole number")
    number = value.__index__()
    if not 0 <= number < 2**64:
        raise UserError(f"{what} is {number}, expected 0 to 2^64 - 1")
    return number


def bytes_of(data: "Data") -> memoryview:
    """The bytes of a buffer, none of them copied."""
    try:
        # An array is a buffer, though before Python 3.12 its type does not say so.
        view = memoryview(cast("Buffer", data))
    except TypeError as error:
        raise UserError(f"found a {type(data).__name__}, expected bytes or an array") from error
    if not view.c_contiguous:
        raise UserError(f"the array of shape {view.shape} is not contiguous: copy it first")
    return view.cast("B") if view.nbytes else memoryview(b"")


def check_sizes(**sizes: object) -> None:
    """What is no text cannot have a unit."""
    for what, size in sizes.items():
        if size is not None and not isinstance(size, str):
            raise UserError(f'{what}: found {size!r}, expected a size with its unit, such as "1GiB"')
