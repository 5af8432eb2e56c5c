"""`qrowd aware METHOD`: scores of runs under many assessors into one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

import qrowd as q
from qrowd.cli import options as opt
from qrowd.cli.evaluate import deliver_scores
from qrowd.cli.method_commands import MethodGroup
from qrowd.cli.output import deliver, put, say, say_notes
from qrowd.errors import InputError
from qrowd.registry import Card

SHARED = (
    opt.judgements,
    opt.runs,
    opt.measures("AP, nDCG@20, ... (see `qrowd measures`). Repeatable. Default: AP."),
    opt.gold,
    opt.option(
        "--train-topics",
        metavar="FILE|TOPICS|SHARE",
        help="Topics to learn from gold on: a file with one topic per line, topics separated by "
        "commas, or a random share such as 0.3. Default: every topic that has gold.",
    ),
    opt.count(
        "--replicates", 100, "Number of random assessors of each kind, for aware-u.", most=10_000
    ),
    opt.output_file("--assessors", help="Write the weight of each assessor."),
    opt.switch(
        "--intervals",
        help="Intervals of scores and places: topics and assessors drawn anew, weights relearned.",
    ),
    opt.level,
    opt.seed,
    opt.output,
    opt.as_json,
    opt.quiet,
)


def _words(card: Card) -> tuple[str, str]:
    gold = " --gold some.qrels --train-topics 0.3" if "reference" in card.needs else ""
    needs = "Needs --gold. " if gold else ""
    source = f"{needs}After {card.paper}; the model: `qrowd methods {card.id}`."
    example = f"qrowd aware {card.id} crowd.tsv --runs 'runs/*.gz'{gold} -o scores.tsv"
    return source, example


def _aware(
    method: Any,
    *,
    files: opt.JudgementFiles,
    runs: opt.RunFiles,
    measures: tuple[str, ...],
    gold: opt.GoldFile,
    train_topics: str | None,
    replicates: int,
    assessors: str | None,
    intervals: bool,
    level: float,
    seed: int,
    output: str | None,
    as_json: bool,
) -> None:
    """Read what the options name, merge the scores, write."""
    from qrowd.aggregation.aware import aware, check_gold

    check_gold(method.card, gold.path is not None)
    crowd = files.read()
    systems = runs.read()
    trusted = gold.read(files.rel)
    if trusted is not None:
        trusted = trusted[_training(train_topics, trusted.topics.intersection(crowd.topics), seed)]
    done = aware(
        method, systems, crowd, measures or ("AP",), gold=trusted, replicates=replicates, seed=seed
    )
    if done.training is not None:
        say(
            f"learned on {len(done.training)} topics ({', '.join(list(done.training)[:10])}"
            f"{', ...' if len(done.training) > 10 else ''}): compare on the others, "
            "qrowd compare --leave-out"
        )
    if assessors:
        put(done.weights(), assessors)
    if intervals:
        draws = done.resampled(seed=seed)
        drawn = "samples of topics and assessors"
        deliver(q.intervals(draws, level=level, seed=seed, drawn=drawn), output, as_json)
    else:
        deliver_scores(done.merged, output, as_json)
    if not as_json:
        say_notes(done.merged.notes)


@click.group(
    cls=MethodGroup,
    level="scores",
    shared=SHARED,
    act=_aware,
    words=_words,
    old={"--judgements": ""},
    subcommand_metavar="METHOD JUDGEMENTS... --runs FILES [OPTIONS]",
)
def command() -> None:
    """Merge scores under each assessor, not labels (AWARE).

    METHOD is one of the methods below, with parameters if you like: "aware-u(gap='tau')". The
    thesis's names (sup_apc, sgl_fro_msd) work too. For a method's options, see `qrowd aware aware-s
    --help`.

    \b
    Examples:
      qrowd aware aware-uni crowd.tsv --runs 'runs/*.gz' -m AP -m nDCG@20
      qrowd aware aware-s crowd.tsv --runs 'runs/*.gz' --gold some.qrels --gap apc \\
        --train-topics train.txt -o scores.tsv --assessors weights.tsv
    """


def _training(stated: str | None, topics: q.Index, seed: int) -> q.Index:
    """Some of the `topics`: those of a file, those listed, or a share of them at random."""
    from qrowd.io.topics import read_topic_list

    if not len(topics):
        raise InputError("gold and judgements have no topic in common; do topic names match?")
    if stated is None:
        return topics
    if "." in stated and stated.replace(".", "", 1).isdigit():
        return topics.split(float(stated), seed)[0]
    listed = read_topic_list(stated) if Path(stated).is_file() else q.Index.of(stated.split(","))
    missing = listed.without(topics)
    if len(missing):
        raise InputError(
            f"training topics without gold or judgements: {', '.join(missing)}; "
            f"gold has {', '.join(list(topics)[:10])}"
        )
    return listed
