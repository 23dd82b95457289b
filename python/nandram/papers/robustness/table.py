"""The share of draws in which each claim holds, and whether its counter-models fail: evaluated, and kept in a file.

`robustness.json` in this folder holds what `make robustness` wrote for the bundled papers. It is keyed by a hash of
what decides a claim: the experiment, the claims and what its systems set. Each share also holds our figure, so a
changed model shows.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nandram.errors import UserError
from nandram.hashes import joint_hash, text_hash
from nandram.papers.robustness.draws import draws, parameters_of
from nandram.papers.robustness.variants import Variant, forget_settings, holding, narrowed, settings_of_point, tasks_of

if TYPE_CHECKING:
    from nandram.papers.experiment import Experiment
    from nandram.papers.library import Paper
    from nandram.papers.robustness.declared import Counter
    from nandram.papers.runs.play import Report

DRAWS = 64
"""Number of draws unless another is given."""
_SHOWN = ("title", "bands", "charts", "sensitivity", "variants")
"""Sections of an experiment that decide no verdict."""
_SAME = 1e-9
"""Relative difference up to which a figure counts as the one that was kept."""


@dataclass(frozen=True)
class Share:
    """Robustness of one claim."""

    ours: float | None
    """Our figure without a draw."""
    draws: int
    """Number of draws whose systems were valid."""
    failed: tuple[int, ...]
    """The draws in which the claim does not hold."""
    counters: dict[str, bool]
    """By counter-model that the claim names, whether the claim holds in it."""

    @property
    def held(self) -> int:
        """Number of draws in which the claim holds."""
        return self.draws - len(self.failed)

    @property
    def can_fail(self) -> bool:
        """Whether the claim fails in at least one counter-model."""
        return any(not holds for holds in self.counters.values())


@dataclass(frozen=True)
class PaperRobustness:
    """Robustness of a paper's simulated claims."""

    key: str
    """Hash of the experiment, the claims and the systems."""
    quick: bool
    """Whether the draws used the quick runs."""
    parameters: tuple[str, ...]
    """What was drawn."""
    fixed: dict[str, str]
    """What is assumed and was not drawn, with the reason."""
    shares: dict[str, Share]
    count: int = DRAWS
    """Number of draws that were made, those whose systems were invalid included."""

    def share(self, claim: str, key: str, ours: float | None, *, quick: bool) -> Share | None:
        """Return the share of a claim, or None if it is unknown or stale.

        Stale: the experiment or a system has changed since, or, for the same kind of runs, our figure has.
        """
        found = self.shares.get(claim)
        if found is None or key != self.key:
            return None
        if quick == self.quick and not _same(found.ours, ours):
            return None
        return found


def _same(kept: float | None, now: float | None) -> bool:
    if kept is None or now is None:
        return kept is now
    return abs(kept - now) <= _SAME * max(abs(kept), abs(now))


def key_of(paper: "Paper") -> str:
    """Return the hash of what decides a paper's simulated claims. Raises `UserError`.

    It covers the experiment, the claims and what the systems set: values, and whether each is assumed. Defaults are
    left out, since every new key of a system has one; a default that counts shows in the figures of quick
    runs, which are compared too. So are notes, charts,
    tables, the words of a basis, and runs that no such claim needs.
    """
    forget_settings()
    assert paper.experiment is not None
    experiment = narrowed(paper.experiment, simulated(paper))
    systems: dict[str, None] = {}
    for run in experiment.runs.values():
        for place in run.places():
            settings = settings_of_point(run.point(place, run.seeds[0]))
            decisive = {
                key: (each["value"], sorted(each.get("basis", {})))
                for key, each in settings.items()
                if each["set_by"] != "default"
            }
            systems[json.dumps(decisive, sort_keys=True)] = None
    parts = [
        text_hash(_decisive(experiment)),
        text_hash(repr(paper.claims)),
        *(text_hash(each) for each in sorted(systems)),
    ]
    return joint_hash(*parts).hex()[:16]


def _decisive(experiment: "Experiment") -> str:
    """Return what of a narrowed experiment's file can change a verdict or a draw, in the order of the file."""
    top = experiment.declared
    kept: dict[str, Any] = {key: value for key, value in top.items() if key not in _SHOWN}
    kept["runs"] = {name: run for name, run in top.get("runs", {}).items() if name in experiment.runs}
    kept["values"] = {name: value for name, value in top.get("values", {}).items() if name in experiment.values}
    kept["claims"] = {
        name: {key: each for key, each in entry.items() if key != "note"} if isinstance(entry, dict) else entry
        for name, entry in top.get("claims", {}).items()
    }
    # Not sorted: the order of what is assumed decides the draws.
    return json.dumps(kept, default=str)


def evaluate(
    paper: "Paper",
    *,
    count: int = DRAWS,
    quick: bool,
    jobs: int,
    cache: Path | None,
    only: "tuple[int, ...] | None" = None,
    report: "Report | None" = None,
) -> PaperRobustness:
    """Evaluate the robustness of a paper's simulated claims. Raises `UserError`.

    `only`: evaluate these draws alone, a sample of the kept table, with what that drew. `report`: called with the
    progress of the runs.
    """
    from nandram.papers.runs import play

    forget_settings()
    experiment = paper.experiment
    assert experiment is not None
    wanted = simulated(paper)
    experiment = narrowed(experiment, wanted)
    drawn = parameters_of(experiment)
    kept = None if only is None else load().get(paper.claims.paper)
    names = None if kept is None else kept.parameters
    variants = dict(enumerate(draws(experiment, drawn, count, paper.claims.paper, names)))
    if only is not None:
        variants = {index: variants[index] for index in only}
    base = Variant("base")
    made = {base.name: tasks_of(experiment, base)}
    for variant in variants.values():
        try:
            made[variant.name] = tasks_of(experiment, variant)
        except UserError:
            # Values that are valid alone may be refused together: such a draw says nothing.
            continue
    countered = {}
    for name, counter in experiment.counters.items():
        naming = [claim for claim in wanted if name in experiment.entries[claim].counters]
        if naming:
            one = narrowed(experiment, naming)
            countered[name] = (naming, one, counter_variant(name, counter))
            made[name] = tasks_of(one, countered[name][2])
    tasks = [task for each in made.values() for task in each.values()]
    errors: dict[str, UserError] = {}
    outcomes = play.play(tasks, jobs=jobs, cache=cache, report=report, errors=errors)

    def error_of(name: str) -> UserError | None:
        return next((errors[task.key] for task in made[name].values() if task.key in errors), None)

    def of(name: str) -> Mapping[Any, Any]:
        error = error_of(name)
        if error is not None:
            raise error
        return {place: outcomes[task.key] for place, task in made[name].items()}

    first = holding(paper.claims, experiment, base, wanted, of(base.name))
    in_draws = {
        index: holding(paper.claims, experiment, variant, wanted, of(variant.name))
        for index, variant in variants.items()
        if variant.name in made and error_of(variant.name) is None
    }
    counters: dict[str, dict[str, bool]] = {claim: {} for claim in wanted}
    for name, (naming, one, variant) in countered.items():
        for claim, (_, holds) in holding(paper.claims, one, variant, naming, of(name)).items():
            counters[claim][name] = holds
    shares = {
        claim: Share(
            first[claim][0],
            len(in_draws),
            tuple(index for index, found in in_draws.items() if not found[claim][1]),
            counters[claim],
        )
        for claim in wanted
    }
    parameters = tuple(parameter.name for parameter in drawn.parameters)
    return PaperRobustness(key_of(paper), quick, parameters, drawn.fixed, shares, count)


def simulated(paper: "Paper") -> list[str]:
    """Return the claims of a paper that runs of an experiment decide."""
    experiment = paper.experiment
    if experiment is None:
        return []
    return [
        name
        for name, entry in experiment.entries.items()
        if entry.ours is not None
        and not entry.not_comparable
        and paper.claims.claims[name].kind != "arithmetic"
        and experiment.runs_of(entry)
    ]


def counter_variant(name: str, counter: "Counter") -> Variant:
    """Return the experiment as a counter-model has it."""

    def change(run: str, settings: Mapping[str, Mapping[str, Any]]) -> Mapping[str, object]:
        return {key: value for key, value in counter.set.items() if run in counter.runs and key in settings}

    return Variant(name, dict(counter.constants), change)


# -- the kept table


def kept_file() -> Path:
    """Return the file of the kept table."""
    return Path(__file__).with_name("robustness.json")


def load() -> dict[str, PaperRobustness]:
    """Return the kept table by paper."""
    try:
        text = kept_file().read_text(encoding="utf-8")
    except OSError:
        return {}
    return {paper: from_json(each) for paper, each in json.loads(text).items()}


def keep(file: Path) -> tuple[str, ...]:
    """Put the papers of a file that `save` wrote into the kept table, and leave its others. Returns these papers.

    Raises `UserError`.
    """
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
        new = {paper: from_json(each) for paper, each in found.items()}
    except OSError as error:
        raise UserError(f"{file}: cannot be read: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise UserError(f"{file}: expected a table of robustness, as --draws writes it") from None
    table = {**load(), **new}
    save({paper: table[paper] for paper in sorted(table)}, kept_file())
    return tuple(new)


def from_json(found: dict[str, Any]) -> PaperRobustness:
    """Return the robustness of a paper from a file that `save` wrote."""
    shares = {
        claim: Share(each["ours"], each["draws"], tuple(each["failed"]), each["counters"])
        for claim, each in found["shares"].items()
    }
    return PaperRobustness(
        *(found["key"], found["quick"], tuple(found["parameters"]), found["fixed"], shares), found["count"]
    )


def save(table: Mapping[str, PaperRobustness], file: Path) -> None:
    """Write a table. Raises `UserError`."""
    text = json.dumps({paper: asdict(each) for paper, each in table.items()}, indent=1, ensure_ascii=False) + "\n"
    # Lists of numbers and short tables on one line each.
    text = re.sub(r"\[\s+([0-9,\s]*?)\s+\]", lambda found: f"[{' '.join(found[1].split())}]", text)
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UserError(f"{file}: cannot be written: {error.strerror}") from error
