"""`qrowd next` and `qrowd progress`: what to look at next, and what is decided."""

from __future__ import annotations

from dataclasses import replace
from math import ceil

import click
from click.core import ParameterSource

import qrowd as q
from qrowd.cli import options as opt
from qrowd.cli.output import put, say, say_notes, show_json
from qrowd.data.sample import CONTROL
from qrowd.errors import UsageError
from qrowd.io.save import save_table
from qrowd.rendering import counted

_DEFAULT = ParameterSource.DEFAULT
most = opt.count(
    "--most", 9, "Votes that a pair gets at most; their majority is what the crowd says in the end."
)


@opt.command()
@opt.judgements
@opt.choice(
    "--goal",
    choices=("labels", "systems", "relevant", "errors", "gold"),
    help="What looking should give. labels: votes that change labels for good. systems: judgements "
    "that tell runs apart. relevant: documents that nobody judged and that are likely relevant, by "
    "what is judged and by their places in the runs. errors: answers that are wrong, because the "
    "text and other answers contradict them. gold: pairs whose --gold the merged labels, which are "
    "not given it, contradict.",
)
@opt.pairs
@most
@opt.runs_if_any
@opt.measure("AP", "With --goal systems: AP, P@k, DCG@k or RBP.")
@opt.method(
    "--method",
    help="With --goal systems or gold: the method that merges what is judged so far. Default: mv.",
)
@opt.count(
    "--depth",
    100,
    "With --goal systems or relevant, and without --pairs: choose among the documents that a run "
    "has among its first so many.",
)
@opt.documents
@opt.gold
@opt.choice(
    "--by",
    choices=("pair", "assessor"),
    help="With --goal errors: labels of pairs, or each assessor's answers.",
)
@opt.option(
    "-n",
    "--number",
    type=click.IntRange(1),
    metavar="N",
    help="How many at most; all by default, with --goal systems 100.",
)
@opt.with_default(
    "--uniform",
    type=click.FloatRange(0, 1),
    default=0.0,
    metavar="SHARE",
    help="This share of the list is drawn uniformly from all pairs of the pool, whatever was said "
    "so far: from it scores can be estimated (`qrowd evaluate --worklist`); a tenth or more.",
)
@opt.with_default(
    "--gold-error",
    type=click.FloatRange(0, 0.5, min_open=True, max_open=True),
    default=0.05,
    metavar="SHARE",
    help="With --goal gold: the share of gold that is thought to be wrong.",
)
@opt.count(
    "--control",
    0,
    "With --goal gold: so many pairs more on which gold and merged labels agree, drawn at random.",
    least=0,
)
@opt.output_file(
    "--blind",
    help="With --goal gold: also write the pairs alone, in random order, for somebody who must "
    "not know what was said of them.",
)
@opt.seed
@opt.output
@opt.as_json
@opt.quiet
def command(
    files: opt.JudgementFiles,
    goal: str,
    pairs: str | None,
    most: int,
    runs: opt.RunFiles,
    measure: str,
    method: str | None,
    depth: int,
    documents: opt.DocumentFiles,
    gold: opt.GoldFile,
    by: str,
    number: int | None,
    uniform: float,
    gold_error: float,
    control: int,
    blind: str | None,
    seed: int,
    output: str | None,
    as_json: bool,
) -> None:
    """List what to look at next, the most worthwhile first.

    Writes `topic doc [assessor] reason worth p_wrong probability goal`. `worth` is what a look is
    expected to give: labels that a vote sets right, as this crowd would see it at --most votes;
    a share of what is still open between runs; relevant documents; or errors found. `p_wrong` is
    the probability that what is said now is wrong, empty where nothing tells it. `probability` is
    the chance of having been drawn, empty where nothing was drawn at random. Only rows whose `goal`
    is uniform, which come first, are a sample to estimate scores from: keep the lists.

    \b
    Examples:
      qrowd next crowd.tsv -n 100 -o next.tsv
      qrowd next crowd.tsv --goal systems --runs 'runs/*' -m AP -n 20 --uniform 0.2 -o next.tsv
      qrowd next crowd.tsv --goal errors --documents docs.jsonl -n 100 -o todo.tsv
      qrowd next crowd.tsv --goal errors --documents docs.jsonl --by assessor -o answers.tsv
      qrowd next crowd.tsv --goal gold --gold nist.qrels --control 20 --blind todo.tsv -o list.tsv
    """
    if goal != "errors" and documents:
        raise UsageError(f"--documents are for --goal errors, not for {goal}")
    if goal not in ("errors", "gold") and gold.path:
        raise UsageError(f"--gold is for --goal errors or gold, not for {goal}")
    if goal == "gold" and not gold.path:
        raise UsageError("--goal gold needs --gold, the qrels that are to be judged again")
    if goal != "gold" and (control or blind):
        raise UsageError(f"--control and --blind are for --goal gold, not for {goal}")
    if goal in ("systems", "relevant") and not runs:
        raise UsageError(f"--goal {goal} needs --runs")
    if goal == "labels" and runs:
        raise UsageError("--goal labels reads no --runs; --goal systems does")
    if uniform and goal in ("errors", "gold"):
        raise UsageError(f"--uniform is for --goal labels, systems or relevant, not for {goal}")
    if goal == "systems":
        number = number or 100
    if uniform and not number:
        raise UsageError("--uniform is a share of how many pairs? Say -n")
    if uniform == 1:
        raise UsageError("all of the list would be drawn uniformly: that is `qrowd sample`")
    drawn = min(ceil(uniform * number - 1e-9), number - 1) if number else 0
    number = number - drawn if number else None
    crowd = files.read()
    if pairs:
        crowd = crowd.with_pool(q.read_pairs(pairs))
    if goal == "labels":
        todo = q.undecided(crowd, most=most, number=number, seed=seed)
    elif goal in ("systems", "relevant"):
        systems = runs.read()
        crowd = crowd if pairs else crowd.with_pool(systems.pool(depth))
        couples = q.couples(crowd, systems, q.get(method or "mv").fit(crowd), measure)
        if goal == "systems":
            assert number is not None
            todo = couples.worklist(number, seed, even=max(0.1 - uniform, 0.0))
        else:
            todo = couples.likely(number)
    elif goal == "gold":
        todo = _contested(crowd, gold, method or "mv", files.rel, number, control, gold_error, seed)
    else:
        todo = _errors(crowd, documents, gold.read(files.rel), runs, by, number)
    if drawn:
        todo = todo.with_uniform(crowd, drawn, uniform, seed)
    if output or not as_json:
        put(todo, output)
    if as_json:
        show_json({"notes": todo.notes, "rows": todo.to_polars().to_dicts()})
    if blind:
        save_table(todo.blind(seed), blind)
    say_notes(todo.notes)
    first = min(100, int((todo.goal != CONTROL).sum()))
    if goal == "labels":
        say(f"a vote on each of the first {first} sets about {todo.worth[:first].sum():.1f} right")
    elif goal == "errors" and first:
        wrong = todo.p_wrong[:first].sum()
        shown = f"{wrong:.0f}" if wrong >= 10 else f"{wrong:.1f}"
        say(f"of the first {first} about {shown} are wrong, if the model is right")
    elif goal == "gold" and first:
        wrong = todo.p_wrong[:first].sum()
        say(
            f"of the gold of the first {first} about {wrong:.0f} are wrong, if {gold_error:g} of "
            "all gold is"
        )


def _contested(
    crowd: q.Judgements,
    gold: opt.GoldFile,
    method: str,
    rel: int | None,
    number: int | None,
    control: int,
    gold_error: float,
    seed: int,
) -> q.Worklist:
    """What contradicts gold as it counts by --gold-rel; the hash is of the file's own grades."""
    view = gold.read(rel)
    assert view is not None
    assert gold.path is not None
    todo = q.contested(
        crowd,
        view,
        q.get(method),
        number=number,
        control=control,
        gold_error=gold_error,
        seed=seed,
    )
    return replace(todo, gold_hash=q.gold_hash(opt.read_qrels(gold.path)))


def _errors(
    crowd: q.Judgements,
    documents: opt.DocumentFiles,
    gold: q.Qrels | None,
    runs: opt.RunFiles,
    by: str,
    number: int | None,
) -> q.Worklist:
    if not documents:
        raise UsageError("--goal errors reads the documents: name them with --documents")
    texts = documents.read(crowd, gold)
    assert texts is not None
    if len(texts.judgements.scale) != 2:
        grades = " ".join(map(str, texts.judgements.scale.grades))
        raise UsageError(f"next compares two grades, got {grades}; say --rel GRADE")
    return q.contradictions(
        texts.judgements,
        texts.documents,
        q.Joint(),
        by=by,
        gold=texts.gold,
        runs=runs.read_if_any(),
        number=number,
    )


@opt.command()
@opt.judgements
@opt.pairs
@most
@opt.with_default(
    "--risk",
    type=float,
    default=0.1,
    metavar="P",
    help="A pair is decided where its label changes with at most this probability.",
)
@opt.runs_if_any
@opt.measure("AP", "With --runs: by which measure two runs are compared: AP, P@k, DCG@k or RBP.")
@opt.count(
    "--depth",
    100,
    "With --runs, and without --pairs: couples of runs are decided over the documents that a run "
    "has among its first so many, judged or not.",
)
@opt.gold
@opt.option(
    "--sampled",
    type=click.Choice(("random",)),
    help="Say that the pairs of --gold were drawn at random before anybody looked at the votes, "
    "where the file (of `qrowd sample`) does not say it itself.",
)
@opt.level
@opt.output
@opt.as_json
@opt.quiet
def progress(
    files: opt.JudgementFiles,
    pairs: str | None,
    most: int,
    risk: float,
    runs: opt.RunFiles,
    measure: str,
    depth: int,
    gold: opt.GoldFile,
    sampled: str | None,
    level: float,
    output: str | None,
    as_json: bool,
) -> None:
    """Say which labels are decided, and which votes would change.

    Writes `topic doc votes label state p_change`. `p_change` is the probability that the label at
    --most votes of this crowd differs from the one now; it needs no gold, and says nothing of what
    is true. decided: that is at most --risk. stuck: --most votes are there, and the crowd is still
    divided; ask an expert. With --gold, drawn at random and voted on like all other pairs, also
    `p_wrong`, how many labels are wrong, and how many would be at --most votes. With --runs also
    of how many couples of runs it is decided which one is better, under majority votes; documents
    that nobody judged are as likely relevant as the judged ones and the runs say.

    \b
    Examples:
      qrowd progress crowd.tsv --most 9 --risk 0.2 -o state.tsv
      qrowd progress crowd.tsv --gold nist.qrels --sampled random -o state.tsv
    """
    context = click.get_current_context()
    if not runs and context.get_parameter_source("measure") is not _DEFAULT:
        raise UsageError("-m is a measure of --runs, and there are none")
    if context.get_parameter_source("depth") is not _DEFAULT and (pairs or not runs):
        raise UsageError("--depth is about --runs without --pairs")
    crowd = files.read()
    if pairs:
        crowd = crowd.with_pool(q.read_pairs(pairs))
    sample: q.Sample | None = None
    if gold.path:
        human = opt.read_human(gold.path, files.rel if gold.rel is None else gold.rel)
        if isinstance(human, q.Qrels):
            if not sampled:
                raise UsageError(
                    f"{gold.path} does not say how its pairs were chosen, and only pairs drawn at "
                    "random tell how many labels are wrong; if these were, say --sampled random"
                )
            human = q.sample_of(human, crowd.pairs, sampled)
        sample = human
    state = q.decisions(crowd, most=most, risk=risk, gold=sample, level=level)
    if output or not as_json:
        put(state, output)
    counts, notes = state.counts, list(state.notes)
    if runs:
        # without what nobody judged, nearly all couples would seem decided
        systems = runs.read()
        pool = crowd if pairs else crowd.with_pool(systems.pool(depth))
        notes.append(q.couples(pool, systems, q.MajorityVote().fit(pool), measure).summary)
    if as_json:
        told = {"counts": counts, "notes": notes, "rows": state.to_polars().to_dicts()}
        if state.wrong:
            told["wrong"] = {
                name: getattr(state.wrong, name) for name in ("mean", "low", "high", "at_most")
            }
        show_json(told)
    listed = ", ".join(f"{n} {name}" for name, n in counts.items())
    say(f"{counted(len(state), 'label')} at risk {risk:g} and at most {most} votes: {listed}")
    say_notes(notes)
