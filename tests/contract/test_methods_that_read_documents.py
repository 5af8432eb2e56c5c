"""What methods that read documents promise, beside what all do (there, no document is like any)."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import ndtr
from scipy.stats import norm

import qrowd as q
from qrowd import registry
from qrowd.aggregation.judgements.gp import moments, tilted
from qrowd.cli.main import main
from qrowd.content.similarity import centred
from qrowd.data.arrays import Floats
from qrowd.data.given import Incremental
from qrowd.errors import InputError, UsageError

METHODS = [id for id, card in registry.cards().items() if "documents" in card.needs]
every_method = pytest.mark.parametrize("id", METHODS)
NEIGHBOURS = ("mvnn", "mev", "mev(votes=3.0)", "mev(own_counts=False)")


def crowd(votes: dict[str, str], topic: str = "t") -> q.Judgements:
    """Votes such as {"a": "110"}: a document with two votes for 1 and one for 0."""
    rows = [(d, f"w{k}", int(v)) for d, said in votes.items() for k, v in enumerate(said)]
    documents, assessors, grades = zip(*rows, strict=True)
    made = q.Judgements.of([topic] * len(rows), documents, assessors, grades, scale=q.Scale((0, 1)))
    return made.with_pool(q.Pairs.of([topic] * len(votes), list(votes)))


def merged(
    id: str, rows: q.Judgements, documents: q.Vectors, gold: q.Qrels | None = None
) -> q.Merged:
    found = q.get(id).fit(rows, q.Given(documents=documents, gold=gold))
    assert isinstance(found, q.Merged)
    return found


def fit(id: str, rows: q.Judgements, documents: q.Vectors) -> Floats:
    return merged(id, rows, documents).relevant


def orthogonal(n: int) -> q.Vectors:
    return q.Vectors.of([f"d{i}" for i in range(n)], np.eye(n))


def alike(cosine: float) -> q.Vectors:
    """Documents a and b with this cosine; c is like neither."""
    other = np.sqrt(1 - cosine**2)
    return q.Vectors.of("abc", [[1, 0, 0], [cosine, other, 0], [0, 0, 1]])


def test_they_are_here() -> None:
    assert {"gp", "mev", "mvnn", "wmv-da"} <= set(METHODS)


@pytest.mark.parametrize("id", NEIGHBOURS)
def test_orthogonal_documents_are_the_majority_vote(id: str) -> None:
    rows = crowd({"d0": "1", "d1": "0011", "d2": "", "d3": "011", "d4": "0"})
    assert fit(id, rows, orthogonal(5)).tolist() == q.MajorityVote().fit(rows).relevant.tolist()


@pytest.mark.parametrize("constant", [0.0, 0.7])
def test_orthogonal_documents_have_the_one_document_posterior(constant: float) -> None:
    votes = {"d0": "1", "d1": "0011", "d2": "", "d3": "01111", "d4": "000"}

    def moment(said: str, power: int) -> float:
        yes, no = said.count("1") + power, said.count("0")

        def density(f: float) -> float:
            return float(ndtr(f) ** yes * ndtr(-f) ** no * norm.pdf(f, constant))

        return float(quad(density, -12, 12, epsabs=1e-14, epsrel=1e-12, limit=200)[0])

    expected = [moment(said, 1) / moment(said, 0) for said in votes.values()]
    found = fit(f"gp(mean={constant})", crowd(votes), orthogonal(5))
    np.testing.assert_allclose(found, expected, atol=1e-9)


@pytest.mark.parametrize("cosine", [-0.6, -0.1, 0.0, 0.1, 0.6, 1.0])
@pytest.mark.parametrize("vote", ["0", "1"])
def test_a_vote_moves_another_document_by_the_sign_of_their_similarity(
    cosine: float, vote: str
) -> None:
    before = fit("gp(mean=0)", crowd({"a": "", "b": "", "c": "01"}), alike(cosine))
    after = fit("gp(mean=0)", crowd({"a": vote, "b": "", "c": "01"}), alike(cosine))
    direction = 1 if vote == "1" else -1
    assert np.sign(np.round(after[1] - before[1], 9)) == direction * np.sign(cosine)


@pytest.mark.parametrize("id", ["gp", "mev"])
def test_pairs_without_votes_get_a_probability(id: str) -> None:
    found = fit(id, crowd({"a": "111", "b": "", "c": "0"}), alike(0.9))
    assert found[1] > 0.6


def test_mvnn_as_printed_leaves_documents_without_votes_undecided() -> None:
    assert fit("mvnn", crowd({"a": "111", "b": "", "c": "0"}), alike(0.9))[1] == 0.5


def test_texts_that_are_alike_may_overrule_the_unanimous() -> None:
    names = [f"d{i}" for i in range(9)]
    rows = crowd({name: "0" if name == "d0" else "111" for name in names})
    same = q.Vectors.of(names, np.ones((9, 1)))
    assert fit("gp(mean=0)", rows, same)[0] > 0.5
    assert fit("gp(mean=0)", rows, orthogonal(9))[0] < 0.5


@every_method
def test_gold_is_one_vote_for_neighbours(id: str) -> None:
    gold = q.Qrels.of(["t"], ["a"], [1])
    rows = crowd({"a": "00", "b": "0", "c": "0"})
    told = merged(id, rows, alike(0.9), gold)
    assert told.posterior[0].tolist() == [0.0, 1.0]
    assert told.given.tolist() == [True, False, False]
    # gold is more than a vote to joint; with mev b has enough votes of its own; three documents
    # teach the classifier of skierarchy nothing
    if id not in ("wmv-da", "mev", "joint", "skierarchy"):
        as_vote = fit(id, crowd({"a": "1", "b": "0", "c": "0"}), alike(0.9))
        assert told.relevant[1] == pytest.approx(as_vote[1])
        assert told.relevant[1] > fit(id, rows, alike(0.9))[1]


@every_method
def test_documents_are_needed_and_named(id: str) -> None:
    rows = crowd({"a": "1", "b": "0", "c": "1"})
    with pytest.raises(UsageError, match=r"needs documents.*--documents"):
        q.get(id).fit(rows)
    with pytest.raises(InputError, match=r"2 of 3 judged documents have no text: b c;.*skip"):
        fit(id, rows, q.Vectors.of("a", [[1.0]]))


@every_method
def test_renaming_documents_permutes_posteriors(id: str) -> None:
    random = np.random.default_rng(3)
    rows = random.random((7, 5))
    votes = ["1", "01", "", "110", "0", "00", "1"]
    one = fit(id, crowd(dict(zip("abcdefg", votes, strict=True))), q.Vectors.of("abcdefg", rows))
    turned = dict(zip("gfedcba", votes, strict=True))
    other = fit(id, crowd(turned), q.Vectors.of("gfedcba", rows))
    np.testing.assert_allclose(one, other[::-1], atol=1e-9)


STEPPING = [id for id in ("mv", *NEIGHBOURS, "gp") if isinstance(q.get(id), Incremental)]


def test_methods_with_steps() -> None:
    assert len(STEPPING) == 6


@pytest.mark.parametrize("id", STEPPING)
def test_steps_are_the_fit(id: str) -> None:
    """After every vote, of three copies with votes of their own."""
    random = np.random.default_rng(5)
    names = [f"d{i:02d}" for i in range(12)]
    content = q.Vectors.of(names, random.random((12, 30)) ** 3)
    pairs = q.Pairs.of(["t"] * 12, names)
    steps = q.get(id).steps(pairs, 3, q.Given(documents=content))
    said = [dict.fromkeys(names, "") for _ in range(3)]
    for _ in range(16):
        pair, grade = random.integers(0, 12, 3), random.integers(0, 2, 3)
        steps.add(pair, grade)
        for copy, (at, vote) in enumerate(zip(pair, grade, strict=True)):
            said[copy][names[at]] += str(vote)
        found = steps.relevant()
        expected = np.stack([fit(id, crowd(votes), content) for votes in said])
        assert np.abs(found - expected).max() < (0.005 if id == "gp" else 1e-12)


# --- draws ----------------------------------------------------------------------------------------


def merged_with_duplicates() -> q.Merged:
    """a and b have one text, c another; nobody judged a or b."""
    names = [f"d{i}" for i in range(6)]
    rows = crowd({"a": "", "b": "", "c": "01"} | dict(zip(names, "110110", strict=True)))
    others = np.hstack([np.zeros((6, 2)), np.eye(6)])
    features = np.vstack([np.eye(8)[[0, 0, 1]], others])
    return merged("gp", rows, q.Vectors.of(["a", "b", "c", *names], features))


def agreeing(found: q.Merged) -> tuple[float, float]:
    """How often the draws of a and b, and those of a and c, are equal."""
    drawn = found.draws(4000, seed=1).dense
    assert drawn is not None
    shares = drawn.mean(axis=1)
    np.testing.assert_allclose(shares, found.relevant, atol=0.03)
    return float((drawn[0] == drawn[1]).mean()), float((drawn[0] == drawn[2]).mean())


def test_near_duplicates_share_their_fate() -> None:
    together, apart = agreeing(merged_with_duplicates())
    assert together == 1.0
    assert 0.4 < apart < 0.6
    assert not merged_with_duplicates().draws(10).notes


def test_draws_stay_joint_when_the_belief_changes() -> None:
    plain = merged_with_duplicates()
    ranked = ["d0", "d1", "a", "b", "d3", "d4", "c", "d2", "d5"]
    runs = q.RunSet.of(["r"] * 9, ["t"] * 9, ranked, np.arange(9.0)[::-1])
    informed = q.inform(plain, runs)
    assert not np.allclose(informed.relevant, plain.relevant)
    p, r = informed.relevant[:2]
    assert agreeing(informed)[0] == pytest.approx(1 - abs(p - r), abs=0.03)
    sample = q.Qrels.of(["t"], ["c"], [1])
    recalibrated = q.recalibrate(plain, sample)
    assert agreeing(recalibrated)[0] == 1.0
    assert agreeing(recalibrated.binary(1))[0] == 1.0
    assert recalibrated.binary(1).copula is plain.copula
    drawn = q.recalibrate(plain, sample, draws=300).draws(300).dense
    assert drawn is not None
    assert (drawn[0] == drawn[1]).all()


def test_intervals_are_wider_where_documents_share_their_fate() -> None:
    names = [f"d{i}" for i in range(8)]
    rows = crowd(dict.fromkeys(names, "01"))
    runs = q.RunSet.of(["r"] * 8, ["t"] * 8, names, np.arange(8.0))

    def width(documents: q.Vectors) -> float:
        drawn = merged("gp", rows, documents).draws(500, seed=2)
        scores = q.evaluate(runs, drawn, [q.P @ 8])
        return float(scores.means().std())

    assert width(q.Vectors.of(names, np.ones((8, 1)))) > 1.5 * width(orthogonal(8))


# --- the command line -----------------------------------------------------------------------------


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    pytest.importorskip("sklearn", reason="reading documents needs the extra `text`")
    texts = {"a": "red apples", "b": "red apples today", "c": "blue sky", "d": "x", "e": ""}
    lines = [json.dumps({"doc": name, "text": text}) for name, text in texts.items()]
    (tmp_path / "docs.jsonl").write_text("\n".join(lines) + "\n")
    q.save(crowd({"a": "11", "b": "0", "c": "00", "d": "1", "e": "0"}), tmp_path / "crowd.tsv")
    (tmp_path / "pool.qrels").write_text("t 0 a 0\nt 0 e 0\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@every_method
def test_through_the_command_line(id: str, files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["merge", id, "crowd.tsv", "--documents", "docs.jsonl", "--probabilities", "p.tsv"])
    rows, documents = q.read_judgements("crowd.tsv"), q.read_documents("docs.jsonl")
    expected = q.get(id).fit(rows, q.Given(documents=documents))
    assert np.array_equal(q.read_probabilities("p.tsv").posterior, expected.posterior)
    assert "2 documents have no words" in capsys.readouterr().err


def test_vectors_by_the_command_line(files: Path) -> None:
    vectors = q.tfidf(q.read_documents("docs.jsonl"))
    np.save("x.npy", vectors.rows.toarray())
    Path("x.ids").write_text("\n".join(vectors.index) + "\n")
    main(["merge", "gp", "crowd.tsv", "--vectors", "x.npy", "--probabilities", "v.tsv"])
    main(["merge", "gp", "crowd.tsv", "--documents", "docs.jsonl", "--probabilities", "d.tsv"])
    one, other = q.read_probabilities("v.tsv"), q.read_probabilities("d.tsv")
    np.testing.assert_allclose(one.relevant, other.relevant, atol=1e-9)


def _misuse(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    return int(stop.value.code or 0), capsys.readouterr().err


def test_documents_without_text(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("some.jsonl").write_text('{"doc": "a", "text": "red apples"}\n')
    merge = ["merge", "gp", "crowd.tsv", "--documents", "some.jsonl", "--probabilities", "p.tsv"]
    code, said = _misuse(merge, capsys)
    assert code == 1
    assert "4 of 5 judged documents have no text: b c d e" in said
    main([*merge, "--without-text", "skip"])
    assert list(q.read_probabilities("p.tsv").pairs.document_names) == ["a"]
    assert "4 documents without text left out: b c d e" in capsys.readouterr().err
    main([*merge, "--without-text", "alone"])
    assert len(q.read_probabilities("p.tsv").pairs) == 5


def test_options_that_say_nothing(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, said = _misuse(["merge", "mv", "crowd.tsv", "--documents", "docs.jsonl"], capsys)
    assert (code, "mv has no use for them; methods that do: auto, gp" in said) == (2, True)
    two = ["merge", "gp", "crowd.tsv", "--documents", "docs.jsonl", "--vectors", "x.npy"]
    assert _misuse(two, capsys)[0] == 2
    code, said = _misuse(["merge", "gp", "crowd.tsv"], capsys)
    assert (code, "--documents" in said) == (2, True)


def test_two_texts_for_one_document(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Path("docs.jsonl").open("a") as file:
        file.write('{"doc": "a", "text": "something else"}\n')
    code, said = _misuse(["merge", "gp", "crowd.tsv", "--documents", "docs.jsonl"], capsys)
    assert (code, "docs.jsonl:6" in said) == (1, True)


@pytest.mark.parametrize(
    ("rows", "names", "message"),
    [
        ([[1.0, np.nan]] * 5, "abcde", "x.ids:1: the vector of document a holds NaN"),
        ([[1.0, 2.0]] * 4, "abcde", "x.ids: 5 names for 4 vectors"),
        ([[1.0, 2.0]] * 5, "abcdd", "x.ids:5: document d has two vectors"),
        ([1.0] * 5, "abcde", "x.npy: expected a table of numbers"),
    ],
)
def test_bad_vectors(
    rows: list[list[float]],
    names: str,
    message: str,
    files: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    np.save("x.npy", np.array(rows))
    Path("x.ids").write_text("\n".join(names) + "\n")
    code, said = _misuse(["merge", "gp", "crowd.tsv", "--vectors", "x.npy"], capsys)
    assert code == 1
    assert message in said


def test_a_topic_of_very_many_documents_says_what_it_needs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from qrowd.content import similarity as module

    names = [f"d{i:05d}" for i in range(20_000)]
    rows = crowd({"d00000": "1"}).with_pool(q.Pairs.of(["t"] * len(names), names))
    monkeypatch.setattr(module, "free_memory", lambda: 2**32)
    content = q.Vectors.of(names, np.ones((len(names), 1)))
    with pytest.raises(InputError, match=r"20,000 documents.*11\.9 GB.*4\.0 GB are free"):
        q.get("gp").fit(rows, q.Given(documents=content))


def test_centred_documents_by_loops() -> None:
    random = np.random.default_rng(3)
    rows = random.random((6, 4)) + 0.5
    rows[:, 3] = 0
    lone = np.vstack([rows, [[0, 0, 0, 1]]])
    vectors = q.Vectors.of([f"d{i}" for i in range(7)], lone)
    found = centred(vectors.cosines(range(7)))
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    left = unit - unit.mean(axis=0)
    expected = left @ left.T / np.outer(np.linalg.norm(left, axis=1), np.linalg.norm(left, axis=1))
    np.testing.assert_allclose(found[:6, :6], expected, atol=1e-12)
    assert found[6].tolist() == [0, 0, 0, 0, 0, 0, 1]  # like no other, before and after
    same = np.ones((3, 3))
    assert centred(same).tolist() == same.tolist()
    assert centred(np.eye(4)).tolist() == np.eye(4).tolist()


def test_words_that_all_share_carry_no_vote_when_centred() -> None:
    rows = crowd({"d0": "1", "d1": "", "d2": ""})
    vectors = q.Vectors.of(["d0", "d1", "d2"], [[9, 1, 0], [9, 1, 0.1], [9, 0, 1]])
    plain, apart = (fit(f"gp(mean=0, centred={on})", rows, vectors) for on in (False, True))
    assert (plain[1:] > 0.6).all()
    assert apart[1] > 0.6
    assert apart[2] < 0.5


def test_one_vote_in_closed_form_is_the_quadrature() -> None:
    mean, variance = np.array([-1.3, 0.0, 2.2]), np.array([0.4, 1.0, 3.0])
    for yes in (np.ones(3), np.zeros(3)):
        centre, width = moments(mean, variance, yes, 1 - yes)
        by_nodes = tilted(mean, variance, yes, 1 - yes, 60)
        np.testing.assert_allclose(centre, by_nodes.mean, atol=1e-10)
        np.testing.assert_allclose(width, by_nodes.variance(centre), atol=1e-10)
