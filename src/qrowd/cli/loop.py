"""`qrowd loop`: crowdsourcing vote by vote."""

from __future__ import annotations

from dataclasses import replace

import click

import qrowd as q
from qrowd.cli import options as opt
from qrowd.cli.output import iterations, put, save_pictures, say_notes, show, show_json
from qrowd.errors import UsageError


@opt.command(old={"--methods": "--method"})
@opt.judgements
@opt.leave_out
@opt.gold
@opt.documents
@opt.method(
    "--method",
    "methods",
    multiple=True,
    help="A method, or several with commas between: mv,'mev(votes=2)'. Repeatable. Default: mv "
    "and ds; with documents mv, mvnn, mev and gp.",
)
@opt.repeated(
    "--sweep",
    "sweeps",
    metavar="METHOD.PARAMETER=VALUES",
    help="Also a method with each of these values of a parameter, as in "
    "mvnn.similarity=0.1,0.5,0.9; may repeat.",
)
@opt.count("--votes", 5, "Votes per document at the end.")
@opt.count(
    "--randomisations", 50, "How often all of it is done again, all methods on the same draws."
)
@opt.option(
    "--every",
    type=click.IntRange(min=1),
    metavar="K",
    help="Score after each K votes on a topic. Default: 1 or, where a method must be "
    "fitted anew, a tenth of the documents.",
)
@opt.choice(
    "--ties",
    choices=("expected", "coin", "prevalence"),
    help="A label that is tied counts as half right, is decided by a "
    "fair coin, or by a coin with the share of relevant votes so far.",
)
@opt.choice(
    "--request",
    choices=("resample", "once", "simulated"),
    help="A vote is one of the document's real votes, drawn with replacement; or each of them at "
    "most once; or that of a simulated assessor who errs as somebody of the crowd does on gold.",
)
@opt.repeated(
    "--pick",
    "picks",
    type=click.Choice(("even", "margin", "systems")),
    help="Which document is next: one of those with the fewest votes, the one whose label a "
    "vote likely changes for good, or one that tells --runs apart (`qrowd next`). May repeat, to "
    "compare.  [default: even]",
)
@opt.count("--most", 9, "Votes that a document gets at most, with --pick margin or systems.")
@opt.runs_if_any
@opt.measure("AP", "With --runs: by which measure runs are ordered: AP, P@k, DCG@k or RBP.")
@opt.count(
    "--at-least", 1, "Leave out topics where a judged document has fewer real votes.", metavar="N"
)
@opt.option(
    "--near",
    type=click.FloatRange(0, 1, min_open=True),
    metavar="COSINE",
    help="Leave out near-duplicates: of documents of a topic with this cosine or more, "
    "keep one (one with gold, if any). Default: keep all.",
)
@opt.with_default(
    "--at",
    type=float,
    default=1.0,
    metavar="VOTES",
    help="Votes per document of the table of topics.",
)
@opt.output_file(
    "--table",
    help="Write the table of topics: accuracy at --at votes per document; "
    "* better than the first method, # than all others (Wilcoxon, .05).",
)
@opt.level
@opt.seed
@opt.output
@opt.figures("Draw the curves, and a picture of each sweep.")
@opt.as_json
@opt.quiet
def command(
    files: opt.JudgementFiles,
    gold: opt.GoldFile,
    documents: opt.DocumentFiles,
    leave_out: str | None,
    methods: tuple[str, ...],
    sweeps: tuple[str, ...],
    votes: int,
    randomisations: int,
    every: int | None,
    ties: str,
    request: str,
    picks: tuple[str, ...],
    most: int,
    runs: opt.RunFiles,
    measure: str,
    at_least: int,
    near: float | None,
    at: float,
    table: str | None,
    level: float,
    seed: int,
    output: str | None,
    figures: str | None,
    as_json: bool,
) -> None:
    """Ask for votes one by one, merge after each, and score.

    At each step one of the documents with the fewest votes is picked at random, one vote on it is
    drawn, all votes so far are merged by each method, and the labels of the documents with gold
    are scored. -o writes `method topic votes accuracy low high`: the topic `all` is the mean of
    topics, `votes` is per document; the interval of a topic is over randomisations, that of `all`
    over topics. --json also has gold less the majority vote of all real votes, for each topic.
    With --runs also `tau_ap`: how far the order of runs is the one under all labels.

    \b
    Examples:
      qrowd loop crowd.tsv --gold nist.qrels --method mv,ds --votes 2 --randomisations 3 -o c.tsv
      qrowd loop crowd.tsv --gold nist.qrels --documents docs.jsonl --votes 2 --randomisations 5 \\
          --sweep mvnn.similarity=0.1,0.5 --table topics.tsv
      qrowd loop crowd.tsv --gold nist.qrels --method mv --pick even --pick margin --votes 2
      qrowd loop crowd.tsv --gold nist.qrels --method mv --pick even --pick systems \\
          --runs 'runs/*.gz' -m AP --votes 1 --randomisations 3
    """
    from qrowd.budget.loop import specs_of, swept

    if gold.path is None:
        raise UsageError("labels are scored against gold: --gold FILE")
    if "systems" in picks and not runs:
        raise UsageError("--pick systems needs --runs")
    crowd = files.read()
    truth = gold.read(files.rel)
    assert truth is not None
    if leave_out:
        crowd = crowd[opt.kept_topics(crowd.topics, None, leave_out)]
    texts = documents.read(crowd)
    crowd = texts.judgements if texts else crowd
    specs = specs_of(",".join(methods) or ("mv,mvnn,mev,gp" if texts else "mv,ds"))
    by_sweep: dict[str, list[str]] = {}
    for sweep in sweeps:
        by_sweep |= swept(sweep)
    specs += [spec for group in by_sweep.values() for spec in group]
    loop = q.Loop(
        votes=votes,
        randomisations=randomisations,
        every=every,
        ties=ties,
        request=request,
        picks=picks or ("even",),
        most=most,
        at_least=at_least,
        near=near,
        seed=seed,
    )
    with iterations("loop") as progress:
        curves = q.vote_by_vote(
            crowd,
            truth,
            list(dict.fromkeys(specs)),
            documents=texts.documents if texts else None,
            runs=runs.read_if_any(),
            measure=measure,
            loop=loop,
            progress=progress,
        )
    curves = replace(curves, level=level)
    say_notes(curves.notes)
    if table:
        show(curves.table(at), table)
    if figures:
        from qrowd.reporting.paper_figures import loop_figures  # imports matplotlib

        save_pictures(loop_figures(curves, by_sweep), figures)
    gaps = q.gold_minus_majority(crowd, truth)
    if output:
        put(curves, output)
    if as_json:
        show_json(
            {
                "methods": curves.methods,
                "topics": list(curves.topics),
                "summary": curves.summary(),
                "gold_minus_mv": gaps,
                "notes": curves.notes,
            }
        )
    elif not output:
        show(curves.summary())
