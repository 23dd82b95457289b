"""Errors that users of the package see."""

HEAD, TAIL = 1_500, 500
"""Lengths of the parts that are shown of a message that quotes a very long key or value."""


class UserError(ValueError):
    """A mistake in the user's input: a file, a key, an option.

    The text is one line that names the place, the value found and the value expected. The command line prints it and
    exits with status 2.
    """

    def __init__(self, message: str) -> None:
        cut = len(message) > HEAD + TAIL
        super().__init__(f"{message[:HEAD]} … {message[-TAIL:]}" if cut else message)


class MissingNameError(UserError, KeyError):
    """No area of a memory has this name."""

    def __str__(self) -> str:
        """Return the message, without the quotation marks that a KeyError adds."""
        return ValueError.__str__(self)


class StorageError(OSError):
    """A memory's file cannot be read or written: it is full or damaged, or its drive fails.

    The text is one line that names the file and, if there is one, the address.
    """
