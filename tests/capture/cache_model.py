"""A straightforward model of the plugins' caches: one list of lines per set, the most recently used line last."""

from dataclasses import dataclass, field


@dataclass
class Cache:
    """One level: line numbers by set, with a dirty flag each."""

    sets: int
    ways: int
    lines: dict[int, list[tuple[int, bool]]] = field(default_factory=dict)

    def find(self, line: int) -> tuple[int, bool] | None:
        """Remove the line if present."""
        held = self.lines.setdefault(line % self.sets, [])
        for entry in held:
            if entry[0] == line:
                held.remove(entry)
                return entry
        return None

    def put(self, line: int, dirty: bool) -> tuple[int, bool] | None:
        """Insert the line as the most recently used; return the evicted line."""
        held = self.lines.setdefault(line % self.sets, [])
        held.append((line, dirty))
        return held.pop(0) if len(held) > self.ways else None


class Hierarchy:
    """A write-back, write-allocate hierarchy; `events` are the memory accesses: line and whether it is written."""

    def __init__(self, levels: list[Cache]) -> None:
        self.levels = levels
        self.events: list[tuple[int, bool]] = []

    def use(self, line: int, store: bool, level: int = 0) -> None:
        """Load or store a line."""
        if level == len(self.levels):
            self.events.append((line, False))
            return
        found = self.levels[level].find(line)
        if found is not None:
            self.levels[level].put(line, found[1] or store)
            return
        self.use(line, False, level + 1)
        self._push_out(self.levels[level].put(line, store), level + 1)

    def _push_out(self, victim: tuple[int, bool] | None, level: int) -> None:
        if victim is None or not victim[1]:
            return
        if level == len(self.levels):
            self.events.append(victim)
            return
        self.levels[level].find(victim[0])
        self._push_out(self.levels[level].put(victim[0], True), level + 1)


def missed_pages(addresses: list[int], size: int, ways: int, line_bytes: int, page_bytes: int) -> list[int]:
    """Return the page of each line that an instruction cache misses when these addresses are fetched."""
    caches = Hierarchy([Cache(size // ways // line_bytes, ways)])
    for address in addresses:
        caches.use(address // line_bytes, False)
    return [line * line_bytes // page_bytes for line, _ in caches.events]
