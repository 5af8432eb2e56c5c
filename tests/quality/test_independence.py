"""Do assessors err together? The check against plain loops, and on worlds where it is known."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import qrowd as q
from qrowd.cli.main import main
from qrowd.errors import UsageError
from qrowd.quality.detection import Detection, _Signs, detection, made_up, matrices
from qrowd.quality.independence import _Products, sharing

DS = q.DawidSkene(smoothing=1)


def votes(
    assessors: int, hard: float = 0.0, copying: float = 0.0, pairs: int = 600, seed: int = 0
) -> q.Judgements:
    """Everybody judges everything; pairs are hard for all, or the second half copies the first."""
    random = np.random.default_rng(seed)
    truth = random.integers(0, 2, pairs)
    skill = random.uniform(0.7, 1.7, assessors)
    odds = skill[None, :] - hard * random.normal(size=(pairs, 1))
    right = random.random((pairs, assessors)) < 1 / (1 + np.exp(-odds))
    half = assessors // 2
    copied = random.random((pairs, half)) < copying
    right[:, half : 2 * half] = np.where(copied, right[:, :half], right[:, half : 2 * half])
    said = np.where(right, truth[:, None], 1 - truth[:, None])
    rows = [(i, j) for i in range(pairs) for j in range(assessors)]
    return q.Judgements.of(
        [f"t{i % 6}" for i, _ in rows],
        [f"d{i:03d}" for i, _ in rows],
        [f"a{j:02d}" for _, j in rows],
        said.ravel(),
    )


def few_votes(
    assessors: int = 30, each: int = 5, hard: float = 0.0, copying: float = 0.0, seed: int = 0
) -> q.Judgements:
    """So many of them judge each of 600 pairs; pairs are hard for all, or four groups copy."""
    random = np.random.default_rng(seed)
    truth = (random.random(600) < 0.3).astype(int)
    skill = random.beta(14, 4, assessors)
    odds = np.log(skill / (1 - skill)) - hard * random.normal(size=(600, 1))
    right = random.random((600, assessors)) < 1 / (1 + np.exp(-odds))
    of_group = random.random((600, 4)) < skill.mean()
    copied = random.random((600, assessors)) < copying
    right = np.where(copied, of_group[:, np.arange(assessors) % 4], right)
    said = np.where(right, truth[:, None], 1 - truth[:, None])
    who = random.random((600, assessors)).argsort(axis=1)[:, :each]
    rows = [(i, j) for i in range(600) for j in who[i]]
    return q.Judgements.of(
        [f"t{i % 6}" for i, _ in rows],
        [f"d{i:03d}" for i, _ in rows],
        [f"a{j:02d}" for _, j in rows],
        [said[i, j] for i, j in rows],
    )


def test_products_by_plain_loops() -> None:
    crowd = q.simulate("graded", grades=3, topics=2, documents=8, assessors=5, votes=3, seed=1)
    rows, merged = crowd.judgements, DS.fit(crowd.judgements)
    table, grades = merged.assessors, rows.scale.grades
    residuals: dict[int, list[list[float]]] = {}
    for pair, who, grade in zip(rows.pair, rows.assessor, rows.grade, strict=True):
        expected = [
            sum(
                merged.posterior[pair, g] * table[f"p({h}|{true})"][who]
                for g, true in enumerate(grades)
            )
            for h in grades
        ]
        width = sum(p * (1 - p) for p in expected) ** 0.5
        one = [((code == grade) - p) / width for code, p in enumerate(expected)]
        residuals.setdefault(int(pair), []).append(one)
    total, couples = 0.0, 0
    for found in residuals.values():
        for a, one in enumerate(found):
            for b, other in enumerate(found):
                if a != b:
                    total += sum(x * y for x, y in zip(one, other, strict=True))
                    couples += 1
    assert _Products.of(rows, merged).correlation == pytest.approx(total / couples, abs=1e-10)


def test_somebody_who_answers_the_other_way_round_hides_nothing() -> None:
    """A hard pair makes others err and them be right: that, too, is erring together."""
    crowd = votes(8, hard=2.5)
    turned = replace(crowd, grade=np.where(crowd.assessor == 3, 1 - crowd.grade, crowd.grade))
    straight, found = q.independence(crowd, DS), q.independence(turned, DS)
    assert found.together
    assert found.rho == pytest.approx(straight.rho, rel=0.25)


def test_independent_errors_are_found_independent() -> None:
    found = [q.independence(votes(8, seed=seed), DS, seed=seed) for seed in range(3)]
    assert not any(one.together for one in found)
    assert all(abs(one.rho) < 0.03 for one in found)
    assert "what this leaves open" in found[0].verdict


@pytest.mark.parametrize(("assessors", "pairs"), [(4, 6000), (6, 1500), (12, 1500)])
def test_shared_difficulty_is_found(assessors: int, pairs: int) -> None:
    found = q.independence(votes(assessors, hard=2.5, pairs=pairs), DS)
    assert found.together
    assert found.low < found.rho < found.high
    assert "err together" in found.verdict
    assert found.agreement > found.expected


def test_four_assessors_and_few_pairs_are_not_called_independent() -> None:
    found = q.independence(votes(4, hard=2.5, pairs=1500), DS)
    assert not found.together
    assert found.low < 0 < found.rho
    assert "no strong sign" in found.verdict


def test_signs_by_plain_loops() -> None:
    crowd = q.simulate("graded", grades=3, topics=2, documents=20, assessors=6, votes=4, seed=1)
    rows, merged = crowd.judgements, DS.fit(crowd.judgements)
    chance = matrices(merged)
    answers: dict[int, list[tuple[int, int]]] = {}
    for pair, who, grade in zip(rows.pair, rows.assessor, rows.grade, strict=True):
        answers.setdefault(int(pair), []).append((int(who), int(grade)))

    def residual(who: int, said: int, true: int) -> float:
        right = float(chance[who, true, true])
        side = -1 if np.trace(chance[who]) < 1 else 1
        return float(side * ((said == true) - right) / max(right * (1 - right), 1e-3) ** 0.5)

    products: dict[tuple[int, int], list[float]] = {}
    for pair, given in answers.items():
        for one, other in itertools.combinations(given, 2):
            product = sum(
                merged.posterior[pair, true] * residual(*one, true) * residual(*other, true)
                for true in range(3)
            )
            products.setdefault((one[0], other[0]), []).append(product)
    every = np.concatenate([*products.values()])
    spread = sum(float(np.sum(several - every.mean())) ** 2 for several in products.values())
    mean, ratio = _Signs(rows).seen(rows, merged)
    assert mean == pytest.approx(every.mean(), abs=1e-10)
    assert ratio == pytest.approx(np.log(spread / ((every - every.mean()) ** 2).sum()), abs=1e-10)


def test_made_up_crowds_have_what_is_put_into_them() -> None:
    rows = votes(8)
    merged = DS.fit(rows)

    def agreement(**cause: float) -> float:
        made = made_up(rows, merged, np.random.default_rng(1), **cause)  # type: ignore[arg-type]
        return float(q.agreement(made, bootstrap=0).table()["value"][0])

    apart, copied, hard = agreement(), agreement(copying=1.0), agreement(difficulty=2.0)
    assert copied > apart + 0.02  # couples within groups agree on everything
    assert hard != apart
    made = made_up(rows, merged, np.random.default_rng(1), copying=1.0, groups=1)
    assert sharing(made).same.tolist() == sharing(made).shared.tolist()


@pytest.mark.parametrize("seed", range(3))
def test_thirty_judges_and_five_votes_with_common_difficulty_are_found(seed: int) -> None:
    found = q.independence(few_votes(hard=2.0, seed=seed), DS, bound=True, seed=seed)
    assert found.rho < 0.05  # of which the correlation alone shows nothing
    assert found.together
    assert "all find the same pairs hard" in found.verdict


@pytest.mark.parametrize("seed", range(3))
def test_thirty_judges_and_five_votes_who_copy_are_not_called_independent(seed: int) -> None:
    """Half of the answers copied, and still too little to be sure of: it says so."""
    found = q.independence(few_votes(copying=0.5, seed=seed), DS, bound=True, seed=seed)
    assert found.high < 0.05
    assert found.detection is not None
    assert found.together or found.detection.copying > 0.5
    much = q.independence(few_votes(copying=0.8, seed=seed), DS, bound=True, seed=seed)
    assert "these assessors err together: certain assessors agree too much" in much.verdict


def test_what_would_have_been_found_is_said() -> None:
    found = q.independence(few_votes(), DS, bound=True)
    assert found.together is False
    assert found.detection is not None
    said = found.verdict
    assert f"4 groups who copy more than {found.detection.copying:.2f} of their answers" in said
    assert (
        f"pairs that are hard for all by more than {found.detection.difficulty:.1f} logits" in said
    )
    assert "would have been found in 80 of 100 cases" in said
    assert "an error that all share is seen by gold only" in said
    three = q.independence(few_votes(10, 3), DS, bound=True).verdict
    assert "pairs that are hard for all may be missed, however strong" in three
    assert q.independence(few_votes(), DS, bound=True).detection == found.detection


def test_nothing_shared_and_very_many_votes() -> None:
    one_each = few_votes(30, 1)
    assert q.independence(one_each, DS, bound=True).detection is None
    assert detection(one_each, DS) == Detection(1.0, False, 4, np.inf, np.inf)
    assert detection(votes(150, hard=2.0, pairs=20), DS).found


def test_who_copies_whom() -> None:
    found = q.independence(votes(8, copying=0.8), DS)
    named = {(couple.one, couple.other) for couple in found.couples[:4]}
    assert named == {("a00", "a04"), ("a01", "a05"), ("a02", "a06"), ("a03", "a07")}
    assert found.together
    assert "a00 and a04" in str(found) or "a01 and a05" in str(found)


def test_three_assessors_cannot_tell() -> None:
    for assessors in (1, 2, 3):
        found = q.independence(votes(assessors, hard=2.5), DS)
        assert found.together is None
        assert "cannot be told" in found.verdict
        assert np.isnan(found.rho)


def test_groups_of_three_cannot_tell_either() -> None:
    """Two groups of three that share nothing: each is as free as if it were alone."""
    one, other = votes(3, hard=2.0, seed=1), votes(3, hard=2.0, seed=2)
    names = [f"b{who:02d}" for who in other.assessor]
    both = q.Judgements.of(
        [*one.pairs.topic_names[one.pair], *["u"] * len(other)],
        [*one.pairs.document_names[one.pair], *other.pairs.document_names[other.pair]],
        [*one.assessors.names[one.assessor], *names],
        [*one.grade, *other.grade],
    )
    assert sharing(both).freedom == (0, 0)
    assert q.independence(both, DS).together is None


def test_a_sample_is_enough_and_repeats_count_once() -> None:
    crowd = votes(6, hard=2.5, pairs=1500)
    whole, part = q.independence(crowd, DS), q.independence(crowd, DS, most=4500)
    assert part.rho == pytest.approx(whole.rho, abs=0.06)
    again = np.repeat(np.arange(len(crowd)), 2)
    pair, who, grade = crowd.pair[again], crowd.assessor[again], crowd.grade[again]
    twice = q.Judgements(crowd.pairs, crowd.assessors, crowd.scale, pair, who, grade)
    assert q.independence(twice, DS).rho == whole.rho


def test_by_topic_and_seeded() -> None:
    crowd = votes(6, hard=2.5)
    one, other = q.independence(crowd, DS, seed=3), q.independence(crowd, DS, seed=3)
    assert one.rho == other.rho
    assert one.topics == tuple(f"t{at}" for at in range(6))
    assert (one.by_topic > 0).all()


def test_a_method_without_matrices_is_refused() -> None:
    with pytest.raises(UsageError, match="confusion matrices"):
        q.independence(votes(5), q.MajorityVote())


def test_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    crowd = str(tmp_path / "crowd.tsv")
    q.save(votes(8, copying=0.8), crowd)
    main(["quality", crowd, "--independence"])
    said = capsys.readouterr()
    assert "err together" in said.err
    assert said.out.splitlines()[0].split("\t")[:3] == ["one", "other", "shared"]
    main(["quality", crowd, "--independence", "--per-topic"])
    assert len(capsys.readouterr().out.splitlines()) == 7
    main(["quality", crowd, "--independence", "--json"])
    account = json.loads(capsys.readouterr().out)
    assert account["together"] is True
    assert account["couples"][0]["agreement"] > account["couples"][0]["expected"]
    assert account["detection"]["p"] < 0.01
    main(["merge", "ds", crowd, "-o", str(tmp_path / "m.qrels")])
    assert "warning: these assessors err together" in capsys.readouterr().err
    main(["merge", "mv", crowd, "-o", str(tmp_path / "m.qrels")])
    assert "err together" not in capsys.readouterr().err


def test_in_the_report() -> None:
    pytest.importorskip("jinja2", reason="a report needs the extra report")
    pytest.importorskip("matplotlib", reason="a report draws")
    done = q.study(votes(8, copying=0.8), methods=["ds"])
    assert "These assessors err together" in q.report(done).to_html()
    assert done.independence is not None
    assert done.independence.together


def test_real_crowds(real_data: Path) -> None:
    """Machine judges err together so that `auto` takes the vote, human ones do not."""
    found = {}
    for name, rel in (("dl21", 1), ("trec_rf10", 1), ("spectral_bluebird", 2)):
        crowd = q.read_judgements(real_data / name / "judgements.tsv.gz").binary(rel)
        found[name] = q.independence(crowd, DS, replicates=2)
    assert found["dl21"].together
    assert found["dl21"].rho > 0.1
    assert not found["trec_rf10"].together
    assert not found["spectral_bluebird"].together


def test_names_decide_nothing() -> None:
    """A release gives assessors other names: its figures are those of the campaign."""
    made = q.simulate(topics=4, documents=25, assessors=9, votes=5, seed=6).judgements
    other = [f"n{(7 * at) % 9}" for at in range(9)]
    names = np.array(other, object)[made.assessor]
    topics, documents = made.pairs.topic_names[made.pair], made.pairs.document_names[made.pair]
    renamed = q.Judgements.of(topics, documents, names, made.grade, scale=made.scale)
    ds = q.DawidSkene(smoothing=1)
    one, two = (q.independence(crowd, ds, bound=True) for crowd in (made, renamed))
    assert one.verdict == two.verdict
    assert [one.rho, one.low, one.high] == pytest.approx([two.rho, two.low, two.high])
    first, second = (q.Automatic().fit(crowd) for crowd in (made, renamed))
    assert first.fit.notes == second.fit.notes
    assert first.fit.choice == second.fit.choice == "the mean of the vote and of ds"
    assert second.posterior == pytest.approx(first.posterior)
