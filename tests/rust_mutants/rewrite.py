"""Puts mutants into a source, where one is chosen at run time."""

from collections.abc import Mapping

from rust_mutants.sites import Mutant


class _Writer:
    def __init__(self, source: bytes, mutants: Mapping[int, Mutant], hook: str) -> None:
        self.source = source
        self.hook = hook
        places: dict[tuple[int, int], list[tuple[int, Mutant]]] = {}
        for number, mutant in mutants.items():
            places.setdefault((mutant.start, mutant.end), []).append((number, mutant))
        # Outer places come before those inside them.
        self.places = sorted(places.items(), key=lambda place: (place[0][0], -place[0][1]))

    def text(self, start: int, end: int, within: tuple[int, int] | None = None) -> str:
        """Return the source of a range with all mutants in it, except those at the place `within` itself."""
        parts, at = [], start
        for (first, last), mutants in self.places:
            if first < at or last > end or (first, last) == within:
                continue
            parts += [self.source[at:first].decode(), self.choice(first, last, mutants)]
            at = last
        parts.append(self.source[at:end].decode())
        return "".join(parts)

    def choice(self, start: int, end: int, mutants: list[tuple[int, Mutant]]) -> str:
        """Return the expression at a place that is one of its mutants, or the original."""
        original = self.text(start, end, (start, end))
        branches = ""
        for number, mutant in mutants:
            if mutant.pieces is None:
                original += f" && !{self.hook}({number})"
                continue
            new = "".join(
                piece if isinstance(piece, str) else self.text(*piece, (start, end)) for piece in mutant.pieces
            )
            branches += f"if {self.hook}({number}) {{ {new} }} else "
        return f"({branches}{{ {original} }})" if branches else original


def rewrite(source: bytes, mutants: Mapping[int, Mutant], hook: str) -> str:
    """Return the source with the numbered mutants, each of which `hook(number)` chooses."""
    return _Writer(source, mutants, hook).text(0, len(source))
