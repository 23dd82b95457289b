"""Geometries that are tried: arrangements of about as many dies as the curves show."""

from nandram.fit.parameters import Space, quantity

CHANNELS = (1, 2, 3, 4, 6, 8, 10, 12, 16, 18, 24, 32)
"""Numbers of channels that controllers have."""
CHIPS = (1, 2, 3, 4, 6, 8, 12, 16)
"""Numbers of chips per channel."""
ALTERNATIVES = 8
"""Geometries that are tried."""
PAGE_MAX = 65_536
"""Largest page of a system file, in bytes."""

Structure = dict[str, object]


def geometries(space: Space, dies: float, channels: int, channels_seen: bool) -> list[Structure]:
    """Return the ways to arrange about `dies` parallel places, the nearest first.

    `channels`: their number by the curves, or the start file's; `channels_seen`: whether the curves show it.
    """
    planes = int(str(space.value("flash.planes")))
    per_chip = int(str(space.value("flash.dies")))
    near = (
        [channels]
        if space.is_given("flash.channels") or not channels_seen
        else [count for count in CHANNELS if 0.7 <= count / channels <= 1.4]
    )
    chips = [int(str(space.value("flash.chips")))] if space.is_given("flash.chips") else list(CHIPS)
    independent = (
        [bool(space.value("flash.independent_reads"))]
        if space.is_given("flash.independent_reads") or planes == 1
        else [False, True]
    )
    found: list[tuple[float, bool, Structure]] = []
    for count in near:
        for ways in chips:
            for each in independent:
                places = count * ways * per_chip * (planes if each else 1)
                ratio = max(places / dies, dies / places)
                if ratio <= 1.8:
                    far = round(ratio * max(count / channels, channels / count), 3)
                    geometry: Structure = {
                        "flash.channels": count,
                        "flash.chips": ways,
                        "flash.independent_reads": each,
                    }
                    found.append((far, each, geometry))
    ordered = [geometry for *_, geometry in sorted(found, key=lambda each: each[:2])]
    return ordered[:ALTERNATIVES] or [{}]


def with_pages(space: Space, structures: list[Structure], largest_bytes: int) -> list[Structure]:
    """Return the structures, each also with pages of twice the size if requests span several pages.

    How much consecutive data one die reads decides on how many dies a large request waits.
    """
    page = int(quantity(space.value("flash.page")))
    one_plane = int(str(space.value("flash.planes"))) == 1
    if largest_bytes <= page or 2 * page > PAGE_MAX or space.is_given("flash.page") or not one_plane:
        return structures
    doubled = [{**each, "flash.page": f"{2 * page >> 10}KiB"} for each in structures]
    return [*structures, *doubled][: max(ALTERNATIVES, len(structures))]
