"""Every example that a reader may type is typed here: of help texts, README and tutorial."""

from __future__ import annotations

import importlib.util
import inspect
import re
import runpy
import shlex
import shutil
import warnings
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


def _help_examples() -> list[str]:
    spec = importlib.util.spec_from_file_location("generate", ROOT / "docs" / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    generate = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generate)
    lines = [
        line.strip()
        for _, verb, _ in generate.verbs()
        for line in re.sub(r"\\\n\s*", " ", inspect.cleandoc(verb.help or "")).split("\n")
    ]
    return list(dict.fromkeys(line for line in lines if line.startswith("qrowd ")))


def _blocks(page: str, language: str) -> list[str]:
    text = (ROOT / page).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


def _commands(page: str) -> list[str]:
    lines = "\n".join(_blocks(page, "sh")).replace("\\\n", " ").splitlines()
    return [line.split("  #")[0].strip() for line in lines if line.startswith("qrowd ")]


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
    """Machine labels, and the labels of a human on pairs that were sampled by weight."""
    q.save(crowd, folder / "llm.tsv")
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


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with all the files that examples name."""
    folder = tmp_path_factory.mktemp("files")
    main(["simulate", "-q", "-o", str(folder), "--topics", "5", "--documents", "30", "--runs", "4"])
    gold, crowd = q.read_qrels(folder / "gold.qrels"), q.read_judgements(folder / "crowd.tsv.gz")
    train, _ = gold.topics.split(0.4, seed=1)
    for name in ("nist.qrels", "g.qrels"):
        q.save(gold, folder / name)
    q.save(gold[train], folder / "some.qrels")
    (folder / "train.txt").write_text("\n".join(train) + "\n")
    q.save(crowd, folder / "crowd.tsv")
    q.save(_texts(crowd.pairs.documents), folder / "docs.jsonl")
    votes = crowd.to_polars().rename({"doc": "url", "assessor": "who", "grade": "stars"})
    votes.write_csv(folder / "votes.csv")
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
    (folder / "grid.toml").write_text(GRID)
    main(["experiment", "run", str(folder / "grid.toml"), "-o", str(folder / "results"), "-q"])
    shutil.copytree(ROOT / "examples" / "campaign", folder, dirs_exist_ok=True)
    if importlib.util.find_spec("sqlalchemy"):
        database = str(folder / "campaign.db")
        main(["campaign", "new", str(folder / "plan.toml"), "-o", database, "--launch"])
        machine = (folder / "machine.tsv").read_text().replace("judge-a", "earlier")
        (folder / "earlier.tsv").write_text(machine)
        main(["campaign", "import", database, str(folder / "earlier.tsv")])
        main(["campaign", "release", database, "-o", str(folder / "release.zip"), "--yes"])
    return folder


def _exit_code(arguments: list[str]) -> int:
    try:
        main(arguments)
    except SystemExit as stop:
        return int(stop.code or 0)
    return 0


def _type(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    if any(word in line for word in NEED_PICTURES):
        pytest.importorskip("matplotlib", reason="pictures need the extra `report`")
    if line.startswith(("qrowd campaign", "qrowd serve")) or "release.zip" in line:
        pytest.importorskip("sqlalchemy", reason="campaigns need the extra `serve`")
    if " --documents docs" in line:
        pytest.importorskip("sklearn", reason="reading documents needs the extra `text`")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", q.errors.QrowdWarning)
        assert _exit_code(shlex.split(line)[1:]) == 0, f"{line}\n{capsys.readouterr().err}"


@pytest.mark.parametrize("line", _help_examples())
def test_examples_of_help_texts_run(
    line: str,
    files: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    shutil.copytree(files, tmp_path / "here")
    monkeypatch.chdir(tmp_path / "here")
    _type(line, capsys)


def test_there_is_an_example_of_every_command() -> None:
    listed = {line.split()[1] for line in _help_examples()}
    from qrowd.cli.main import command

    assert listed >= set(command.list_commands(None))  # type: ignore[arg-type]


@pytest.mark.parametrize("page", ["README.md", "docs/tutorial.md"])
def test_commands_of_pages_run_one_after_the_other(
    page: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    commands = _commands(page)
    assert len(commands) >= 2
    for line in commands:
        _type(line, capsys)


def _pages_with_code() -> list[str]:
    pages = ["README.md", *(f"docs/{path.name}" for path in sorted((ROOT / "docs").glob("*.md")))]
    return [page for page in pages if "import qrowd as q" in "".join(_blocks(page, "python"))]


@pytest.mark.parametrize("page", _pages_with_code())
def test_code_of_pages_runs(
    page: str, files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("matplotlib", reason="the pages' code makes a report")
    shutil.copytree(files, tmp_path / "here")
    monkeypatch.chdir(tmp_path / "here")
    found = "\n".join(_blocks(page, "python"))
    exec(compile(found, page, "exec"), {})


@pytest.mark.parametrize("script", sorted(path.name for path in (ROOT / "examples").glob("*.py")))
def test_example_scripts_run(
    script: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(ROOT / "examples" / script), run_name="__main__")
    assert len(capsys.readouterr().out.splitlines()) >= 3


def test_readme_code_is_short() -> None:
    lines = [line for line in "".join(_blocks("README.md", "python")).splitlines() if line.strip()]
    assert len(lines) <= 24
