"""Workloads as commands name them: a file, or ``-`` for the text on standard input."""

import contextlib
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from nandram.errors import UserError

if TYPE_CHECKING:
    from nandram.results.result import Result

STDIN = "-"
BYTES_MAX = 1 << 24
"""Maximum size of a job on standard input; traces are files."""


@contextlib.contextmanager
def workload_file(name: str) -> Iterator[str]:
    """Yield the path of a workload; for ``-``, of a temporary copy of the job on standard input. Raises `UserError`.

    Messages of a `UserError` from within name the copy as ``-``.
    """
    if name != STDIN:
        yield name
        return
    from nandram.language.measures import is_served

    content = sys.stdin.buffer.read(BYTES_MAX + 1)
    if len(content) > BYTES_MAX:
        raise UserError(f"-: found more than {BYTES_MAX} bytes on standard input, expected a job")
    with tempfile.TemporaryDirectory(prefix="nandram-") as folder:
        kind = "toml" if is_served(content.decode(errors="replace")) else "fio"
        path = Path(folder, f"stdin.{kind}")
        path.write_bytes(content)
        try:
            yield str(path)
        except UserError as error:
            raise UserError(str(error).replace(str(path), STDIN)) from None


def name_workload(result: "Result", path: str, name: str) -> None:
    """Name the workload of a result that was read from the copy `path`, so that equal runs have equal manifests."""
    if path == name:
        return
    result.rename(path, name)
    if result.inputs is not None:
        result.inputs.workload = name
        result.inputs.content = Path(path).read_bytes()
