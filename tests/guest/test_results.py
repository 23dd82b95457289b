"""The output that a guest hands over."""

from pathlib import Path

import pytest

from nandram.guest.output.results import Status, Tail


def test_a_tail_passes_on_what_is_appended(tmp_path: Path) -> None:
    path, seen = tmp_path / "file", bytearray()
    path.write_text("of an earlier run")
    tail = Tail(path, seen.extend)
    with path.open("ab") as file:
        for part in (b"one\n", b"tw", b"", b"o\n" * 100_000):
            file.write(part)
            file.flush()
            tail.poll()
            assert seen.endswith(part)
    tail.close()
    assert bytes(seen) == b"one\ntw" + b"o\n" * 100_000


def test_phases_follow_whole_lines() -> None:
    status = Status()
    assert status.phase == "booting Linux"
    for data, phase in (
        (b"runn", "booting Linux"),
        (b"ing\n", "running"),
        (b"exit 12", "running"),
        (b"3\n", "bringing files back"),
    ):
        status.append(data)
        assert status.phase == phase
    assert status.exit_status == 123
    assert not status.is_complete
    status.append(b"done\n")
    assert status.is_complete
    assert status.failure() is None


@pytest.mark.parametrize(
    ("text", "failure"),
    [
        ("drive /dev/nvme0n1\n", "the guest found no /dev/nvme0n1 within 60 s of its time (see kernel.txt)"),
        ("module a.ko: Invalid argument\n", "the guest could not load the module a.ko: Invalid argument"),
        ("running\nexit 0\ntar No space left\n", "the guest could not pack /out: No space left"),
    ],
)
def test_failures_are_reported(text: str, failure: str) -> None:
    status = Status()
    status.append(text.encode())
    assert status.failure() == failure
