"""Generated traces."""

from hypothesis import given
from hypothesis import strategies as st

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
