"""The parser of apt's sources."""

from pathlib import Path

import pytest

from nandram.errors import UserError
from nandram.guest.packages.sources import Source, deb822, debian_mirror, one_line

MIRROR = "http://mirror.example/debian"


def test_one_line_form() -> None:
    text = f"""
# deb {MIRROR}/commented bookworm main
deb-src {MIRROR}/source bookworm main
deb {MIRROR} bookworm main contrib  # a comment
deb [ arch=amd64 signed-by=/keys/a.gpg ] https://other.example/debian trixie main
deb [signed-by=0123ABCD] {MIRROR}/flat ./
  deb {MIRROR}/indented trixie main
debris {MIRROR} x y
deb
"""
    assert list(one_line(text)) == [
        Source(MIRROR, ("bookworm",), ("main", "contrib")),
        Source("https://other.example/debian", ("trixie",), ("main",), "/keys/a.gpg"),
        Source(f"{MIRROR}/flat", ("./",), ()),
        Source(f"{MIRROR}/indented", ("trixie",), ("main",)),
    ]


def test_deb822_form() -> None:
    text = f"""# Debian
Types: deb deb-src
URIs: {MIRROR}
# another
 https://second.example/debian
Suites: trixie trixie-updates
Components: main
Signed-By: /keys/a.gpg
\t
Types: deb
URIs: {MIRROR}/off
Suites: trixie
Components: main
Enabled: no

Types: deb-src
URIs: {MIRROR}/source
Suites: trixie
Components: main

types: deb
uris: {MIRROR}/key
suites: trixie
components: main
signed-by:
 -----BEGIN PGP PUBLIC KEY BLOCK-----
 .
 /abc
 -----END PGP PUBLIC KEY BLOCK-----
"""
    first, second, *others = deb822(text)
    assert first == Source(MIRROR, ("trixie", "trixie-updates"), ("main",), "/keys/a.gpg")
    assert second.address == "https://second.example/debian"
    assert others == [Source(f"{MIRROR}/key", ("trixie",), ("main",), None)]


@pytest.mark.parametrize("text", ["", "\n\n", "# nothing", "Types: deb", ": x\n y", " continued", "deb [", "\0"])
def test_nothing_is_found_in_other_texts(text: str) -> None:
    assert [source for source in (*one_line(text), *deb822(text)) if source.is_debian] == []


@pytest.mark.parametrize(
    ("source", "is_debian"),
    [
        (Source(MIRROR, ("bookworm", "bookworm-updates"), ("main",)), True),
        (Source("file:/srv/debian", ("stable",), ("main",)), True),
        (Source(MIRROR, ("bookworm-security",), ("main",)), False),
        (Source(MIRROR, ("noble",), ("main",)), False),
        (Source(MIRROR, ("bookworm",), ("contrib",)), False),
        (Source(MIRROR, (), ("main",)), False),
        (Source("cdrom:[Debian]/", ("bookworm",), ("main",)), False),
    ],
)
def test_debian_is_known_by_its_releases(source: Source, is_debian: bool) -> None:
    assert source.is_debian == is_debian


def write(folder: Path, files: dict[str, str]) -> None:
    (folder / "sources.list.d").mkdir()
    for name, text in files.items():
        (folder / name).write_text(text)


def test_the_first_debian_mirror(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "sources.list": "deb http://security.example/debian-security trixie-security main\n",
            "sources.list.d/a.list": "deb http://vendor.example/tool bookworm main\n",
            "sources.list.d/b.sources": f"Types: deb\nURIs: {MIRROR}/\nSuites: bookworm\nComponents: main\n",
            "sources.list.d/c.list.off": "deb http://off.example/debian bookworm main\n",
        },
    )
    assert debian_mirror(tmp_path).address == f"{MIRROR}/"
    (tmp_path / "sources.list").write_text("deb http://first.example/debian trixie main\n")
    assert debian_mirror(tmp_path).address == "http://first.example/debian"


def test_without_a_mirror(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="found no Debian mirror among the apt sources, expected one, or --mirror URL"):
        debian_mirror(tmp_path)
    write(tmp_path, {"sources.list": "deb http://archive.example/ubuntu noble main\n"})
    with pytest.raises(UserError, match="found no Debian mirror"):
        debian_mirror(tmp_path)
