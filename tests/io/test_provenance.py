"""Where labels come from: carried by nouns, kept beside files, and never believed of others."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import qrowd as q
from qrowd import Judgements, Merged, Qrels, RunSet, SoftQrels
from qrowd.errors import DataWarning, FormatError, InputError
from qrowd.io.anything import kind_of_path
from qrowd.io.atomic import refuse_unwritable, written
from qrowd.io.qrels import read_labels
from qrowd.io.source import PROVENANCE, sha256_of

FORMS = ["qrels", "tsv", "csv", "json", "jsonl", "parquet", "qrels.gz", "tsv.xz", "json.bz2"]


@pytest.fixture
def merged(tiny_crowd: Judgements, tiny_gold: Qrels) -> Merged:
    return q.DawidSkene(max_iter=50).fit(tiny_crowd, q.Given(gold=tiny_gold))


def beside(path: Path) -> Path:
    return path.with_name(path.name + PROVENANCE)


def test_a_fit_says_where_its_labels_come_from(merged: Merged, tiny_gold: Qrels) -> None:
    told = merged.qrels("relevant", 3).provenance
    assert told is not None
    assert (told.method, told.version) == ("ds(max_iter=50)", q.__version__)
    assert {name: source.rows for name, source in told.inputs.items()} == {
        "judgements": 11,
        "gold": 4,
    }
    assert (told.grades, told.relevant_from, told.ties, told.seed) == ((0, 1), 1, "relevant", 3)
    assert told.given == tiny_gold.pairs
    assert (told.text, told.shares, told.informed, told.recalibrated) == (False, False, (), 0)
    assert str(told) == (
        f"ds(max_iter=50) (qrowd {q.__version__}) from 11 judgements, 4 gold pairs"
    )
    assert told.notes == ()  # nobody read it from a file


def test_a_method_that_chooses_its_parameter_is_named_as_it_was_asked_for(
    tiny_crowd: Judgements, tiny_gold: Qrels
) -> None:
    merged = q.DawidSkene(gold_weight=None).fit(tiny_crowd, q.Given(gold=tiny_gold))
    assert merged.provenance is not None
    assert merged.provenance.method == "ds(gold_weight=None)" == merged.fit.method


def test_methods_that_read_documents_say_so(tiny_crowd: Judgements) -> None:
    documents = tiny_crowd.pairs.documents
    vectors = q.Vectors.of(list(documents), np.eye(len(documents)))
    made = q.get("gp").fit(tiny_crowd, q.Given(documents=vectors)).provenance
    assert made is not None
    assert made.text
    assert made.inputs["documents"].rows == len(documents)
    plain = q.DawidSkene().fit(tiny_crowd, q.Given(documents=vectors)).provenance  # of no use to it
    assert plain is not None
    assert not plain.text


def test_which_methods_have_shares_of_votes(tiny_crowd: Judgements) -> None:
    for spec, shares in {"mv": True, "auto": True, "ds": False, "hier-vb": False}.items():
        provenance = q.get(spec).fit(tiny_crowd).provenance
        assert provenance is not None
        assert provenance.shares == shares, spec


def test_gold_that_only_taught_weights_was_given_too(
    tiny_crowd: Judgements, tiny_gold: Qrels
) -> None:
    merged = q.get("stack(clamp=false)").fit(tiny_crowd, q.Given(gold=tiny_gold))
    assert merged.pairs.select(merged.given) == tiny_gold.pairs


def test_what_is_done_to_labels_is_kept(merged: Merged, tiny_runs: RunSet) -> None:
    sample = Qrels.of(["t1", "t2"], ["d3", "d1"], [1, 0])
    made = q.inform(q.recalibrate(merged, sample), tiny_runs).qrels().provenance
    assert made is not None
    assert (made.recalibrated, made.informed) == (2, ("a", "b"))
    assert made.given is not None
    assert len(made.given) == 6  # the sample, too
    assert str(made).endswith("recalibrated on 2 pairs; informed by 2 runs")


def test_a_cut_is_kept(merged: Merged) -> None:
    graded = Qrels(merged.pairs, merged.grades() * 2, merged.qrels().provenance)
    for made in (graded.binary(2).provenance, merged.binary(2).qrels().provenance):
        assert made is not None
        assert (made.cut, made.grades, made.relevant_from) == (2, (0, 1), 1)
        assert "relevant from grade 2 on" in str(made)
    some = graded[q.Index.of(["t1"])]
    assert some.provenance is graded.provenance


@pytest.mark.parametrize("form", FORMS)
def test_qrels_and_their_provenance_come_back(merged: Merged, tmp_path: Path, form: str) -> None:
    path = tmp_path / f"merged.{form}"
    qrels = merged.qrels("nonrelevant")
    q.save(qrels, path)
    read = q.read_qrels(path)
    assert read == qrels
    assert read.provenance == qrels.provenance
    assert read.provenance is not None
    assert read.provenance.file == str(path)
    assert read.provenance.notes == (f"{path}: {qrels.provenance}",)
    labels = read_labels(path)
    assert isinstance(labels, Qrels)
    assert labels.provenance == qrels.provenance


@pytest.mark.parametrize("form", FORMS[1:])
def test_probabilities_and_their_provenance_come_back(
    merged: Merged, tmp_path: Path, form: str
) -> None:
    if "qrels" in form:
        form = "tsv.gz"
    path = tmp_path / f"merged.{form}"
    q.save(merged, path, ties="relevant", seed=2)
    read = q.read_probabilities(path)
    assert read.provenance == merged.label_provenance("relevant", 2)
    assert read.given.tolist() == merged.given.tolist()
    again = tmp_path / f"again.{form}"
    q.save(read, again)  # what the file has decided stays decided, and said
    assert beside(again).read_bytes() == beside(path).read_bytes()


def test_soft_qrels_know_which_pairs_were_given(
    merged: Merged, tiny_gold: Qrels, tmp_path: Path
) -> None:
    path = tmp_path / "soft.tsv"
    q.save(merged.soft(), path)  # which has no column for it
    assert "given" not in path.read_text()
    read = q.read_probabilities(path)
    assert read.given.tolist() == merged.given.tolist()
    assert isinstance(read.soft(), SoftQrels)
    scores = q.score_labels(read.soft(), tiny_gold)
    assert len(scores) == 0
    assert "every pair with gold was given: nothing is left to score" in scores.notes


def test_the_file_beside_is_plain_and_always_the_same(merged: Merged, tmp_path: Path) -> None:
    path = tmp_path / "merged.qrels"
    q.save(merged.qrels(), path)
    first = beside(path).read_bytes()
    about = json.loads(first)
    assert about["sha256"] == sha256_of(path)
    assert about["given"] == {"t1": ["d1", "d2"], "t2": ["d4", "d5"]}
    assert str(tmp_path) not in first.decode()
    q.save(merged.qrels(), path)
    assert beside(path).read_bytes() == first


def test_other_labels_are_refused_in_one_line(merged: Merged, tmp_path: Path) -> None:
    path = tmp_path / "merged.qrels"
    q.save(merged.qrels(), path)
    path.write_text(path.read_text().replace("d1 1", "d1 0"))
    expected = f"{beside(path)}: this is about other labels than {path} has (the checksum differs)"
    for read in (q.read_qrels, read_labels):
        with pytest.raises(InputError) as failed:
            read(path)
        assert str(failed.value) == f"{expected}; delete it, or merge again"
    beside(path).unlink()
    assert q.read_qrels(path).provenance is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "does not say where labels come from"),
        ("[1]", "does not say where labels come from"),
        ("{}", "does not say where labels come from"),
        ('{"format": "something else"}', "does not say where labels come from"),
        ('{"format": "qrowd provenance", "format_version": 1}', "does not say where"),
        ('{"format": "qrowd provenance", "format_version": 2}', "is of the format's version 2"),
    ],
)
def test_a_broken_file_beside_is_said(
    merged: Merged, tmp_path: Path, text: str, message: str
) -> None:
    path = tmp_path / "merged.qrels"
    q.save(merged.qrels(), path)
    beside(path).write_text(text)
    with pytest.raises(FormatError, match=message) as failed:
        q.read_qrels(path)
    assert str(failed.value).startswith(f"{beside(path)}: ")
    assert "\n" not in str(failed.value)


def test_what_a_later_version_adds_is_passed_over(merged: Merged, tmp_path: Path) -> None:
    path = tmp_path / "merged.qrels"
    q.save(merged.qrels(), path)
    about = json.loads(beside(path).read_text())
    beside(path).write_text(json.dumps({**about, "mood": "good"}))
    assert q.read_qrels(path).provenance == merged.qrels().provenance


def test_a_stale_file_beside_goes_away(merged: Merged, tiny_gold: Qrels, tmp_path: Path) -> None:
    path = tmp_path / "merged.qrels"
    q.save(merged.qrels(), path)
    q.save(tiny_gold, path)
    assert not beside(path).exists()
    q.save(merged.qrels(), path)
    with written(path) as part:  # whatever else is written there
        part.write_text("t1 0 d1 1\n")
    assert not beside(path).exists()


def test_a_failure_keeps_labels_and_their_provenance(merged: Merged, tmp_path: Path) -> None:
    path = tmp_path / "merged.qrels"
    q.save(merged.qrels(), path)
    before = beside(path).read_bytes()

    def fail() -> None:
        with written(path) as part:
            part.write_text("half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert beside(path).read_bytes() == before
    assert q.read_qrels(path).provenance == merged.qrels().provenance


@pytest.mark.parametrize("call", [1, 2, 3, 4, 5, 6])
def test_killed_at_any_step_nothing_lies(merged: Merged, tmp_path: Path, call: int) -> None:
    """Labels, and what is beside them: both old, or labels alone, or both new."""
    path = tmp_path / "merged.qrels"
    old, new = merged.qrels("relevant"), replace(merged, decided=1 - merged.grades()).qrels()
    q.save(old, path)
    assert new != old
    q.save(new, tmp_path / "new.qrels")
    script = f"""
import os, qrowd as q
left = {call}
def counting(function):
    def counted(*arguments, **options):
        global left
        left -= 1
        if not left:
            os._exit(9)  # as a kill does: nothing is tidied up
        return function(*arguments, **options)
    return counted
labels = q.read_qrels("new.qrels")
os.unlink, os.replace = counting(os.unlink), counting(os.replace)
q.save(labels, "merged.qrels")
"""
    environment = {**os.environ, "PYTHONPATH": str(Path(q.__file__).parents[1])}
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, env=environment, check=False
    )
    assert done.returncode == 9
    read = q.read_qrels(path)  # no error: what is beside is about these labels, or not there
    assert read == (old if call <= 2 else new)
    assert read.provenance in (None, (old if call <= 2 else new).provenance)
    assert (read.provenance is None) == (2 <= call <= 5)


def test_a_link_and_its_file_agree(merged: Merged, tiny_gold: Qrels, tmp_path: Path) -> None:
    real, link = tmp_path / "real.qrels", tmp_path / "link.qrels"
    real.write_text("t1 0 d1 1\n")
    link.symlink_to(real)
    q.save(merged.qrels(), link)
    assert q.read_qrels(link).provenance == q.read_qrels(real).provenance is not None
    q.save(tiny_gold, real)
    assert q.read_qrels(link).provenance is None


def test_nothing_is_written_beside_a_device(merged: Merged) -> None:
    q.save(merged.qrels(), "/dev/null")
    assert not beside(Path("/dev/null")).exists()


def test_folders_and_patterns_hold_no_provenance(merged: Merged, tmp_path: Path) -> None:
    folder = tmp_path / "labels"
    folder.mkdir()
    for name in ("ds.qrels", "mv.qrels"):
        q.save(merged.qrels(), folder / name)
    assert len(list(folder.iterdir())) == 4
    for several in (folder, folder / "*", sorted(map(str, folder.iterdir()))):
        crowd = q.read_judgements(several)
        assert list(crowd.assessors) == ["ds", "mv"]
        with pytest.warns(DataWarning, match="where these labels come from is not kept"):
            assert q.read_qrels(several) == merged.qrels()
    runs = tmp_path / "runs"
    runs.mkdir()
    q.save(merged.ranking("a"), runs / "a.run")
    (runs / f"a.run{PROVENANCE}").write_text("{}")
    assert list(q.read_runs(runs).runs) == ["a"]


def test_a_file_of_provenance_is_no_data(merged: Merged, tmp_path: Path) -> None:
    path = tmp_path / "merged.qrels"
    q.save(merged.qrels(), path)
    assert kind_of_path(beside(path)) == "provenance"
    for read in (q.read_qrels, q.read_judgements, q.read_runs):
        with pytest.raises(FormatError, match="this says where labels come from; name the labels"):
            read(beside(path))
    with pytest.raises(InputError, match="name another"):
        refuse_unwritable(beside(path))


# --- what follows for scores ----------------------------------------------------------------------


def test_qrels_know_which_pairs_not_to_score(
    merged: Merged, tiny_gold: Qrels, tmp_path: Path
) -> None:
    truth = Qrels.of(["t1", "t1", "t1", "t2"], ["d1", "d2", "d3", "d1"], [1, 0, 1, 0])
    q.save(merged.qrels(), tmp_path / "merged.qrels")
    read = q.read_qrels(tmp_path / "merged.qrels")
    scores = q.score_labels(read, truth)
    assert len(scores) == 2
    assert scores.given is not None
    assert len(scores.given) == 2
    assert scores.notes[0] == f"{tmp_path / 'merged.qrels'}: {read.provenance}"
    assert "2 pairs whose gold was given are left out" in scores.notes
    assert len(q.score_labels(read.binary(1), truth)) == 2
    same = q.score_labels(read, tiny_gold)  # the very gold that was given
    assert len(same) == 0
    assert np.isnan(same["accuracy"])


def test_gold_that_is_merged_itself_is_said(merged: Merged, tmp_path: Path) -> None:
    q.save(merged.qrels(), tmp_path / "merged.qrels")
    labels = q.read_qrels(tmp_path / "merged.qrels")
    scores = q.score_labels(Qrels(labels.pairs, labels.grade), labels)
    (note,) = [note for note in scores.notes if "gold is merged labels itself" in note]
    assert "ds(max_iter=50)" in note
    crowd = Judgements.of(["t1"] * 2, ["d1", "d3"], ["ann", "bob"], [1, 0])
    fit = q.MajorityVote().fit(crowd, q.Given(gold=labels)).fit
    assert any(note.startswith("gold: ") and "ds(max_iter=50)" in note for note in fit.notes)


def test_scores_under_labels_that_text_has_bent(tiny_crowd: Judgements, tiny_runs: RunSet) -> None:
    vectors = q.Vectors.of(list(tiny_crowd.pairs.documents), np.eye(4))
    merged = q.get("mvnn").fit(tiny_crowd, q.Given(documents=vectors))
    for relevance in (merged, merged.qrels(), merged.soft(), merged.draws(3)):
        notes = q.evaluate(tiny_runs, relevance, "P@2").notes
        assert any("mvnn has read the documents" in note for note in notes)
    crowd_only = q.evaluate(tiny_runs, q.MajorityVote().fit(tiny_crowd), "P@2").notes
    assert not any("documents, which favours" in note for note in crowd_only)


def test_runs_that_informed_labels_are_said(tiny_crowd: Judgements, tiny_runs: RunSet) -> None:
    def notes(spec: str, runs: RunSet) -> str:
        informed = q.inform(q.get(spec).fit(tiny_crowd), tiny_runs)
        return "\n".join(q.evaluate(runs, informed.draws(3), "P@2").notes)

    assert "2 runs scored here informed the labels" in notes("ds", tiny_runs)
    assert "shares of votes" not in notes("ds", tiny_runs)
    assert "the probabilities of mv are shares of votes" in notes("mv", tiny_runs)
    assert "the probabilities of auto are shares of votes" in notes("auto", tiny_runs)
    other = RunSet.of(["c"] * 2, ["t1"] * 2, ["d1", "d2"], [2.0, 1.0])
    assert "informed the labels" not in notes("ds", other)


def test_human_labels_that_the_method_has_seen() -> None:
    made = q.simulate(topics=6, documents=30, assessors=8, votes=3, runs=4, seed=1)
    human = q.sample(made.judgements, 60, seed=2).labelled(made.truth)
    some = human.qrels.select(np.arange(len(human)) < 10)
    seen = q.DawidSkene().fit(made.judgements, q.Given(gold=some))
    with pytest.warns(DataWarning, match="were given to the method already"):
        notes = q.correct(made.runs, seen, human, ["P@10"]).notes
    assert any(note.startswith("10 of 60 human labels were given to the method") for note in notes)
    unseen = q.DawidSkene().fit(made.judgements)
    assert not any("given" in note for note in q.correct(made.runs, unseen, human, ["P@10"]).notes)


def test_a_report_tells_it_too(tmp_path: Path) -> None:
    made = q.simulate(topics=4, documents=20, assessors=8, votes=3, runs=3, seed=1)
    q.save(q.MajorityVote().fit(made.judgements).qrels(), tmp_path / "mv.qrels")
    gold = q.read_qrels(tmp_path / "mv.qrels")
    done = q.study(made.judgements, made.runs, gold, methods=["auto"], informed=True, draws=20)
    notes = "\n".join(done.notes)
    assert f"{tmp_path / 'mv.qrels'}: mv (qrowd" in notes
    assert "gold is merged labels itself" in notes
    assert "the probabilities of auto are shares of votes" in notes
    for extra in ("jinja2", "matplotlib"):
        pytest.importorskip(extra, reason="pages need the extra `report`")
    assert "gold is merged labels itself" in q.report(done).to_html()
