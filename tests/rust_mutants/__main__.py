"""Mutants of comparisons, constants and early exits, which the tests must notice.

All drawn mutants are compiled into one copy of the project, where `NANDRAM_MUTANT` chooses one at run time. Ends with
status 1 if a mutant survives without a written reason, or more than 5 % of the draw survive.
"""

import argparse
import json
import sys
import time
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from rust_mutants.kill import Outcome, kill_all, measure
from rust_mutants.programs import build
from rust_mutants.reasons import FILE, Key, entry, read_reasons, stale
from rust_mutants.sites import ROOT, Mutant, build_lister, draw, list_mutants, sources
from rust_mutants.tree import make_tree

SURVIVORS_MAX = 0.05
SCRATCH = ROOT / "build" / "mutants"


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="rust_mutants", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--seed", type=int, default=1, help="seed of the draw")
    parser.add_argument("--count", type=int, default=60, help="mutants per folder")
    parser.add_argument("--folder", action="append", help="only this folder; may be repeated")
    parser.add_argument("--again", action="store_true", help="only the mutants that the last run did not kill")
    return parser.parse_args()


def _survivors(path: Path) -> list[Key]:
    lines = path.read_text().splitlines() if path.is_file() else []
    return [tuple(fields["key"]) for fields in map(json.loads, lines) if not fields["killer"]]


def _table(outcomes: Sequence[Outcome], folders: Sequence[str], reasons: Mapping[Key, str]) -> str:
    rows = ["| folder | drawn | killed | survived, with a reason | survived |", "| --- | ---: | ---: | ---: | ---: |"]
    for folder in folders:
        here = [outcome for outcome in outcomes if outcome.mutant.file.startswith(f"{folder}/")]
        alive = [outcome for outcome in here if not outcome.killer]
        known = sum(outcome.mutant.key in reasons for outcome in alive)
        rows.append(f"| `{folder}` | {len(here)} | {len(here) - len(alive)} | {known} | {len(alive) - known} |")
    return "\n".join(rows)


def main() -> int:
    """Run the command; return its exit status."""
    arguments = _arguments()
    begin = time.monotonic()
    settings = tomllib.loads((Path(__file__).parent / "folders.toml").read_text())
    env = settings.pop("env")
    folders = [name for name in settings if not arguments.folder or name in arguments.folder]
    lister = build_lister()
    listed: dict[str, list[Mutant]] = {name: list_mutants(lister, ROOT, sources(ROOT, name)) for name in settings}
    reasons = read_reasons(FILE.read_text())
    if old := stale(reasons, (mutant for mutants in listed.values() for mutant in mutants)):
        raise SystemExit("\n".join([f"{FILE.name}: no such mutant:", *map(str, old)]))

    # All folders are always compiled in, so that a run of one folder leaves the others compiled.
    drawn = [mutant for name in settings for mutant in draw(listed[name], arguments.count, arguments.seed, name)]
    folder_of = {number: next(f for f in settings if m.file.startswith(f"{f}/")) for number, m in enumerate(drawn)}
    chosen = {number: mutant for number, mutant in enumerate(drawn) if folder_of[number] in folders}
    if arguments.again:
        last = _survivors(SCRATCH / "last.jsonl")
        chosen = {number: mutant for number, mutant in chosen.items() if mutant.key in last}
    tests = {number: settings[folder_of[number]]["tests"] for number in chosen}
    make_tree(SCRATCH / "tree", drawn)
    programs = build(SCRATCH / "tree", {name for of in tests.values() for name in of})
    outcomes = kill_all(chosen, tests, measure(programs, env, SCRATCH / "reached"), env)

    record = "".join(json.dumps({"key": o.mutant.key, "killer": o.killer}) + "\n" for o in outcomes)
    (SCRATCH / "last.jsonl").write_text(record)
    alive = [outcome for outcome in outcomes if not outcome.killer]
    for outcome in alive:
        mutant = outcome.mutant
        reason = reasons.get(mutant.key, "NO REASON" if outcome.reached else "NO REASON (no test reaches it)")
        print(f"{mutant.file}:{mutant.line}: {mutant.place} -> {mutant.change}: {reason}")
    unexplained = [outcome.mutant for outcome in alive if outcome.mutant.key not in reasons]
    if unexplained:
        (SCRATCH / "unexplained.toml").write_text("\n".join(map(entry, unexplained)))
    print(_table(outcomes, folders, reasons))
    print(f"{len(alive)} of {len(outcomes)} survived, in {(time.monotonic() - begin) / 60:.0f} minutes")
    return int(bool(unexplained) or len(alive) > SURVIVORS_MAX * len(outcomes))


if __name__ == "__main__":
    sys.exit(main())
