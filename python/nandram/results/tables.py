"""Tables that are built at their first access; most commands only print the summary and need none."""

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl


class LazyTables(Mapping[str, "pl.DataFrame"]):
    """Tables by name, each built by its function at the first access."""

    def __init__(self, makers: "Mapping[str, Callable[[], pl.DataFrame]]") -> None:
        self._makers = dict(makers)
        self._made: dict[str, pl.DataFrame] = {}

    def __getitem__(self, name: str) -> "pl.DataFrame":
        if name not in self._made:
            self._made[name] = self._makers[name]()
        return self._made[name]

    def __contains__(self, name: object) -> bool:
        return name in self._makers

    def __iter__(self) -> Iterator[str]:
        return iter(self._makers)

    def __len__(self) -> int:
        return len(self._makers)

    def __reduce__(self) -> "tuple[type[dict[str, pl.DataFrame]], tuple[dict[str, pl.DataFrame]]]":
        """Pickle the built tables; the native columns stay in their process."""
        return dict, (dict(self),)
