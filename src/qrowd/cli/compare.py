"""`qrowd compare`: rankings of systems against a reference's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from qrowd.cli.options import json_option, load_topic_list, output_option, seed_option
from qrowd.cli.output import put, show_json

if TYPE_CHECKING:
    from qrowd.comparison.compare import Comparison
    from qrowd.data.scores import Scores

_TESTS = ("randomisation", "t", "wilcoxon")
_OVER = ("estimate", "reference", "symmetric")


@click.command()
@click.argument("scores", nargs=-1, required=True, metavar="SCORES...")
@click.option("--reference", required=True, metavar="FILE", help="The scores to be near to.")
@click.option("--topics", metavar="FILE", help="Compare on these topics only (one on each line).")
@click.option(
    "--leave-out", metavar="FILE",
    help="Topics not to compare on, such as those that a method was trained on: one on each line, "
    "or the first column of qrels.",
)  # fmt: skip
@click.option("-m", "--measure", "measures", multiple=True, metavar="MEASURE",
              help="Only this measure; may repeat.")  # fmt: skip
@click.option("--bootstrap", type=click.IntRange(min=0), default=1000, show_default=True,
              help="Samples of topics behind the intervals; 0: no intervals.")  # fmt: skip
@click.option("--level", type=float, default=0.95, show_default=True, help="Of the intervals.")
@click.option("--test", type=click.Choice(_TESTS), default="randomisation", show_default=True,
              help="Between estimates, paired over topics.")  # fmt: skip
@click.option("--correction", type=click.Choice(("holm", "none")), default="holm",
              show_default=True, help="For testing all pairs of estimates.")  # fmt: skip
@click.option("--alpha", type=float, default=0.05, show_default=True, help="Of the marks.")
@click.option("--over", type=click.Choice(_OVER), default="estimate", show_default=True,
              help="The ranking that tau_AP walks down.")  # fmt: skip
@click.option("--rank-ties", type=click.Choice(("independent", "together")),
              default="independent", show_default=True,
              help="How tau_AP breaks ties: anew in each ranking, or in both alike.")  # fmt: skip
@click.option("--latex", is_flag=True, help="Print LaTeX.")
@output_option
@json_option
@seed_option
def command(
    scores: tuple[str, ...], reference: str, topics: str | None, leave_out: str | None,
    measures: tuple[str, ...], output: str | None, latex: bool, as_json: bool, rank_ties: str,
    **options: Any,
) -> None:  # fmt: skip
    """Compare rankings of systems with a reference's.

    SCORES are files that `qrowd evaluate -o` wrote; each is named by its file, or as in
    NAME=FILE. Prints, for each measure, Kendall's tau_a and tau_b, tau_AP, rank-biased overlap,
    Spearman's rho, the RMSE of the systems' means and the largest drop in places, with intervals
    over topics; letters mark which estimates are significantly nearer to the reference than which,
    topic by topic. -o writes one row per figure (or LaTeX, to a name that ends in .tex).

    \b
    Examples:
      qrowd compare ds.tsv mv.tsv --reference nist.tsv
      qrowd compare DS=a.tsv AWARE=b.tsv --reference nist.tsv --leave-out train.txt --latex
    """
    from qrowd.comparison.compare import compare
    from qrowd.io.scores import read_scores

    estimates = {name: read_scores(file) for name, file in _named(scores).items()}
    truth = _chosen(read_scores(reference), measures)
    found = compare(
        estimates, truth, topics=load_topic_list(topics), leave_out=load_topic_list(leave_out),
        ties=rank_ties, **options,
    )  # fmt: skip
    _deliver(found, output, latex, as_json)


def _deliver(found: Comparison, output: str | None, latex: bool, as_json: bool) -> None:
    if output and output.endswith(".tex"):
        from qrowd.io.atomic import written

        with written(output) as beside:
            beside.write_text(found.to_latex(), encoding="utf-8")
    elif output:
        put(found, output)
    if as_json:
        show_json(found.to_dict())
    elif latex:
        click.echo(found.to_latex(), nl=False)
    elif not output:
        click.echo(str(found))


def _named(given: tuple[str, ...]) -> dict[str, str]:
    """Names of files: as stated, else the file's own, without folders and suffixes."""
    from pathlib import Path

    from qrowd.errors import UsageError
    from qrowd.io.source import stem

    found: dict[str, str] = {}
    for one in given:
        name, sign, file = one.partition("=")
        if not sign or Path(one).exists():
            name, file = stem(one), one
        if name in found:
            raise UsageError(f"two of the scores are named {name!r}; name them: NAME=FILE")
        found[name] = file
    return found


def _chosen(scores: Scores, measures: tuple[str, ...]) -> Scores:
    from dataclasses import replace

    if not measures:
        return scores
    at = [scores.measures.index(scores.measure(name).measures[0]) for name in measures]
    return replace(scores, measures=measures, values=scores.values[at])
