"""The server's process, with a stand-in for `nandram serve`."""

import sys
import types
from collections.abc import Callable
from pathlib import Path

import pytest

from guest.fakes import install, play
from guest.test_run import alive, complete
from nandram.errors import UserError
from nandram.guest.drive import Server
from nandram.guest.errors import GuestError, TimeLimitError
from nandram.guest.run import Guest, run_guest

# Ends after `served` seconds, with its options as its summary.
PROGRAM = """#!{python}
import os, sys, time
options = dict(zip(sys.argv[5:], sys.argv[6:]))
{before}
os.mknod(options["--vfio-user"])
time.sleep({served})
print({last!r}, file=sys.stderr)
with open(options["-o"] + "/summary.json", "w") as file:
    file.write(" ".join(sys.argv[1:5] + [options["--set"], options["--clock"]]))
sys.exit({status})
"""


@pytest.fixture
def guest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Guest:
    plugin = types.ModuleType("nandram.guest.plugin")
    vars(plugin).update(plugin_path=lambda: Path("/plugin.so"), __spec__=types.SimpleNamespace())
    monkeypatch.setitem(sys.modules, "nandram.guest.plugin", plugin)
    return Guest(["true"], *install(tmp_path / "fetched"))


def serve(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    before: str = "",
    served: float = 0.2,
    last: str = "",
    status: int = 0,
    report: Callable[[bytes], object] = lambda _: None,
) -> Server:
    program = tmp_path / "python"
    program.write_text(PROGRAM.format(python=sys.executable, before=before, served=served, last=last, status=status))
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(program))
    return Server("hmb-a", ["flash.read=50us"], report=report)


def test_the_summary_is_waited_for(guest: Guest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    play(guest.programs, complete(tmp_path))
    run_guest(guest, serve(tmp_path, monkeypatch, served=1), tmp_path / "o", 60)
    assert (tmp_path / "o/summary.json").read_text() == "-m nandram serve hmb-a flash.read=50us virtual"


def test_mistakes_in_the_system_are_the_users(guest: Guest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server = serve(tmp_path, monkeypatch, before="print('error: hmb-a: no drive', file=sys.stderr); sys.exit(2)")
    with pytest.raises(UserError) as error:
        run_guest(guest, server, tmp_path / "o", 60)
    assert str(error.value) == "hmb-a: no drive"


@pytest.mark.parametrize("steps", [[("sleep", 60)], None])
def test_a_server_that_dies(
    guest: Guest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, steps: list[tuple[str, object]] | None
) -> None:
    started = play(guest.programs, steps or complete(tmp_path))
    with pytest.raises(GuestError) as error:
        run_guest(guest, serve(tmp_path, monkeypatch, served=0.5, last="panicked", status=101), tmp_path / "o", 60)
    assert str(error.value) == "nandram serve ended with status 101: panicked"
    assert alive(started) == []


@pytest.mark.parametrize(
    ("before", "served", "doing"),
    [("time.sleep(60)", 0, "the drive was prepared"), ("", 60, "the drive wrote its summary")],
)
def test_the_time_limit_includes_the_server(
    guest: Guest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: str, served: float, doing: str
) -> None:
    play(guest.programs, complete(tmp_path))
    with pytest.raises(TimeLimitError, match=f"ended while {doing}"):
        run_guest(guest, serve(tmp_path, monkeypatch, before=before, served=served), tmp_path / "o", 2)


def test_without_a_plugin(guest: Guest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(UserError, match="guest: this installation has no plug-in for QEMU"):
        run_guest(guest, serve(tmp_path, monkeypatch), tmp_path / "o", 60)


def test_a_store_that_cannot_be_written_is_reported_once(
    guest: Guest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    play(guest.programs, complete(tmp_path))
    said = "nandram: store x: cannot be written: No space left on device; the drive fails writes until it can"
    lines: list[bytes] = []
    server = serve(
        tmp_path, monkeypatch, before=f"print('noise'); print({said!r}, file=sys.stderr)", report=lines.append
    )
    run_guest(guest, server, tmp_path / "o", 60)
    assert lines == [said.encode() + b"\n"]


def test_results_are_there_although_the_store_cannot_be_written_at_the_end(
    guest: Guest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    play(guest.programs, complete(tmp_path))
    server = serve(tmp_path, monkeypatch, served=1, last="error: store x: cannot be written", status=2)
    with pytest.raises(UserError, match=r"^store x: cannot be written$"):
        run_guest(guest, server, tmp_path / "o", 60)
    assert (tmp_path / "o" / "guest.json").is_file()
