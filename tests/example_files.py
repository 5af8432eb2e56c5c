"""The files that examples of commands name, and what an example needs to run."""

from __future__ import annotations

import importlib.util
import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import qrowd as q
from qrowd.cli.main import main

ROOT = Path(__file__).parents[1]
NEED_PICTURES = ("qrowd demo", "qrowd report", "--figures", "qrowd experiment plot")
GRID = """[experiment]
name = "grid"
[data]
judgements = "crowd.tsv"
gold = "gold.qrels"
[runs]
all = "runs"
[grid]
approaches = ["mv", "aware-uni"]
statistics = ["tau_ap", "rmse"]
[panels]
sizes = [2, 3]
[topics]
half = [["t01", "t02"], ["t03", "t04"]]
"""

EXPORT = """[{"id": 1, "data": {"topic": "TOPIC", "doc": "DOC"}, "annotations": [
  {"completed_by": 2, "result": [{"from_name": "rel", "to_name": "text", "type": "choices",
                                  "value": {"choices": ["1"]}}]},
  {"completed_by": 3, "result": [{"from_name": "rel", "to_name": "text", "type": "choices",
                                  "value": {"choices": ["0"]}}]}]}]"""


def _save_orders(folder: Path, topics: list[str]) -> None:
    """Rankings and preferences of the same topics, and the topics themselves."""
    made = q.simulate(topics=5, documents=30, orders=True, seed=1)
    assert made.orders is not None
    q.save(made.orders, folder / "orders.tsv")
    rows = made.orders.to_polars()
    firsts, seconds = (rows.filter(rows["place"] == place).rows(named=True) for place in (1, 2))
    lower = {(row["topic"], row["set"], row["assessor"]): row["doc"] for row in seconds}
    lines = [
        "\t".join([one["topic"], one["doc"], lower[key], one["assessor"]])
        for one in firsts
        if (key := (one["topic"], one["set"], one["assessor"])) in lower
    ]
    header = "topic\tbetter\tworse\tassessor"
    (folder / "preferences.tsv").write_text("\n".join([header, *lines]) + "\n")
    q.save(q.Topics.of({topic: f"what is {topic}" for topic in topics}), folder / "topics.xml")


def _texts(names: q.Index) -> q.Documents:
    """A few words for each document."""
    words = np.random.default_rng(0).choice(
        ["apple", "pear", "plum", "fig", "lime", "kiwi"], (len(names), 5)
    )
    return q.Documents.of({d: " ".join(w) for d, w in zip(names, words, strict=True)})


def _save_few_labels(folder: Path, crowd: q.Judgements, gold: q.Qrels) -> None:
    """Machine labels, and the labels of a human on pairs that were sampled by weight; a list of
    pairs that tell runs apart.
    """
    systems = ["--goal", "systems", "--method", "ds", "--runs", str(folder / "runs"), "-q"]
    drawn = ["-n", "20", "--uniform", "0.5", "-o", str(folder / "next.tsv")]
    main(["next", str(folder / "crowd.tsv"), *systems, *drawn])
    q.save(crowd, folder / "llm.tsv")
    machine = pl.col("assessor").str.replace("^[aw]0*1", "gpt-1")  # some of them, by their names
    crowd.to_polars().with_columns(machine).write_csv(folder / "all.tsv", separator="\t")
    main(
        [
            "sample",
            str(folder / "llm.tsv"),
            "-n",
            "60",
            "--by",
            "weight",
            "--runs",
            str(folder / "runs"),
            "-o",
            str(folder / "few.tsv"),
        ]
    )
    chosen = pl.read_csv(folder / "few.tsv", separator="\t", infer_schema=False)
    graded = chosen.join(gold.to_polars(), on=["topic", "doc"], how="left")
    graded.write_csv(folder / "few.tsv", separator="\t")
    q.save(gold.select(np.arange(len(gold)) % 2 == 0), folder / "few.qrels")
    (folder / "families.tsv").write_text("run\tgroup\nrun01\ta*\nrun02\ta0*\n")
    probe = {"judge": "m/graded", "at": 0, "topic": "t01", "grade": 0, "relevant": False}
    rows = [{**probe, "kind": kind} for kind in ("plain", "query", "order")]
    (folder / "probes.json").write_text(json.dumps({"form": "qrowd probes", "rows": rows}))


def _save_decisions(folder: Path) -> None:
    """Gold that the crowd contradicts, what somebody decided of it, and the gold of that."""
    wanted = ["--goal", "gold", "--gold", str(folder / "nist.qrels"), "--control", "3", "-q"]
    main(["next", str(folder / "crowd.tsv"), *wanted, "-o", str(folder / "contested.tsv")])
    listed = pl.read_csv(folder / "contested.tsv", separator="\t", infer_schema=False)
    decided = listed.with_columns(grade=pl.lit("1"))
    decided.write_csv(folder / "decisions.tsv", separator="\t")
    files = [str(folder / name) for name in ("decisions.tsv", "nist.qrels")]
    main(["adjudicate", "apply", *files, "-q", "-o", str(folder / "adjudicated.qrels")])


def save_example_files(folder: Path) -> None:
    """All of them, into a folder."""
    main(["simulate", "-q", "-o", str(folder), "--topics", "5", "--documents", "30", "--runs", "4"])
    gold, crowd = q.read_qrels(folder / "gold.qrels"), q.read_judgements(folder / "crowd.tsv.gz")
    train, _ = gold.topics.split(0.4, seed=1)
    for name in ("nist.qrels", "g.qrels"):
        q.save(gold, folder / name)
    q.save(gold[train], folder / "some.qrels")
    (folder / "train.txt").write_text("\n".join(train) + "\n")
    q.save(crowd, folder / "crowd.tsv")
    first = next(iter(crowd.assessors))
    (folder / "people.tsv").write_text(f"assessor\tkind\n{first}\tmachine\nnobody\tperson\n")
    invited = "person\temail\tname\tlanguage\ncat\tcat@example.org\tCat Ö.\tde\n"
    (folder / "invited.tsv").write_text(invited)
    q.save(_texts(crowd.pairs.documents), folder / "docs.jsonl")
    votes = crowd.to_polars().rename({"doc": "url", "assessor": "who", "grade": "stars"})
    votes.write_csv(folder / "votes.csv")
    named = EXPORT.replace("TOPIC", crowd[0].topic).replace("DOC", crowd[0].doc)
    (folder / "export.json").write_text(named)
    merged = q.DawidSkene().fit(crowd)
    q.save(merged, folder / "merged.tsv")
    q.save(merged.qrels(), folder / "merged.qrels")
    runs = q.read_runs(folder / "runs")
    under = {"nist": gold, "scores": gold, "ds": merged.qrels(), "a": merged.qrels()}
    under |= dict.fromkeys(("mv", "b"), q.MajorityVote().fit(crowd).qrels())
    for name, qrels in under.items():
        q.save(q.evaluate(runs, qrels, ["AP", "nDCG@20"]), folder / f"{name}.tsv")
    _save_orders(folder, list(gold.topics))
    _save_few_labels(folder, crowd, gold)
    _save_decisions(folder)
    some = gold.to_polars().select("topic", "doc", team=pl.lit("one"), label=pl.lit(0.8))
    some.write_csv(folder / "teams.tsv", separator="\t")
    groups = [f"{name}\tteam{at % 2}\n" for at, name in enumerate(runs.runs)]
    (folder / "groups.tsv").write_text("run\tgroup\n" + "".join(groups))
    (folder / "grid.toml").write_text(GRID)
    main(["experiment", "run", str(folder / "grid.toml"), "-o", str(folder / "results"), "-q"])
    shutil.copytree(ROOT / "examples" / "campaign", folder, dirs_exist_ok=True)
    if importlib.util.find_spec("sqlalchemy"):
        database = str(folder / "campaign.db")
        main(["campaign", "new", str(folder / "plan.toml"), "-o", database, "--launch"])
        machine = (folder / "machine.tsv").read_text().replace("judge-a", "earlier")
        (folder / "earlier.tsv").write_text(machine)
        _save_accounts(database)
        main(["campaign", "links", database, "ann", "bob"])
        main(["campaign", "import", database, str(folder / "earlier.tsv")])
        main(["campaign", "release", database, "-o", str(folder / "release.zip"), "--yes"])
        _save_tested_campaign(folder)
        main(["campaign", "act", database, "bonus", "worker=1", "amount=100"])
        main(["campaign", "pay", database, "-o", str(folder / "payout.csv")])
        _save_crowd(folder)
        _save_study(folder)


def _save_tested_campaign(folder: Path) -> None:
    """A campaign with a qualification, and what two people answered to it elsewhere."""
    header, *rows = (folder / "gold.tsv").read_text().splitlines()
    for name, kept in (("tested-gold", "set1"), ("test", "set2")):
        lines = [header, *(row for row in rows if row.endswith(kept))]
        (folder / f"{name}.tsv").write_text("\n".join(lines) + "\n")
    files = 'gold = "tested-gold.tsv"\nqualification = "test.tsv"\n'
    plan = (folder / "plan.toml").read_text().replace('gold = "gold.tsv"\n', files)
    plan = plan.replace('name = "example"', 'name = "tested"')
    (folder / "tested.toml").write_text(f"{plan}\n[qualification]\nsets = 3\ntries = 1\n")
    main(["campaign", "new", str(folder / "tested.toml"), "-o", str(folder / "tested.db")])
    gold = [row.split("\t") for row in rows if row.endswith("set2")]
    said = [f"ann,{topic},{doc},{grade}" for topic, doc, grade, *_ in gold]
    said += [f"bob,{topic},{doc},1" for topic, doc, *_ in gold]
    (folder / "results.csv").write_text("\n".join(["assessor,topic,doc,grade", *said]) + "\n")


def _save_accounts(database: str) -> None:
    """An administrator, and somebody who is no expert yet."""
    from qrowd.collection.database.opening import open_store
    from qrowd.web.accounts import new_account

    with open_store(database) as store, store.transaction() as db:
        for login in ("ada", "ann"):
            password = f"the password of {login}"
            new_account(db, store.clock(), login, password, administrator=login == "ada")


def _save_crowd(folder: Path) -> None:
    """A campaign that chooses what comes next, which robots have judged: `crowd.db`."""
    from qrowd.collection.database.opening import open_store
    from qrowd.web.robots.crowd import Crowd
    from qrowd.web.robots.rehearsal import judge
    from qrowd.web.robots.traffic import Clock

    text = (folder / "plan.toml").read_text()
    (folder / "next.toml").write_text(text + '\n[next]\npick = "margin"\n')
    database = str(folder / "crowd.db")
    main(["campaign", "new", str(folder / "next.toml"), "-o", database])
    clock = Clock(1_800_000_000_000)
    with open_store(database, clock=clock, seed=1) as store:
        judge(store, clock, folder, "example", Crowd(robots=6))
    # and one in phases, which nobody has judged yet: `phases.db`
    phased = text.replace("[campaign]", '[campaign]\nmode = "hierarchy"', 1)
    (folder / "phases.toml").write_text(phased)
    main(["campaign", "new", str(folder / "phases.toml"), "-o", str(folder / "phases.db")])


def _save_study(folder: Path) -> None:
    """A campaign whose people come from Prolific: `study.db`."""
    text = (folder / "plan.toml").read_text().replace('"EUR"', '"GBP"')
    text += '\n[platform]\npreset = "prolific"\nplaces = 20\n'
    (folder / "study.toml").write_text(text)
    main(
        ["campaign", "new", str(folder / "study.toml"), "-o", str(folder / "study.db"), "--launch"]
    )


@contextmanager
def platform_of(line: str) -> Iterator[None]:
    """A simulated Prolific for a command that calls it."""
    if "campaign prolific " not in line:
        yield
        return
    pytest.importorskip("httpx", reason="calls need the extra `serve`")
    from benchmarks.prolific import Platform, serving

    with serving(Platform()):
        yield


def skip_without_extras(line: str) -> None:
    """Skip the test where a command needs an extra that is not installed."""
    if any(word in line for word in NEED_PICTURES):
        pytest.importorskip("matplotlib", reason="pictures need the extra `report`")
    if (
        line.startswith(("qrowd accounts", "qrowd campaign", "qrowd serve"))
        or "release.zip" in line
    ):
        pytest.importorskip("sqlalchemy", reason="campaigns need the extra `serve`")
    if line.startswith("qrowd ask"):
        pytest.importorskip("jinja2", reason="asking needs the extra `ask`")
    elif "docs.jsonl" in line and "qrowd check" not in line:
        pytest.importorskip("sklearn", reason="reading documents needs the extra `text`")
