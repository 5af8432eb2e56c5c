"""Documents as vectors, and the cluster hypothesis."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import qrowd as q
from qrowd.cli.main import main
from qrowd.content.similarity import groups_of, one_of_each
from qrowd.errors import InputError, MissingExtraError, ParameterError


def test_tfidf_by_hand() -> None:
    """Counts times 1 + ln((1 + n) / (1 + df)), rows of length 1."""
    pytest.importorskip("sklearn", reason="reading documents needs the extra `text`")
    texts = {"a": "fish fish soup", "b": "Soup of the day", "c": "x", "d": ""}
    vectors = q.tfidf(q.Documents.of(texts))
    weight = {
        word: 1 + np.log(5 / (1 + df))
        for word, df in {"fish": 1, "soup": 2, "of": 1, "the": 1, "day": 1}.items()
    }
    a = {"fish": 2 * weight["fish"], "soup": weight["soup"]}
    b = {word: weight[word] for word in ("soup", "of", "the", "day")}
    length = [np.sqrt(sum(x * x for x in row.values())) for row in (a, b)]
    expected = a["soup"] * b["soup"] / (length[0] * length[1])
    cosines = vectors.cosines([0, 1, 2, 3])
    assert cosines[0, 1] == pytest.approx(expected, abs=1e-12)
    assert (cosines[2:] == np.eye(4)[2:]).all()
    assert vectors.empty.tolist() == [False, False, True, True]


def test_texts_without_any_word() -> None:
    pytest.importorskip("sklearn", reason="reading documents needs the extra `text`")
    vectors = q.tfidf(q.Documents.of({"a": "x y z", "b": ""}))
    assert (vectors.cosines([0, 1]) == np.eye(2)).all()


def test_a_title_stands_in_for_a_text() -> None:
    pytest.importorskip("sklearn", reason="reading documents needs the extra `text`")
    index = q.Index.of(["a", "b"])
    documents = q.Documents(
        index, np.array(["", "red apples"], object), title=np.array(["red apples", "blue"], object)
    )
    assert q.tfidf(documents).cosines([0, 1])[0, 1] == pytest.approx(1)


def test_without_scikit_learn_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "sklearn.feature_extraction.text", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'qrowd\[text\]'"):
        q.tfidf(q.Documents.of({"a": "some words"}))


def test_vectors_dense_and_sparse_are_the_same() -> None:
    from scipy.sparse import csr_matrix

    rows = np.random.default_rng(0).random((5, 7)) * (np.arange(7) % 2)
    rows[3] = 0
    names = list("edcba")
    dense, sparse = q.Vectors.of(names, rows), q.Vectors.of(names, csr_matrix(rows))
    np.testing.assert_allclose(dense.cosines(range(5)), sparse.cosines(range(5)), atol=1e-12)
    assert dense.empty.tolist() == sparse.empty.tolist() == [False, True, False, False, False]
    more = q.Index.of(["bb", "z"])
    for vectors in (dense, sparse):
        wider = vectors.with_empty(more)
        assert list(wider.index) == ["a", "b", "bb", "c", "d", "e", "z"]
        assert wider.empty.tolist() == [False, True, True, False, False, False, True]


def test_bad_vectors() -> None:
    with pytest.raises(InputError, match="3 vectors for 2 documents"):
        q.Vectors.of("ab", np.ones((3, 2)))
    with pytest.raises(InputError, match="document b holds NaN"):
        q.Vectors.of("ab", [[1.0], [np.inf]])
    with pytest.raises(InputError, match="document a has two vectors"):
        q.Vectors.of("aa", [[1.0], [2.0]])


def test_judgements_with_text() -> None:
    crowd = q.Judgements.of(["t"] * 3, list("abc"), ["ann"] * 3, [1, 0, 1])
    gold = q.Qrels.of(["t"] * 2, ["a", "d"], [1, 0])
    documents = q.Vectors.of("ac", np.eye(2))
    skipped = q.with_text(crowd, documents, gold)
    assert skipped.missing == ("b", "d")
    assert list(skipped.judgements.pairs.document_names) == ["a", "c"]
    assert skipped.gold is not None
    assert list(skipped.gold.pairs.document_names) == ["a"]
    alone = q.with_text(crowd, documents, gold, without="alone")
    assert len(alone.judgements) == 3
    assert list(alone.documents.index) == ["a", "b", "c", "d"]
    with pytest.raises(ParameterError, match="skip, alone"):
        q.with_text(crowd, documents, without="never")


def test_inner_outer_and_separation_by_loops() -> None:
    random = np.random.default_rng(1)
    names = [f"d{i:02d}" for i in range(24)]
    vectors = q.Vectors.of(names, random.random((24, 6)))
    topics, grades = ["t1"] * 12 + ["t2"] * 12, random.integers(0, 2, 24)
    qrels = q.Qrels.of(topics, names, grades)
    test = q.cluster_test(vectors, qrels)
    cosines = vectors.cosines(range(24))
    means, separations = [], []
    for rows in (range(12), range(12, 24)):
        inner = [cosines[i, j] for i in rows for j in rows if i < j and grades[i] and grades[j]]
        outer = [cosines[i, j] for i in rows for j in rows if grades[i] and not grades[j]]
        means.append((np.mean(inner), np.mean(outer)))
        signs = [np.sign(x - y) for x in inner for y in outer]
        separations.append(np.mean(signs))
    assert test.inner == pytest.approx(np.mean([m[0] for m in means]))
    assert test.outer == pytest.approx(np.mean([m[1] for m in means]))
    np.testing.assert_allclose(test.separations, separations)
    low, high = test.interval
    assert low <= test.separation <= high


def test_the_interval_covers_nothing_where_there_is_nothing() -> None:
    """Texts that have nothing to do with relevance: 0 lies inside in 90 % of collections or so."""
    inside = []
    for seed in range(60):
        random = np.random.default_rng(seed)
        names = [f"d{i:03d}" for i in range(300)]
        qrels = q.Qrels.of(
            [f"t{i // 20:02d}" for i in range(300)], names, random.integers(0, 2, 300)
        )
        test = q.cluster_test(q.Vectors.of(names, random.random((300, 5))), qrels, seed=seed)
        inside.append(test.interval[0] <= 0 <= test.interval[1])
    assert np.mean(inside) > 0.8


def test_near_duplicates_are_grouped_and_flatter() -> None:
    cosines = np.eye(5)
    for i, j, cosine in ((0, 1, 0.96), (1, 2, 0.97), (3, 4, 0.5)):
        cosines[i, j] = cosines[j, i] = cosine
    group = groups_of(cosines, 0.95)
    assert len(set(group.tolist())) == 3
    assert one_of_each(group).tolist() == [0, 3, 4]
    random = np.random.default_rng(2)
    rows = np.repeat(random.random((10, 8)) ** 3, 2, axis=0)
    names = [f"d{i:02d}" for i in range(20)]
    qrels = q.Qrels.of(["t"] * 20, names, np.repeat(np.arange(10) % 2, 2))
    test = q.cluster_test(q.Vectors.of(names, rows), qrels)
    assert test.nearest() == 1.0
    assert test.nearest(without_duplicates=True) < 1.0
    assert test.duplicates == 10
    assert test.of_topic[0].groups[0] == ("d00", "d01")


def test_topics_with_too_little_are_said() -> None:
    qrels = q.Qrels.of(["t1", "t1", "t2"], ["a", "b", "c"], [1, 0, 1])
    test = q.cluster_test(q.Vectors.of("abc", np.eye(3)), qrels)
    assert "2 topics have no separation" in test.notes[0]
    assert np.isnan(test.separation)


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    random = np.random.default_rng(0)
    words = np.array(["fig", "nut", "pear", "kiwi", "lime", "plum"])
    lines, qrels = [], []
    for i in range(30):
        grade = i % 3 == 0
        share = np.where(np.arange(6) < 3, 0.3 if grade else 0.1, 0.1 / 3 if grade else 0.7 / 3)
        text = " ".join(random.choice(words, 8, p=share / share.sum()))
        lines.append(json.dumps({"doc": f"d{i:02d}", "text": text}))
        qrels.append(f"t{i % 2} 0 d{i:02d} {int(grade)}")
    (tmp_path / "docs.jsonl").write_text("\n".join(lines) + "\n")
    (tmp_path / "gold.qrels").write_text("\n".join(qrels) + "\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_check_by_the_command_line(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("sklearn", reason="reading documents needs the extra `text`")
    check = ["content", "check", "--documents", "docs.jsonl", "--qrels", "gold.qrels"]
    main([*check, "--json"])
    told = json.loads(capsys.readouterr().out)
    test = q.cluster_test(q.read_documents("docs.jsonl"), q.read_qrels("gold.qrels"))
    assert told["inner"] == test.inner > told["outer"] == test.outer
    assert told["low"] <= told["separation"] <= told["high"]
    assert sum(told["histograms"]["inner"]) == pytest.approx(1)
    main(check)
    assert "separation" in capsys.readouterr().out
    main([*check, "-o", "topics.tsv"])
    assert Path("topics.tsv").read_text().splitlines()[0].startswith("topic\tdocuments\trelevant")
    listed = [line.split("\t")[0] for line in Path("topics.tsv").read_text().splitlines()[1:]]
    Path("left.txt").write_text(f"{listed[0]}\n")
    main([*check, "--leave-out", "left.txt", "-o", "topics.tsv"])
    rest = [line.split("\t")[0] for line in Path("topics.tsv").read_text().splitlines()[1:]]
    assert rest == listed[1:]
    Path("gold.qrels").write_text(Path("gold.qrels").read_text() + "t0 0 unknown 1\n")
    with pytest.raises(SystemExit) as stop:
        main(check)
    assert stop.value.code == 1
    assert "1 of 31 judged documents have no text: unknown" in capsys.readouterr().err
    main([*check, "--without-text", "skip"])


def test_pictures_of_similarities(files: Path) -> None:
    pytest.importorskip("sklearn", reason="reading documents needs the extra `text`")
    pytest.importorskip("matplotlib", reason="pictures need the extra `report`")
    check = ["content", "check", "--documents", "docs.jsonl", "--qrels", "gold.qrels"]
    main([*check, "--figures", "pictures", "--topic", "t1"])
    assert "topic t1" in Path("pictures/densities.svg").read_text()
