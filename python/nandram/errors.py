"""The one kind of error that is the user's to mend."""


class UserError(ValueError):
    """A mistake in what the user gave: a file, a key, a flag.

    Its text is one line that names what was found, where, and what was expected. The command line prints
    it and exits with status 2.
    """


class StorageError(OSError):
    """A file that holds a memory cannot be read or written: it is full, damaged, or its drive fails.

    Its text is one line that names the file and, where there is one, the address.
    """
