"""Parsing strace's output."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capture.kernel_model import escape
from nandram.capture.calls import arguments
from nandram.capture.calls.lines import Call, Moment, events


def one(line: str) -> Call:
    *_, (moment, call) = events([f"12  1700000000.000250 {line}\n"])
    assert moment is Moment.END
    return call


@pytest.mark.parametrize(
    ("line", "name", "text", "value", "path"),
    [
        ("sync()          = 0", "sync", "", 0, None),
        ('unlink("x")     = -1 ENOENT (No such file or directory)', "unlink", '"x"', None, None),
        ("mmap(NULL, 9, A|B, C, -1, 0) = 0x7f0e2a967000", "mmap", "NULL, 9, A|B, C, -1, 0", 0x7F0E2A967000, None),
        ('open("a) = 3", 0) = 4</a) = 3>', "open", '"a) = 3", 0', 4, "/a) = 3"),
        ("exit_group(0)   = ?", "exit_group", "0", None, None),
        ("read(3</a = (b>, 0x7f, 9) = -1 EINTR (Interrupted system call)", "read", "3</a = (b>, 0x7f, 9", None, None),
        ("fcntl(3</f>, F_GETFD) = 0x1 (flags FD_CLOEXEC)", "fcntl", "3</f>, F_GETFD", 1, None),
        ("fcntl(3</f>, F_DUPFD_CLOEXEC, 0) = 4</f>(deleted)", "fcntl", "3</f>, F_DUPFD_CLOEXEC, 0", 4, "/f"),
        ("lseek(3</f>, -5, SEEK_CUR) = 12", "lseek", "3</f>, -5, SEEK_CUR", 12, None),
        ("futex(0x7f) = ? ERESTARTSYS (To be restarted if SA_RESTART is set)", "futex", "0x7f", None, None),
    ],
)
def test_complete_lines(line: str, name: str, text: str, value: int | None, path: str | None) -> None:
    call = one(line)
    assert (call.name, call.arguments, call.value, call.path) == (name, text, value, path)
    assert (call.pid, call.at_us) == (12, 1_700_000_000_000_250)


def test_a_call_in_two_parts() -> None:
    found = list(
        events(
            [
                "1  10.000001 read(3</f>,  <unfinished ...>\n",
                "2  10.000002 sync( <unfinished ...>\n",
                '1  10.000003 <... read resumed>""..., 100) = 7\n',
                "2  10.000004 <... sync resumed>)       = 0\n",
            ]
        )
    )
    assert [(moment.name, call.pid, call.name) for moment, call in found] == [
        ("BEGIN", 1, "read"),
        ("BEGIN", 2, "sync"),
        ("END", 1, "read"),
        ("END", 2, "sync"),
    ]
    assert found[2][1].arguments == '3</f>, ""..., 100'
    assert (found[2][1].at_us, found[2][1].value) == (10_000_001, 7)


@pytest.mark.parametrize(
    "line",
    [
        "strace: something\n",
        "1  10.000001 <... read resumed>) = 3\n",
        "1  10.000001 ????( <unfinished ...>\n",
        "1  10.000001 read(3, 4\n",
    ],
)
def test_lines_that_say_nothing_are_reported(line: str) -> None:
    assert [moment for moment, _ in events([line])] == [Moment.UNKNOWN]


@given(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1))
def test_any_path_is_read_back(path: str) -> None:
    call = one(f'openat(AT_FDCWD</w>, "{escape(path)}", O_RDONLY) = 3</{escape(path)}>(deleted)')
    assert arguments.string(arguments.split(call.arguments)[1]) == path
    assert arguments.unescape(call.path or "") == "/" + path
    assert call.value == 3


def test_escapes() -> None:
    assert arguments.unescape(r"a\tb\nc\\d\"e\76f\303\274") == 'a\tb\nc\\d"e>fü'
    assert arguments.unescape(r"\377") == "\udcff"


def test_arguments() -> None:
    assert arguments.split('3</a, b>, {x=1, y=[2, 3]}, "q, r"..., NULL') == [
        "3</a, b>",
        "{x=1, y=[2, 3]}",
        '"q, r"...',
        "NULL",
    ]
    assert arguments.split("") == []
    assert arguments.fields("{a=1, b={c=2, d=3}, ...}") == {"a": "1", "b": "{c=2, d=3}"}
    assert [arguments.number(text) for text in ("12", "-1", "0x10", "0644", "x")] == [12, -1, 16, 0o644, None]
    assert [arguments.pointed(text) for text in ("NULL", "[5]", "[5] => [9]")] == [None, 5, 5]
    assert arguments.descriptor("AT_FDCWD</w>") == (arguments.AT_FDCWD, "/w", False)
    assert arguments.descriptor("junk") == (-1, None, False)
