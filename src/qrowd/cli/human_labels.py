"""`qrowd sample` and `qrowd judges`: a few human labels beside those of machine judges."""

from __future__ import annotations

from dataclasses import asdict

import click

import qrowd as q
from qrowd.cli import options as opt
from qrowd.cli.output import put, say, say_notes, show, show_json
from qrowd.errors import UsageError
from qrowd.rendering import counted, table_of


@opt.command(old={"--pairs": "--number"})
@opt.judgements
@opt.runs_if_any
@opt.option(
    "-n",
    "--number",
    type=click.IntRange(1),
    required=True,
    metavar="N",
    help="How many pairs to choose.",
)
@opt.choice(
    "--by",
    choices=("random", "weight", "uncertainty", "topic"),
    help="What makes a pair likelier to be chosen: nothing, how much the scores of the "
    "runs depend on it, how uncertain votes are; or choose whole topics.",
)
@opt.measures("Measures whose scores --by weight is for: P, DCG, RBP, AP, nDCG.  [default: P@10]")
@opt.seed
@opt.output
@opt.as_json
@opt.quiet
def sample(
    files: opt.JudgementFiles,
    runs: opt.RunFiles,
    number: int,
    by: str,
    measures: tuple[str, ...],
    seed: int,
    output: str | None,
    as_json: bool,
) -> None:
    """Choose pairs for a human to judge.

    Writes `topic doc probability by`, where the probability is that of being chosen. Add a column
    `grade` with the human's answers, and `qrowd evaluate --human FILE` scores runs
    with both kinds of labels. The probabilities are what makes the scores right, so keep all rows.

    \b
    Examples:
      qrowd sample llm.tsv -n 60 --by weight --runs 'runs/*.gz' -o todo.tsv
      qrowd sample llm.tsv -n 60 --by weight -m AP -m nDCG@10 --runs 'runs/*.gz' -o todo.tsv
      qrowd sample llm.tsv -n 60 --by topic -o todo.tsv
    """
    if by == "weight" and not runs:
        raise UsageError("--by weight needs --runs")
    crowd = files.read()
    chosen = q.sample(
        crowd, number, by, runs=runs.read_if_any(), measure=measures or "P@10", seed=seed
    )
    if output or not as_json:
        put(chosen, output)
    if as_json:
        show_json(chosen.to_polars().to_dicts())
    topics = len(chosen.pairs.topics)
    if crowd.choice is not None:
        say_notes(crowd.choice.caution("a sample of these pairs"))
    say(f"{len(chosen)} of {len(crowd.pairs)} pairs in {topics} topics, by {by}")


@opt.command()
@opt.judgements_if_any
@opt.input_file(
    "--probes",
    help="What judges said of made-up documents that try to talk them into a grade: the file of "
    "`qrowd ask --probe`. Without JUDGEMENTS.",
)
@opt.option(
    "--against",
    metavar="JUDGE",
    help="Show how much more each judge agrees with the human labels than this one, and with "
    "--runs how much nearer its order of systems is, with intervals over topics.",
)
@opt.input_file(
    "--human",
    help="Human labels of some pairs: qrels, or the file of `qrowd sample` with a grade "
    "added to each row.  [default: what experts among the JUDGEMENTS say]",
)
@opt.gold_rel
@opt.runs_if_any
@opt.input_file(
    "--families",
    help="With --runs: which run is whose. A table with run and group, where a group is the name "
    "of a judge, or a pattern of names such as gpt*.",
)
@opt.measure("nDCG@10", "The measure by which runs are ranked.")
@opt.level
@opt.output
@opt.as_json
@opt.quiet
def judges(
    files: opt.JudgementFiles,
    probes: str | None,
    against: str | None,
    human: str | None,
    gold_rel: int | None,
    runs: opt.RunFiles,
    families: str | None,
    measure: str,
    level: float,
    output: str | None,
    as_json: bool,
) -> None:
    """Compare machine judges with a few human labels.

    Where JUDGEMENTS say who is a machine (column kind, or --machines), only machines are compared.

    One line per judge, the best first. Columns: pairs judged, rate of relevant answers, pairs with
    a human label, Cohen's kappa and its interval over topics, sensitivity, specificity, bias of the
    rate, group of judges who err alike (0: alone), and with --runs tau_AP of the systems' order
    with that under recalibrated labels. With --families, how much more often a judge calls relevant
    what its own family's runs have among their first ten than what others have, of the same human
    label. A prompt that was chosen on these human labels looks better on them than it is: keep some
    apart.

    With --probes, one line per judge and kind of made document: how often it was called relevant,
    how often plain texts of other topics were, the difference with its 95 % interval, and whether
    the judge falls for it (surely more often, by .05). Of the same text again, and doubled, mean
    grades; it falls for `again` if it surely gives the same text another grade in more than a fifth
    of cases. Of two texts (`position`), how often the one shown first and the one shown last was
    preferred.

    \b
    Examples:
      qrowd judges llm.tsv --human few.qrels
      qrowd judges llm.tsv --human few.qrels --runs 'runs/*.gz' -o judges.tsv
      qrowd judges all.tsv --machines 'gpt*' --human few.qrels
      qrowd judges llm.tsv --human few.qrels --against a01
      qrowd judges llm.tsv --human few.qrels --runs runs --families families.tsv
      qrowd judges --probes probes.json
    """
    if probes:
        if files.paths or human or runs or families:
            raise UsageError("--probes stands alone: without JUDGEMENTS, --human and --runs")
        from qrowd.asking.probes import read_probes

        found = read_probes(probes)
        show(table_of([asdict(probe) for probe in found.probes]), output, as_json)
        for name in found.judges:
            say(f"{name} falls for: {', '.join(found.falls(name)) or 'none of them'}")
        return
    if not files.paths:
        raise UsageError("give JUDGEMENTS, or --probes")
    crowd = files.read()
    cut = files.rel if gold_rel is None else gold_rel
    labels = opt.read_human(human, cut) if human else None
    table = q.judges(
        crowd,
        labels,
        runs.read_if_any(),
        measure=measure,
        level=level,
        against=against,
        families=q.read_groups(families) if families else None,
    )
    if labels is None:
        say(f"human labels: those of {counted(crowd.kind_counts['expert'], 'expert')}")
    models = [str(name).rpartition("/")[0] for name in table.assessors if "/" in str(name)]
    if against or len(set(models)) < len(models):  # a choice among prompts may follow, or has
        say_notes(
            ["a judge or prompt that was chosen on these labels looks better on them than it is"]
        )
    if families:
        for judge in table.assessors.names[table["own_low"] > 0]:
            say(f"{judge} surely favours what runs of its own family have on top")
    others = len(crowd.assessors) - len(table)
    if others:
        say(f"left out, not known to be a machine: {counted(others, 'assessor')}")
    columns = table.listed("kappa", descending=True)
    show({name: column.tolist() for name, column in columns.items()}, output, as_json)
