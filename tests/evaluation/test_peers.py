"""Every word of trec_eval, and the values of ir_measures (frozen: it is no test dependency)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import qrowd as q
from qrowd.cli.main import main
from qrowd.errors import FormatError, UsageError
from qrowd.evaluation.measure import measures_of
from qrowd.evaluation.trec_eval import names_of, printed, specs_of

KEPT = json.loads(Path(__file__).with_name("ir_measures.json").read_text())
ROWS = [line.split() for line in KEPT["qrels"].split(" / ")]
RUN = [line.split() for line in KEPT["run"].split(" / ")]


@pytest.fixture(scope="module")
def run() -> q.RunSet:
    topics, documents, scores = zip(*RUN, strict=True)
    return q.RunSet.of(["r"] * len(RUN), topics, documents, [float(score) for score in scores])


@pytest.fixture(scope="module")
def flat() -> q.Qrels:
    best: dict[tuple[str, str], int] = {}
    for topic, _, document, grade in ROWS:
        best[topic, document] = max(best.get((topic, document), 0), int(grade))
    return q.Qrels.of([pair[0] for pair in best], [pair[1] for pair in best], list(best.values()))


@pytest.fixture(scope="module")
def diverse(tmp_path_factory: pytest.TempPathFactory) -> q.QrelsSet:
    path = tmp_path_factory.mktemp("diverse") / "diversity.qrels"
    path.write_text("\n".join(map(" ".join, ROWS)) + "\n")
    return q.read_subtopics(path)


def same(scores: q.Scores, expected: dict[str, float]) -> None:
    assert len(expected) == 3
    values = scores.values[0, 0, :, 0]
    np.testing.assert_allclose(values, [expected[topic] for topic in scores.topics], atol=1e-9)


@pytest.mark.parametrize("spec", KEPT["plain"])
def test_values_of_ir_measures(spec: str, run: q.RunSet, flat: q.Qrels) -> None:
    same(q.evaluate(run, flat, spec), KEPT["plain"][spec])


@pytest.mark.parametrize("spec", KEPT["diversity"])
def test_subtopics(spec: str, run: q.RunSet, diverse: q.QrelsSet) -> None:
    same(q.evaluate(run, diverse, spec), KEPT["diversity"][spec])


def test_first_rank_of_subtopics(run: q.RunSet, diverse: q.QrelsSet) -> None:
    """ndeval does not divide at rank 1; ours is a share there too."""
    values = q.evaluate(run, diverse, ["alpha_DCG@1", "ERR_IA@1", "StRecall@1"]).values
    np.testing.assert_allclose(values[0], values[2])
    np.testing.assert_allclose(values[1], values[2])


@pytest.mark.parametrize("name", names_of("all_trec"))
def test_every_word_of_trec_eval(name: str, made: Any, trec_eval: Any) -> None:
    (spec,) = specs_of(name)
    scores = q.evaluate(made.runs, made.qrels, name)
    if name.startswith("gm_") or name == "num_q":
        return  # over topics only: see the layout
    cut = name.rsplit("_", 1)[-1]
    expected = trec_eval(made, name, scores.topics)
    missing = expected == 0  # where a run lacks a topic, but for what counts there
    if name in ("num_rel",):
        expected = np.where(missing, scores.values[0, 0], expected)
    np.testing.assert_allclose(scores.values[0, 0], expected, rtol=0, atol=1e-12)
    assert expected.any(), (spec, cut)


def test_lists_and_layout(made: Any) -> None:
    pytrec_eval = pytest.importorskip("pytrec_eval")
    scores = q.evaluate(made.runs, made.qrels, "all_trec", topics="both")
    lines = list(printed(scores, ["all_trec"], per_topic=False))
    size = len(names_of("all_trec")) + 1
    assert len(lines) == size * len(made.runs)
    evaluator = pytrec_eval.RelevanceEvaluator(made.qrel_dicts, pytrec_eval.supported_measures)
    for at, run in enumerate(made.runs.runs):
        block = lines[at * size : (at + 1) * size]
        assert block[0] == f"runid                 \tall\t{run}"
        of_topics = evaluator.evaluate(made.run_dicts[run])
        for line in block[1:]:
            name, topic, value = line.split("\t")
            values = [found[name.strip()] for found in of_topics.values()]
            mean = pytrec_eval.compute_aggregated_measure(name.strip(), values)
            assert len(name) == max(22, len(name.strip()))
            assert topic == "all"
            whole = name.startswith("num_")
            assert value == (f"{mean:.0f}" if whole else f"{mean:6.4f}"), name
    official = [name.partition("_")[0] for name in names_of("official")]
    assert official[:5] == ["num", "num", "num", "num", "map"]
    assert official[-9:] == ["P"] * 9


def test_topics_are_printed_before_all(made: Any) -> None:
    scores = q.evaluate(made.runs, made.qrels, ["set", "P_5,10"])
    lines = list(printed(scores, ["set", "P_5,10"], per_topic=True))
    names = [line.split("\t")[0].strip() for line in lines]
    of_topic = len(names_of("set")) + 2 - 1  # num_q is not of one topic
    assert names[of_topic] == "num_ret"
    assert names[of_topic - 1] == "P_10"
    assert lines[of_topic * len(scores.topics)].startswith("runid")


@pytest.mark.parametrize(
    ("word", "specs"),
    [
        ("P_5,10", ["P@5", "P@10"]),
        ("P.5,10", ["P@5", "P@10"]),
        ("iprec_at_recall_.10", []),
        ("iprec_at_recall_0.10,0.30", ["IPrec@0.1", "IPrec@0.3"]),
        ("ndcg_cut", [f"nDCG@{k}" for k in (5, 10, 15, 20, 30, 100, 200, 500, 1000)]),
        ("success", ["Success@1", "Success@5", "Success@10"]),
        ("gm_map", ["GMAP"]),
        ("recip_rank_10", ["RR@10"]),
        ("SetR", ["R"]),
        ("α_nDCG@20", ["alpha_nDCG@20"]),
        ("alpha-nDCG@20", ["alpha_nDCG@20"]),
    ],
)
def test_words(word: str, specs: list[str]) -> None:
    if specs:
        assert [repr(measure) for measure in measures_of(word)] == specs
    else:
        with pytest.raises(UsageError):
            measures_of(word)


def test_eleven_points(made: Any) -> None:
    scores = q.evaluate(made.runs, made.qrels, ["iprec_at_recall", "11pt_avg"])
    assert scores.measures[0] == "IPrec@0.0"
    np.testing.assert_allclose(scores.values[:-1].mean(axis=0), scores.values[-1])


def test_means_of_counts_and_logarithms(made: Any) -> None:
    both = [
        q.evaluate(made.runs, made.qrels, "official", keep=keep) for keep in ("topics", "means")
    ]
    np.testing.assert_allclose(both[0].means(), both[1].means(), rtol=1e-12)
    at = both[0].measures.index("NumRet")
    assert both[0].means()[at].sum() == len(made.runs.document) - 1  # one topic has no judgements


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("INST", "needs the highest grade"),
        ("IPrec", "needs a recall, as in IPrec@0.1"),
        ("IPrec@2", "cutoff must be a number at least 0 and at most 1"),
        ("P@0.5", "cutoff must be a whole number"),
        ("BPM(max_rel=2)", "needs a cutoff"),
    ],
)
def test_what_measures_need(spec: str, message: str, run: q.RunSet, flat: q.Qrels) -> None:
    with pytest.raises(UsageError, match=message):
        q.evaluate(run, flat, spec)


def test_subtopics_need_their_qrels(
    run: q.RunSet, flat: q.Qrels, diverse: q.QrelsSet, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match="read_subtopics"):
        q.evaluate(run, flat, "alpha_nDCG@20")
    with pytest.raises(UsageError, match="AP is not of subtopics"):
        q.evaluate(run, diverse, ["AP", "alpha_nDCG@20"])
    (tmp_path / "twice.qrels").write_text("1 1 d1 0\n1 1 d1 1\n")
    with pytest.raises(FormatError, match=r"twice.qrels:.: topic 1 document d1 has two grades for"):
        q.read_subtopics(tmp_path / "twice.qrels")


def test_the_command_prints_as_trec_eval(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.qrels").write_text("1 0 d1 1\n1 0 d2 0\n")
    Path("a.run").write_text("1 Q0 d1 1 2 me\n1 Q0 d2 2 1 me\n")
    named = ["--qrels", "a.qrels", "--runs", "a.run"]
    main(["evaluate", *named, "-m", "official", "-m", "ndcg"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[:4] == [
        "runid                 \tall\tme",
        "num_q                 \tall\t1",
        "num_ret               \tall\t2",
        "num_rel               \tall\t1",
    ]
    assert lines[-1] == "ndcg                  \tall\t1.0000"
    main(["evaluate", *named, "-m", "alpha_nDCG@10"])
    assert capsys.readouterr().out == "run\talpha_nDCG@10\nme\t1.0\n"


RANX = json.loads(Path(__file__).with_name("ranx.json").read_text())


@pytest.mark.parametrize("name", [*RANX["values"], *RANX["binary"]])
def test_every_word_of_ranx(name: str) -> None:
    """But `hits`, a count whose mean it prints. Its RBP takes grades for gains, and so may exceed
    1: the same where they are 0 and 1.
    """
    qrels = q.read_qrels(RANX["qrels"])
    values = RANX["values"].get(name) or RANX["binary"][name]
    scores = q.evaluate({"r": RANX["run"]}, qrels.binary(1) if "rbp" in name else qrels, name)
    for topic, value in values.items():
        assert scores.values[0, 0, scores.topics.code(topic), 0] == pytest.approx(value, abs=1e-9)
