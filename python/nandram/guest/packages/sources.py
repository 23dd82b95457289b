"""Finds a Debian mirror in the host's apt sources: one-line files (``.list``) and deb822 files (``.sources``)."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from nandram.errors import UserError

APT = Path("/etc/apt")
_RELEASE = r"(?:bullseye|bookworm|trixie|forky|sid|oldoldstable|oldstable|stable|testing|unstable)"
_SUITE = re.compile(rf"{_RELEASE}(?:-updates|-backports|-proposed-updates)?")
_SCHEMES = ("http:", "https:", "file:", "copy:", "mirror:", "mirror+", "tor+")
_NO = ("no", "false", "without", "off", "disable")


@dataclass(frozen=True)
class Source:
    """One address of an apt source."""

    address: str
    suites: tuple[str, ...]
    components: tuple[str, ...]
    signed_by: str | None = None
    """File of the keys that sign it."""

    @property
    def is_debian(self) -> bool:
        """Whether it serves Debian's main archive, which has every release under one address."""
        known = all(_SUITE.fullmatch(suite) for suite in self.suites)
        return bool(self.suites) and known and "main" in self.components and self.address.startswith(_SCHEMES)


def debian_mirror(folder: Path = APT) -> Source:
    """Return the first Debian mirror among the host's sources. Raises `UserError` if there is none."""
    found = [source for source in sources(folder) if source.is_debian]
    # Third parties name their suites like Debian's, but not their folder.
    found.sort(key=lambda source: source.address.rstrip("/").rsplit("/", 1)[-1] != "debian")
    if not found:
        raise UserError(f"{folder}: found no Debian mirror among the apt sources, expected one, or --mirror URL")
    return found[0]


def sources(folder: Path) -> Iterator[Source]:
    """Yield the sources in apt's order: ``sources.list``, then ``sources.list.d`` by name."""
    parts = folder / "sources.list.d"
    files = [folder / "sources.list", *(sorted(parts.iterdir()) if parts.is_dir() else [])]
    for path in files:
        if path.suffix in (".list", ".sources") and path.is_file():
            text = path.read_text(errors="replace")
            yield from one_line(text) if path.suffix == ".list" else deb822(text)


def one_line(text: str) -> Iterator[Source]:
    """Yield the sources of ``deb [options] ADDRESS SUITE COMPONENT...`` lines."""
    for line in text.splitlines():
        match = re.match(r"\s*deb\s+(?:\[(?P<options>[^\]]*)\]\s*)?(?P<rest>\S.*)", line.partition("#")[0])
        if not match:
            continue
        address, *words = match["rest"].split()
        options = dict(each.partition("=")[::2] for each in (match["options"] or "").split())
        yield Source(address, tuple(words[:1]), tuple(words[1:]), _key_file(options.get("signed-by", "")))


def deb822(text: str) -> Iterator[Source]:
    """Yield the sources of paragraphs of ``Key: values`` lines."""
    for paragraph in re.split(r"\n[ \t]*\n", text):
        fields = _fields(paragraph)
        if "deb" not in fields.get("types", "").split() or fields.get("enabled", "yes").lower() in _NO:
            continue
        suites, components = (tuple(fields.get(key, "").split()) for key in ("suites", "components"))
        for address in fields.get("uris", "").split():
            yield Source(address, suites, components, _key_file(fields.get("signed-by", "")))


def _fields(paragraph: str) -> dict[str, str]:
    """Return the fields of a paragraph by lower-case key; indented lines continue the field above."""
    fields: dict[str, str] = {}
    last = ""
    for line in paragraph.splitlines():
        if line.startswith("#"):
            continue
        if line[:1] in (" ", "\t"):
            if last:
                fields[last] += "\n" + line.strip()
            continue
        key, colon, value = line.partition(":")
        if colon:
            last = key.strip().lower()
            fields[last] = value.strip()
    return fields


def _key_file(value: str) -> str | None:
    """Return the file of a ``signed-by`` value; None for fingerprints and embedded keys."""
    return value if value.startswith("/") and len(value.split()) == 1 else None
