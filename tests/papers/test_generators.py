"""Generated traces."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nandram.errors import UserError
from nandram.language.tables import Table
from nandram.papers.runs.generators import mix, sections


def lines(**keys: object) -> list[tuple[str, int, int]]:
    text = mix(Table("x.toml", "runs.r.generate", {"kind": "mix", **keys}))
    head, *rest, last = text.splitlines()
    assert (head, rest[:2], last) == ("fio version 3 iolog", ["0 drive add", "0 drive open"], "0 drive close")
    split = (line.split() for line in rest[2:])
    return [(action, int(offset), int(length)) for _, _, action, offset, length in split]


@given(
    st.integers(1, 300),
    st.floats(0, 1),
    st.floats(0.01, 1),
    st.sampled_from([512, 4096, 65536]),
    st.integers(0, 1 << 64),
)
def test_the_shares_are_met(requests: int, writes: float, misses: float, size: int, seed: int) -> None:
    reads = requests - round(requests * writes)
    if reads and not round(reads * misses):
        misses = 1.0
    span = 2 * requests * size
    keys = {"requests": requests, "request_bytes": size, "span_bytes": span, "writes": writes, "read_misses": misses}
    found = lines(**keys, seed=seed)
    assert len(found) == requests
    assert sum(action == "write" for action, _, _ in found) == round(requests * writes)
    seen: set[int] = set()
    hits, last = 0, None
    for action, offset, length in found:
        assert length == size
        assert offset % size == 0
        assert 0 <= offset < span
        if action == "read" and offset in seen:
            # Any cache still holds the last data read.
            assert offset == last
            hits += 1
        else:
            assert offset not in seen
        seen.add(offset)
        last = offset if action == "read" else last
    assert hits == reads - round(reads * misses)
    assert found == lines(**keys, seed=seed)


@given(st.integers(400, 900), st.integers(0, 1 << 32), st.floats(1, 16), st.floats(1, 16), st.floats(0.05, 0.95))
def test_means_and_locality_are_met(requests: int, seed: int, read: float, write: float, share: float) -> None:
    span = 1 << 30
    keys = {"requests": requests, "request_bytes": 65536, "span_bytes": span, "writes": 0.5, "read_misses": 1}
    found = lines(**keys, seed=seed, read_sectors=read, write_sectors=write, locality=[share, 0.26])
    for action, half, mean in (("read", 0, read), ("write", span // 2, write)):
        sizes = [length // 512 for each, _, length in found if each == action]
        # Whole sectors, at most 128 of them: the quantiles' mean is below that of the distribution.
        assert abs(sum(sizes) / len(sizes) - mean) < 0.03 * mean
        assert min(sizes) >= 1
        assert max(sizes) <= 128
        hot = [half <= offset < half + 0.26 * span / 2 for each, offset, _ in found if each == action]
        assert abs(sum(hot) / len(hot) - share) < 0.01
    assert len({offset for _, offset, _ in found}) == requests


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        ("read_sectors", 40, "read_sectors: found `40.0`, expected a number from 1 to 32, a quarter of request_bytes"),
        (
            "write_sectors",
            0.5,
            "write_sectors: found `0.5`, expected a number from 1 to 32, a quarter of request_bytes",
        ),
        ("locality", [0.74], "locality: found `[0.74]`, expected [share of the requests, share of the addresses]"),
        (
            "locality",
            [0.74, 1],
            "locality: found `[0.74, 1]`, expected [share of the requests, share of the addresses]",
        ),
    ],
)
def test_mistakes_in_sizes_and_locality_are_told(key: str, value: object, told: str) -> None:
    keys = {"requests": 10, "request_bytes": 65536, "span_bytes": 1 << 30, "writes": 0.5, "read_misses": 1, "seed": 1}
    with pytest.raises(UserError) as error:
        lines(**keys, **{key: value})
    assert str(error.value) == f"x.toml: runs.r.generate.{told}"


def test_a_seed_is_an_order() -> None:
    keys = {"requests": 6, "request_bytes": 512, "span_bytes": 8192, "writes": 0.5, "read_misses": 0.67}
    assert [(action[0], offset // 512) for action, offset, _ in lines(**keys, seed=1)] == [
        ("w", 12),
        ("w", 9),
        ("r", 1),
        ("r", 1),
        ("r", 7),
        ("w", 13),
    ]
    assert lines(**keys, seed=1) != lines(**keys, seed=2)


def test_sections_are_read_from_their_beginnings_pass_after_pass() -> None:
    keys = {"kind": "sections", "sections": 3, "read_bytes": 512, "span_bytes": 10240, "passes": 2}
    head, *rest, last = sections(Table("x.toml", "runs.r.generate", keys)).splitlines()
    assert (head, rest[:2], last) == ("fio version 3 iolog", ["0 drive add", "0 drive open"], "0 drive close")
    once = [f"0 drive read {start} 512" for start in (0, 3072, 6656)]
    assert rest[2:] == once * 2
    further = sections(Table("x.toml", "runs.r.generate", keys | {"apart_bytes": 1024})).splitlines()[3:-1]
    assert further == once + [f"0 drive read {start + 1024} 512" for start in (0, 3072, 6656)]
    with pytest.raises(UserError, match="apart_bytes: found `3072`, expected a multiple of 512 whose 2 passes fit"):
        sections(Table("x.toml", "runs.r.generate", keys | {"apart_bytes": 3072}))
