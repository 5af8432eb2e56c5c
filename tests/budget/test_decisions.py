"""What is decided, where the next vote is worth most, and how many labels are wrong."""

from __future__ import annotations

import itertools
from dataclasses import replace
from math import comb
from pathlib import Path

import numpy as np
import pytest

import qrowd as q
from qrowd.budget.couples import _average_precision
from qrowd.budget.decisions import GRID, FinalVote
from qrowd.budget.votes import Pool, Systems, drawn
from qrowd.cli.main import main
from qrowd.errors import InputError, ParameterError, QrowdError, ScaleError, UsageError
from qrowd.evaluation.engine import Task
from qrowd.evaluation.measure import measures_of


def crowd(pairs: int, votes: int, seed: int, topics: int = 10) -> tuple[q.Judgements, q.Qrels]:
    """Pairs differ in the share of voters who say relevant; relevant are those above a half."""
    random = np.random.default_rng(seed)
    share = random.beta(0.6, 0.9, pairs)
    said = random.random((pairs, votes)) < share[:, None]
    topic = [f"t{at % topics}" for at in range(pairs)]
    names = [f"d{at:05}" for at in range(pairs)]
    rows = q.Judgements.of(
        np.repeat(topic, votes),
        np.repeat(names, votes),
        [f"a{at:02}" for _ in range(pairs) for at in range(votes)],
        said.ravel().astype(np.int8),
    )
    return rows, q.Qrels.of(topic, names, (share > 0.5).astype(np.int8))


def rankings(truth: q.Qrels) -> q.RunSet:
    """Four runs that see relevance through more and more noise."""
    random = np.random.default_rng(2)
    names = zip(truth.pairs.topic_names, truth.pairs.document_names, truth.grade, strict=True)
    lists: dict[str, dict[str, dict[str, float]]] = {f"run{at}": {} for at in range(4)}
    for topic, document, grade in names:
        for at, each in enumerate(lists.values()):
            each.setdefault(topic, {})[document] = float(grade + (at + 1) * random.normal())
    return q.read_runs(lists)


def first(rows: q.Judgements, votes: int) -> q.Judgements:
    """The first votes of each pair: assessors are named in the order in which they voted."""
    return rows.select(rows.assessor < votes)


@pytest.mark.parametrize("most", [1, 4, 5])
def test_the_final_vote_is_what_sums_over_all_votes_to_come_give(most: int) -> None:
    random = np.random.default_rng(1)
    votes = random.integers(1, most + 1, 60)
    yes = random.binomial(votes, random.beta(0.5, 0.8, 60))
    final = FinalVote.of(yes, votes, most)
    share = (np.arange(GRID) + 0.5) / GRID
    weight = np.full(GRID, 1 / GRID)
    for _ in range(300):  # EM, pair by pair
        total = np.full(GRID, 0.02)
        for y, n in zip(yes, votes, strict=True):
            each = weight * share**y * (1 - share) ** (n - y)
            total += each / each.sum()
        weight = total / total.sum()
    for n in range(most + 1):
        for y in range(n + 1):
            posterior = weight * share**y * (1 - share) ** (n - y)
            posterior /= posterior.sum()
            left, expected, worths = most - n, 0.0, []
            for more in range(left + 1):
                chance = posterior @ (comb(left, more) * share**more * (1 - share) ** (left - more))
                expected += chance * (0.5 + 0.5 * np.sign(2 * (y + more) - most))
            assert final.relevant[y, n] == pytest.approx(expected, abs=1e-9)
            unsure = np.minimum(final.relevant, 1 - final.relevant)
            for ahead in (1, 3):
                if ahead <= left:
                    later = 0.0
                    for path in itertools.product((0, 1), repeat=ahead):
                        ones = sum(path)
                        chance = posterior @ (share**ones * (1 - share) ** (ahead - ones))
                        later += chance * unsure[y + ones, n + ahead]
                    worths.append((unsure[y, n] - later) / ahead)
            assert final.worth[y, n] == pytest.approx(max([0.0, *worths]), abs=1e-9)


def test_labels_change_as_often_as_is_said() -> None:
    whole, _ = crowd(6000, 9, seed=3)
    so_far = q.decisions(first(whole, 3), most=9)
    changed = so_far.grade != q.decisions(whole, most=9).grade
    for low, high in itertools.pairwise((0, 0.1, 0.2, 0.4, 0.6)):
        inside = (so_far.p_change >= low) & (so_far.p_change < high)
        if inside.sum() > 200:
            assert abs(changed[inside].mean() - so_far.p_change[inside].mean()) < 0.03
    assert abs(changed.mean() - so_far.p_change.mean()) < 0.01


def test_states() -> None:
    rows, _ = crowd(400, 5, seed=4)
    state = q.decisions(rows, most=5, risk=0.1)
    yes = np.bincount(rows.pair, rows.grade, len(rows.pairs))
    assert (state.p_change == 0).all()  # all votes are there
    assert set(state.to_polars()["state"]) == {"decided", "stuck"}
    stuck = state.state == 2
    assert stuck[(yes == 2) | (yes == 3)].all()
    assert not stuck[(yes == 0) | (yes == 5)].any()
    early = q.decisions(rows, most=9, risk=0.1)
    assert early.counts["stuck"] == 0
    assert early.counts["open"] > 0
    assert sum(early.counts.values()) == len(early) == 400


def test_gold_drawn_at_random_tells_how_many_are_wrong() -> None:
    rows, truth = crowd(1500, 3, seed=5)
    wrong = (q.decisions(rows).grade != truth.grade[truth.pairs.locate(rows.pairs)]).mean()
    means, held = [], 0
    for seed in range(80):
        sample = q.sample(rows, 100, seed=seed).labelled(truth)
        told = q.decisions(rows, gold=sample).wrong
        assert told is not None
        assert told.low <= told.mean <= told.high
        means.append(told.mean)
        held += told.low <= wrong <= told.high
    assert abs(np.mean(means) - wrong) < 0.01
    assert 66 <= held <= 78  # of 80, at 90 %


def test_gold_that_is_all_right_is_no_proof_that_nothing_is_wrong() -> None:
    rows, _ = crowd(600, 3, seed=12)
    now = q.decisions(rows)
    agreed = q.Qrels(rows.pairs, now.grade)
    state = q.decisions(rows, gold=q.sample(rows, 60, seed=1).labelled(agreed))
    assert state.wrong is not None
    assert state.wrong.mean < 0.01
    assert 0.03 < state.wrong.high < 0.06  # 2.7 of 60 and so many more
    assert state.wrong.at_most >= 0


def test_what_votes_cannot_reach_is_said() -> None:
    rows, truth = crowd(600, 5, seed=6)
    flipped = np.random.default_rng(0).random(len(truth)) < 0.3  # where the whole crowd errs
    other = replace(truth, grade=np.where(flipped, 1 - truth.grade, truth.grade).astype(np.int8))
    sample = q.sample(rows, 200, seed=1).labelled(other)
    state = q.decisions(rows, most=9, gold=sample)
    assert state.wrong is not None
    assert 0.25 < state.wrong.at_most < 0.4
    assert any("do not bring errors down to 10%" in note for note in state.notes)


def test_bad_input() -> None:
    rows, truth = crowd(100, 3, seed=7)
    sample = q.sample(rows, 40, seed=1).labelled(truth)
    cases: list[tuple[type[QrowdError], str, q.Judgements, dict[str, object]]] = [
        (ParameterError, "risk must be above 0 and below .5", rows, {"risk": 0.5}),
        (ParameterError, "most must be at least 1", rows, {"most": 0}),
        (UsageError, "drawn by weight", rows, {"gold": replace(sample, by="weight")}),
        (UsageError, "at least 30 gold pairs", rows, {"gold": q.sample(rows, 9).labelled(truth)}),
        (InputError, "no grades yet", rows, {"gold": q.sample(rows, 40)}),
    ]
    graded = q.Judgements.of(["t"] * 3, list("abc"), ["w"] * 3, [0, 1, 2])
    cases.append((ScaleError, "--rel", graded, {}))
    weighted = replace(rows, weight=np.full(len(rows), 0.5))
    cases.append((UsageError, "have weights", weighted, {}))
    for error, message, judgements, options in cases:
        with pytest.raises(error, match=message):
            q.decisions(judgements, **options)  # type: ignore[arg-type]


# --- which document is next -----------------------------------------------------------------------


def test_the_answers_are_the_same_whatever_is_picked() -> None:
    rows, truth = crowd(60, 8, seed=8, topics=3)
    pool, systems = Pool.of(rows, truth), Systems(rankings(truth))
    cases = itertools.product(("resample", "once", "simulated"), ("margin", "systems"))
    for request, pick in cases:
        even, other = (
            drawn(pool, 3, copies=5, request=request, seed=2, pick=each, most=7, systems=systems)
            for each in ("even", pick)
        )
        pairs = list(zip(even, other, strict=True))
        assert any(not np.array_equal(a.document, b.document) for a, b in pairs)
        assert sum(b.taken(3.0) for _, b in pairs).tolist() == [180] * 5  # type: ignore[union-attr]
        for left, right in pairs:
            for copy, document in itertools.product(range(5), range(20)):
                a, b = (
                    list(zip(each.assessor[copy][at], each.grade[copy][at], strict=True))
                    for each in (left, right)
                    for at in [(each.document[copy] == document) & (each.asked[copy] <= 3)]
                )
                assert len(b) <= 7
                assert b or pick == "systems"
                shared = min(len(a), len(b))
                assert a[:shared] == b[:shared]
                if request == "once":
                    assert len({assessor for assessor, _ in b}) == len(b)


def test_picked_by_margin_fewer_votes_are_as_good() -> None:
    rows, truth = crowd(600, 11, seed=9)
    loop = q.Loop(
        votes=5, randomisations=8, every=10**6, request="once", picks=("even", "margin"), most=11
    )
    curves = q.vote_by_vote(rows, truth, ["mv"], loop=loop)
    assert curves.methods == ("mv", "mv by margin")
    even, margin = (curves.mean(name) for name in curves.methods)
    assert (margin >= even - 0.01).all()
    assert margin[3] > even[4]  # four votes a document against five


def test_judgements_that_tell_systems_apart_bring_their_order_sooner() -> None:
    made = q.simulate(topics=20, documents=60, runs=12, assessors=5, votes=1, seed=3)
    names = made.truth.pairs.topic_names, made.truth.pairs.document_names
    expert = q.Judgements.of(*names, ["expert"] * len(made.truth), made.truth.grade)
    loop = q.Loop(votes=1, randomisations=4, picks=("even", "systems"))
    curves = q.vote_by_vote(expert, made.truth, ["mv"], runs=made.runs, loop=loop)
    assert curves.methods == ("mv", "mv by systems")
    assert curves.order is not None
    even, systems = curves.order.mean(axis=1)
    assert even[0] == systems[0]  # the first tenth is the same
    assert systems[1:6].mean() > even[1:6].mean() + 0.03
    assert even[-1] == systems[-1] == 1  # all is judged
    plain = q.vote_by_vote(expert, made.truth, ["mv"], loop=replace(loop, every=6, picks=("even",)))
    assert np.array_equal(plain.accuracy[0], curves.accuracy[0])
    frame = curves.to_polars()
    assert frame.filter(frame["topic"] == "all")["tau_ap"].is_not_nan().all()
    assert "tau_ap" in curves.summary()
    with pytest.raises(UsageError, match="needs runs"):
        q.vote_by_vote(expert, made.truth, ["mv"], loop=loop)


def test_once_leaves_out_topics_without_as_many_votes() -> None:
    rows, truth = crowd(60, 4, seed=8, topics=3)
    few = rows.select(~((rows.pair == rows.pair[0]) & (rows.assessor > 1)))
    curves = q.vote_by_vote(
        few, truth, ["mv"], loop=q.Loop(votes=3, randomisations=2, request="once")
    )
    assert len(curves.topics) == 2
    assert any("fewer than 3 votes" in note for note in curves.notes)
    with pytest.raises(ParameterError, match="most must be at least the 5 votes"):
        q.Loop(votes=5, picks=("margin",), most=4)


def test_a_list_for_labels_has_divided_pairs_first_and_nothing_that_is_full() -> None:
    rows, _ = crowd(300, 4, seed=10)
    rows = first(rows, 3).with_pool(q.Pairs.of(["t0"], ["unjudged"]))
    todo = q.undecided(rows, most=9)
    assert (np.diff(todo.worth) <= 1e-12).all()
    assert (todo.worth > 0).all()
    assert np.isnan(todo.p_wrong).all()
    assert np.isnan(todo.probability).all()
    first_ten = [reason.split(" say")[0] for reason in todo.reason[:10]]
    assert not {"0 of 3", "3 of 3"} & set(first_ten)
    assert any(reason.startswith("0 of 0") for reason in todo.reason)
    assert len(set(q.undecided(rows, number=30).topic)) > 5  # not the first topic's alone
    assert len(q.undecided(rows, most=3)) == 1  # but for the one that nobody judged


def test_by_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    rows, truth = crowd(200, 3, seed=11)
    q.save(rows, "crowd.tsv")
    q.save(truth, "truth.qrels")
    main(["next", "crowd.tsv", "-n", "7", "-o", "next.tsv"])
    lines = Path("next.tsv").read_text(encoding="utf-8").splitlines()
    assert lines[0] == "topic\tdoc\treason\tworth\tp_wrong\tprobability\tgoal"
    assert len(lines) == 8
    main(["progress", "crowd.tsv", "--risk", "0.2", "-o", "state.tsv"])
    assert "200 labels at risk 0.2 and at most 9 votes" in capsys.readouterr().err
    header = Path("state.tsv").read_text(encoding="utf-8").splitlines()[0]
    assert header == "topic\tdoc\tvotes\tlabel\tstate\tp_change"
    with pytest.raises(SystemExit, match="2"):
        main(["progress", "crowd.tsv", "--gold", "truth.qrels"])
    assert "say --sampled random" in capsys.readouterr().err
    q.save(q.sample(rows, 60, seed=1).labelled(truth), "sample.tsv")
    main(["progress", "crowd.tsv", "--gold", "sample.tsv", "-o", "state.tsv"])
    assert "of labels are wrong now" in capsys.readouterr().err
    assert "p_wrong" in Path("state.tsv").read_text(encoding="utf-8").splitlines()[0]


def test_what_progress_refuses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    rows, _ = crowd(60, 3, seed=11)
    q.save(rows, "crowd.tsv")
    preferences = "topic\tbetter\tworse\tassessor\nt\ta\tb\tw1\nt\tb\tc\tw2\n"
    Path("preferences.tsv").write_text(preferences, encoding="utf-8")
    for line, code, message in (
        (["progress", "crowd.tsv", "--risk", "0.5"], 2, "risk must be above 0 and below .5"),
        (["progress", "crowd.tsv", "--risk", "0"], 2, "risk must be above 0 and below .5"),
        (["progress", "crowd.tsv", "--risk", "-1"], 2, "risk must be above 0 and below .5"),
        (["progress", "crowd.tsv", "-m", "P@10"], 2, "-m is a measure of --runs"),
        (["progress", "crowd.tsv", "--depth", "10"], 2, "--depth is about --runs"),
        (["next", "crowd.tsv", "--goal", "systems"], 2, "--goal systems needs --runs"),
        (["next", "crowd.tsv", "--goal", "relevant"], 2, "--goal relevant needs --runs"),
        (["progress", "preferences.tsv"], 1, "preferences"),
        (["next", "preferences.tsv"], 1, "preferences"),
        (["loop", "preferences.tsv", "--gold", "crowd.tsv"], 1, "preferences"),
    ):
        with pytest.raises(SystemExit, match=str(code)):
            main([*line, "-o", "out.tsv"])
        error = capsys.readouterr().err
        assert message in error, (line, error)
        assert len(error.strip().splitlines()) == 1
        assert not Path("out.tsv").exists()


# --- which judgement tells systems apart ----------------------------------------------------------


def judged(part: float, seed: int = 3) -> tuple[q.Collection, q.Judgements]:
    made = q.simulate(topics=12, documents=60, runs=10, assessors=3, votes=1, seed=seed)
    chosen = np.random.default_rng(seed).random(len(made.truth)) < part
    some = made.truth.binary(1).select(chosen)
    rows = q.Judgements.of(
        some.pairs.topic_names, some.pairs.document_names, ["expert"] * len(some), some.grade
    )
    return made, rows.with_pool(made.truth.pairs)


def told(made: q.Collection, rows: q.Judgements, measure: str = "AP") -> q.Couples:
    return q.couples(rows, made.runs, q.MajorityVote().fit(rows), measure)


@pytest.mark.parametrize("measure", ["AP", "P@10", "DCG@20", "RBP"])
def test_with_all_judged_runs_have_their_scores_and_nothing_is_worth_anything(measure: str) -> None:
    made, rows = judged(1.0)
    couples = told(made, rows, measure)
    scores = q.evaluate(made.runs, made.truth.binary(1), measure)
    assert couples.expected == pytest.approx(scores.values.mean(axis=-2).ravel(), abs=1e-12)
    assert (couples.worth == 0).all()
    with pytest.raises(UsageError, match="can change a score any more"):
        couples.worklist(5)


def test_weights_of_average_precision_are_its_derivative() -> None:
    made, rows = judged(0.3)
    task = Task(made.runs, rows.pairs, tuple(measures_of("AP")), False)
    p = np.random.default_rng(1).random(len(rows.pairs))
    before, weights = _average_precision(task, p)
    for pair in (0, 17, 400):
        moved = p.copy()
        moved[pair] += 1e-6
        change = (_average_precision(task, moved)[0] - before) / 1e-6
        assert change == pytest.approx(weights[:, pair], abs=1e-7)


def test_decided_couples_are_rarely_wrong() -> None:
    wrong = stated = number = 0.0
    for seed in range(8):
        made, rows = judged(0.3, seed)
        couples = told(made, rows)
        true = q.evaluate(made.runs, made.truth.binary(1), "AP").values.mean(axis=-2).ravel()
        upper = np.triu_indices(len(true), 1)
        decided = couples.error[upper] <= 0.05
        better = np.subtract.outer(couples.expected, couples.expected)[upper] > 0
        really = np.subtract.outer(true, true)[upper] > 0
        wrong += float((better != really)[decided].sum())
        stated += float(couples.error[upper][decided].sum())
        number += float(decided.sum())
    assert number > 150
    assert wrong / number < 0.05
    assert wrong <= stated + 8


def test_pairs_are_drawn_with_the_probabilities_that_are_written() -> None:
    made, rows = judged(0.2)
    couples = told(made, rows)
    names = zip(rows.pairs.topic_names, rows.pairs.document_names, strict=True)
    places = {name: at for at, name in enumerate(names)}
    seen = np.zeros(len(rows.pairs))
    chance = np.full(len(rows.pairs), np.nan)
    for seed in range(300):
        todo = couples.worklist(40, seed)
        at = [places[name] for name in zip(todo.topic, todo.document, strict=True)]
        seen[at] += 1
        chance[at] = todo.probability
        assert len(todo) == 40
        assert not couples.judged[at].any()
    drawn = seen > 0
    assert abs((seen[drawn] / 300 - chance[drawn]).mean()) < 0.01
    often = chance > 0.3
    assert np.abs(seen[often] / 300 - chance[often]).max() < 0.12
    assert (chance[drawn] > 0).all()
    assert "couples of runs are decided by AP" in couples.worklist(3).notes[0]
    rest = couples.worklist(10**6)  # at most so many: all that can change a score
    assert len(rest) == (couples.worth > 0).sum()
    assert (rest.probability == 1).all()


def test_systems_by_command_and_what_it_refuses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    made, rows = judged(0.3)
    q.save(rows, "crowd.tsv")
    q.save(made.runs, "runs.tsv")
    systems = ["next", "crowd.tsv", "--goal", "systems"]
    main([*systems, "--runs", "runs.tsv", "-n", "20", "-o", "next.tsv"])
    lines = Path("next.tsv").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 21
    assert all(0 < float(line.split("\t")[-2]) <= 1 for line in lines[1:])
    assert "couples of runs are decided by AP" in capsys.readouterr().err
    graded = [f"{line}\t{'1' if at else 'grade'}" for at, line in enumerate(lines)]
    Path("human.tsv").write_text("\n".join(graded) + "\n", encoding="utf-8")
    with pytest.raises(SystemExit, match="1"):
        main(["judges", "crowd.tsv", "--human", "human.tsv"])
    assert "no score can be estimated" in capsys.readouterr().err
    main(["next", "crowd.tsv", "--goal", "relevant", "--runs", "runs.tsv", "-o", "likely.tsv"])
    table = [line.split("\t") for line in Path("likely.tsv").read_text("utf-8").splitlines()[1:]]
    truth = made.truth.binary(1)
    names = zip(truth.pairs.topic_names, truth.pairs.document_names, strict=True)
    relevant = dict(zip(names, truth.grade.tolist(), strict=True))
    first, last = table[: len(table) // 4], table[-len(table) // 4 :]
    found = [np.mean([relevant[row[0], row[1]] for row in part]) for part in (first, last)]
    assert found[0] > 2 * found[1]
    assert not {row[5] for row in table} - {""}
    main(["progress", "crowd.tsv", "--runs", "runs.tsv", "-m", "P@10", "-o", "state.tsv"])
    assert "couples of runs are decided by P@10" in capsys.readouterr().err
    main([*systems, "--runs", "runs.tsv", "-o", "next.tsv", "--depth", "60"])
    main(["progress", "crowd.tsv", "--runs", "runs.tsv", "-o", "state.tsv", "--depth", "60"])
    both = [line for line in capsys.readouterr().err.splitlines() if "couples of runs" in line]
    assert len(both) == 2
    assert both[0] == both[1]  # over the same pool, unjudged documents too
    main([*systems, "--runs", "runs.tsv", "-n", "20", "--uniform", "0.1", "-o", "tenth.tsv"])
    goals = [line.split("\t")[-1] for line in Path("tenth.tsv").read_text("utf-8").splitlines()]
    assert goals.count("uniform") == 2
    for more, message in (
        ([], "needs --runs"),
        (["--runs", "runs.tsv", "-m", "nDCG@10"], "by AP, P@k, DCG@k or RBP"),
        (["--runs", "runs.tsv", "--documents", "crowd.tsv"], "are for --goal errors"),
    ):
        with pytest.raises(SystemExit, match="2"):
            main([*systems, *more])
        assert message in capsys.readouterr().err
