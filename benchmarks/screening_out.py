"""Who is screened out by a plan's checks? `python -m benchmarks.screening_out`.

For gold sets of 2, 3 and 5 documents and each kind of worker: how many are out after 1, 5, 8 and 10
batches, under the defaults (a second batch that is too fast; answers to gold that are surely worse
than a good worker's), and where three failed batches end it. As `campaign check` foretells it;
`tests/collection/test_screening_out.py` holds that against campaigns. Under the defaults the last
column is those who are ever out, of workers who are simulated for 200 batches.

The last table: who passes a test of four sets of five documents, one or all of each with gold, by
sums over all outcomes; `tests/collection/test_qualification.py` holds that against simulation.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks._benchmark import Table, run
from qrowd.collection.plan.pass_rates import FAST, passes_test, passing
from qrowd.collection.plan.toml import parse_plan
from qrowd.quality.against_gold import SURELY, good_p
from qrowd.quality.pass_chances import WORKERS

AFTER = (1, 5, 8, 10)
GOLD = ((0, 1), (0, 1, 2), (0, 1, 1, 2, 2))
PLANS = {
    "defaults": "",
    "after three failures": '[checks.binary]\naction = "screen-out"\n'
    "[checks]\nscreen_out_after = 3\n",
}
TESTS: dict[str, list[tuple[int, ...]]] = {
    "one": [(0,), (1,), (2,), (0,)],
    "all": [(0, 1, 0, 0, 1)] * 4,
}


@dataclass(frozen=True)
class Options:
    """How many workers are simulated, for how many batches."""

    workers: int = 20_000
    batches: int = 200


SHORT = Options(workers=200, batches=20)


def ever(gold: Sequence[int], name: str, options: Options) -> float:
    """How many are ever found to be surely worse, of simulated workers."""
    draw = np.random.default_rng(1)
    worker = next(one for one in WORKERS if one.name == name)
    relevant = sum(grade > 0 for grade in gold)
    other, shape = len(gold) - relevant, (options.workers, options.batches)
    missed = np.cumsum(draw.binomial(relevant, 1 - worker.hit, shape), axis=1)
    alarms = np.cumsum(draw.binomial(other, worker.false_alarm, shape), axis=1)
    n = np.arange(1, options.batches + 1)
    out = good_p(missed, relevant * n, alarms, other * n) <= SURELY
    return float(out.any(axis=1).mean())


def main(options: Options) -> None:
    """Print a table for each plan, and one of tests."""
    for title, more in PLANS.items():
        plan = parse_plan(f'[campaign]\nname = "x"\n{more}')
        columns = [f"out after {n}" for n in AFTER]
        last = [] if more else [f"ever, of {options.batches}"]
        table = Table("gold", "worker", *columns, *last, title=title, optional=last)
        for gold in GOLD:
            for row in passing(plan, [gold]):
                cells = [f"{1 - row.stays[n - 1]:.1%}" for n in AFTER]
                if last:
                    simulated = row.worker != FAST
                    cells.append(f"{ever(gold, row.worker, options):.1%}" if simulated else "-")
                table.row(" ".join(map(str, gold)), row.worker, *cells)
    kinds = [worker for worker in WORKERS if worker.name in ("good", "sloppy", "random")]
    names = [worker.name for worker in kinds]
    table = Table("`gold`", "right at least", *names, title="who passes a test")
    for gold_of, test in TESTS.items():
        plan = parse_plan(
            f'[campaign]\nname = "x"\n[qualification]\nsets = 4\ngold = "{gold_of}"\n'
        )
        number = sum(map(len, test))
        least = math.ceil(plan.qualification.pass_share * number)
        passes = [f"{passes_test(plan, test, worker, ranked=False):.1%}" for worker in kinds]
        table.row(gold_of, f"{least} of {number}", *passes)


if __name__ == "__main__":
    run(main, Options(), SHORT, __doc__)
