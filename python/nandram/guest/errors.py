"""Ways in which a guest ends other than with its command's exit status."""


class GuestError(RuntimeError):
    """The guest, the server or QEMU ended before the command did.

    The text is one line that names what ended and where its messages are.
    """


class TimeLimitError(GuestError):
    """The command did not end within the time limit."""
