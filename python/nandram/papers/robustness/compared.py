"""All claims of an experiment in each of its declared variants."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nandram.papers.robustness.table import counter_variant, simulated
from nandram.papers.robustness.variants import Variant, forget_settings, holding, narrowed, tasks_of

if TYPE_CHECKING:
    from nandram.papers.library import Paper
    from nandram.papers.runs.play import Report

BASE = "experiment"
"""Name of the experiment without a variant."""


@dataclass(frozen=True)
class VariantTable:
    """Our figures by claim and variant, and whether the claims hold."""

    paper: str
    whys: dict[str, str]
    """The variants and what they change."""
    claims: dict[str, dict[str, tuple[float | None, bool]]]
    """By claim and by variant, the experiment itself first: our figure, and whether the claim holds."""

    def held(self, variant: str) -> int:
        """Return in how many claims a variant holds."""
        return sum(found[variant][1] for found in self.claims.values())

    @property
    def always(self) -> bool:
        """Whether some variant holds in every claim that holds in any."""
        anywhere = sum(any(holds for _, holds in found.values()) for found in self.claims.values())
        return any(self.held(variant) == anywhere for variant in (BASE, *self.whys))


def compare(
    paper: "Paper", *, jobs: int, cache: Path | None, wanted: "list[str]", report: "Report | None" = None
) -> VariantTable | None:
    """Return a paper's simulated claims among `wanted` in each of its variants, if it has any. Raises `UserError`."""
    from nandram.papers.runs import play

    experiment = paper.experiment
    if experiment is None or not experiment.variants:
        return None
    forget_settings()
    claims = [claim for claim in simulated(paper) if claim in wanted]
    experiment = narrowed(experiment, claims)
    variants = [Variant(BASE), *(counter_variant(name, each) for name, each in experiment.variants.items())]
    made = {variant.name: tasks_of(experiment, variant) for variant in variants}
    tasks = [task for each in made.values() for task in each.values()]
    outcomes = play.play(tasks, jobs=jobs, cache=cache, report=report)
    found: dict[str, dict[str, Any]] = {claim: {} for claim in claims}
    for variant in variants:
        of_it = {place: outcomes[task.key] for place, task in made[variant.name].items()}
        for claim, figure in holding(paper.claims, experiment, variant, claims, of_it).items():
            found[claim][variant.name] = figure
    return VariantTable(paper.claims.paper, {name: each.why for name, each in experiment.variants.items()}, found)
