"""`qrowd demo`: the whole way on data that it makes."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

import click

from qrowd.cli.options import quiet_option, seed_option
from qrowd.cli.output import say

if TYPE_CHECKING:
    from pathlib import Path

    from qrowd.reporting.parts import Section

METHODS = ("mv", "wmv-iter", "one-coin", "glad", "ds", "hier-bayes")
MEASURES = ("AP", "nDCG@20")
DRAWS = 1000


@click.command
@click.option(
    "-o",
    "--output",
    "folder",
    metavar="FOLDER",
    default="demo",
    show_default=True,
    help="Output folder; created if needed.",
)
@seed_option
@quiet_option
def command(folder: str, seed: int, quiet: bool) -> None:
    """Run everything on a simulated collection and write a report.

    Simulates a small collection judged by good, sloppy, biased and spamming assessors, merges the
    judgements with several methods, scores the systems, compares with gold, lets robots do a small
    campaign (where the extra `serve` is installed), and writes a one-page report. The last line
    printed is its path.

    \b
    Examples:
      qrowd demo
      qrowd demo -o tryout --seed 7
    """
    from dataclasses import replace
    from pathlib import Path

    from qrowd.cli.simulate import save_collection
    from qrowd.io.save import save
    from qrowd.reporting.report import report
    from qrowd.reporting.study import study
    from qrowd.simulation.collection import simulate

    made = simulate("demo", seed=seed)
    say(f"simulated {made.judgements!r}", quiet)
    save_collection(made, Path(folder))
    say(f"merging by {', '.join(METHODS)}; scoring {len(made.runs)} systems", quiet)
    done = study(
        made.judgements,
        made.runs,
        made.gold,
        methods=METHODS,
        measures=MEASURES,
        draws=DRAWS,
        seed=seed,
    )
    done = replace(done, known=made.assessors)
    sections = _campaign(Path(folder), seed, quiet)
    page = Path(folder) / "report.html"
    options = " ".join([*(f"--method {name}" for name in METHODS), f"--seed {seed}"])
    files = "--gold gold.qrels --runs runs -o report.html"
    again = [
        f"qrowd simulate --preset demo --seed {seed} -o .",
        f"qrowd report --judgements crowd.tsv.gz {files} {options}",
    ]
    save(report(done, *sections, title="A simulated crowd, merged", commands=again), page)
    click.echo(page)


def _campaign(folder: Path, seed: int, quiet: bool) -> list[Section]:
    """What robots did in a small campaign, where campaigns can run."""
    if find_spec("fastapi") is None or find_spec("sqlalchemy") is None:
        say("no campaign: pip install 'qrowd[serve]' to see one", quiet)
        return []
    from qrowd.web.robots.demo import demo_campaign

    say("robots judge a small campaign, from qualification to qrels", quiet)
    return [demo_campaign(folder, seed)]
