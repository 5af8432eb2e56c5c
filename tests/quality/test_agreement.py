"""Agreement coefficients against published worked examples, other packages and plain loops."""

from __future__ import annotations

import itertools
import math
from functools import partial

import numpy as np
import pytest

import qrowd
from qrowd.data.arrays import Array
from qrowd.errors import ParameterError
from qrowd.quality.agreement import (
    COEFFICIENTS,
    LEVELS,
    agreement,
    alpha,
    corrected,
    counts_of,
    krippendorff_alpha,
    pair_agreement,
)
from qrowd.quality.independence import cohen

raw, fleiss, ac1 = (partial(corrected, name) for name in ("raw", "fleiss", "ac1"))

# Fleiss (1971), Table 1: 30 patients, six psychiatrists each, five diagnoses.
FLEISS = """0 0 0 6 0|0 3 0 0 3|0 1 4 0 1|0 0 0 0 6|0 3 0 3 0|2 0 4 0 0
0 0 4 0 2|2 0 3 1 0|2 0 0 4 0|0 0 0 0 6|1 0 0 5 0|1 1 0 4 0
0 3 3 0 0|1 0 0 5 0|0 2 0 3 1|0 0 5 0 1|3 0 0 1 2|5 1 0 0 0
0 2 0 4 0|1 0 2 0 3|0 0 0 0 6|0 1 0 5 0|0 2 0 1 3|2 0 0 4 0
1 0 0 4 1|0 5 0 1 0|4 0 0 0 2|0 2 0 4 0|1 0 5 0 0|0 0 0 0 6"""

# Krippendorff (2011), "Computing Krippendorff's alpha-reliability", four observers.
FOUR = """1 2 3 3 2 1 4 1 2 . . .
1 2 3 3 2 2 4 1 2 5 . 3
. 3 3 3 2 3 4 2 2 5 1 .
1 2 3 3 2 4 4 1 2 5 1 ."""


def judgements_of(table: str) -> qrowd.Judgements:
    rows = [
        ("t", f"d{unit:02}", f"a{observer}", int(grade))
        for observer, line in enumerate(table.splitlines())
        for unit, grade in enumerate(line.split())
        if grade != "."
    ]
    return qrowd.Judgements.of(*map(list, zip(*rows, strict=True)))


def counts_in(text: str) -> Array:
    return np.array([[int(n) for n in row.split()] for row in text.replace("\n", "|").split("|")])


def crowd(seed: int, grades: int = 3, pairs: int = 60, assessors: int = 9) -> qrowd.Judgements:
    random = np.random.default_rng(seed)
    truth = random.integers(0, grades, pairs)
    rows = [
        (f"t{pair % 4}", f"d{pair:03}", f"a{who}", int(grade))
        for pair in range(pairs)
        for who in range(assessors)
        if random.random() < 0.4
        for grade in [truth[pair] if random.random() < 0.6 else random.integers(0, grades)]
    ]
    scale = qrowd.Scale(tuple(range(grades)))
    return qrowd.Judgements.of(*map(list, zip(*rows, strict=True)), scale=scale)


def test_fleiss_reproduces_the_paper_of_1971() -> None:
    counts = counts_in(FLEISS)
    assert counts.shape == (30, 5)
    assert fleiss(counts)[0] == pytest.approx(0.430, abs=5e-4)
    assert raw(counts)[0] == pytest.approx(0.5556, abs=5e-5)


@pytest.mark.parametrize(
    ("level", "value"),
    [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849), ("ratio", 0.797)],
)
def test_alpha_reproduces_krippendorff_2011(level: str, value: float) -> None:
    found = krippendorff_alpha(judgements_of(FOUR), level)
    assert found == pytest.approx(value, abs=6e-4)


def test_ac1_of_a_two_by_two_table() -> None:
    # Gwet (2008): 125 subjects, (+,+) 118, (+,-) 5, (-,+) 2, (-,-) 0.
    counts = np.array([[2, 0]] * 118 + [[1, 1]] * 7)
    pi = (118 * 2 + 7) / 250
    expected = 2 * pi * (1 - pi)
    assert ac1(counts)[0] == pytest.approx((118 / 125 - expected) / (1 - expected))
    assert ac1(counts)[0] == pytest.approx(0.9408, abs=5e-4)
    assert fleiss(counts)[0] < 0  # where kappa collapses


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("seed", range(4))
def test_alpha_equals_the_krippendorff_package(level: str, seed: int) -> None:
    package = pytest.importorskip("krippendorff", reason="an oracle of the development tools")
    counts = counts_of(crowd(seed, grades=5))
    grades = np.arange(5)
    theirs = package.alpha(
        value_counts=counts, value_domain=grades.tolist(), level_of_measurement=level
    )
    assert alpha(counts, grades, level)[0] == pytest.approx(theirs, abs=1e-12)


def test_coefficients_equal_plain_loops_over_couples() -> None:
    counts = counts_of(crowd(7))
    observed, shares = [], []
    for row in counts:
        labels = [grade for grade, n in enumerate(row) for _ in range(n)]
        if len(labels) > 1:
            couples = list(itertools.permutations(labels, 2))
            observed.append(sum(a == b for a, b in couples) / len(couples))
        if labels:
            shares.append([labels.count(grade) / len(labels) for grade in range(3)])
    po, pi = np.mean(observed), np.mean(shares, axis=0)
    pe, pg = (pi**2).sum(), (pi * (1 - pi)).sum() / 2
    assert raw(counts)[0] == pytest.approx(po)
    assert fleiss(counts)[0] == pytest.approx((po - pe) / (1 - pe))
    assert ac1(counts)[0] == pytest.approx((po - pg) / (1 - pg))


# irrCAC 0.4.4 (an older numpy than ours), CAC(ratings).gwet()/fleiss()/krippendorff(), on the
# ratings of FOUR: the figures printed by the package.
IRRCAC = {"ac1": 0.77544, "fleiss": 0.76117, "alpha-nominal": 0.74342}


@pytest.mark.parametrize("name", IRRCAC)
def test_coefficients_equal_irrcac(name: str) -> None:
    found = agreement(judgements_of(FOUR), bootstrap=0)[name].value
    assert found == pytest.approx(IRRCAC[name], abs=1e-5)


def test_unanimous_and_lone_judgements() -> None:
    assert raw(np.array([[3, 0], [0, 2]]))[0] == 1
    assert fleiss(np.array([[3, 0], [0, 2]]))[0] == 1
    assert alpha(np.array([[3, 0], [0, 2]]), np.array([0, 1]))[0] == 1
    assert math.isnan(alpha(np.array([[3, 0], [2, 0]]), np.array([0, 1]))[0])
    assert math.isnan(raw(np.array([[1, 0], [0, 1]]))[0])


def test_one_assessor_counts_once_per_pair() -> None:
    twice = qrowd.Judgements.of(["t"] * 4, ["d"] * 4, ["a", "a", "a", "b"], [1, 1, 0, 1])
    assert counts_of(twice).tolist() == [[0, 2]]


def test_bootstrap_is_seeded_and_covers_the_value() -> None:
    data = crowd(3)
    first, again = agreement(data, seed=5), agreement(data, seed=5)
    other = agreement(data, seed=6)
    for name in COEFFICIENTS:
        assert repr(first[name]) == repr(again[name])  # whose standard error may be NaN
        assert first[name].low < first[name].value < first[name].high
    assert first["raw"] != other["raw"]


def test_bootstrap_equals_resampling_pairs_one_by_one() -> None:
    data = crowd(11, pairs=120)
    counts, random = counts_of(data), np.random.default_rng(1)
    drawn = [fleiss(counts[random.integers(0, len(counts), len(counts))])[0] for _ in range(3000)]
    low, high = np.quantile(drawn, [0.05, 0.95])
    quick = agreement(data, coefficients=("fleiss",), bootstrap=3000)["fleiss"]
    assert (quick.low, quick.high) == pytest.approx((low, high), abs=0.012)


def test_intervals_cover_the_truth_of_a_known_crowd() -> None:
    # Two coin-flippers with accuracy .8 on balanced pairs agree with probability .68.
    random = np.random.default_rng(0)
    hits = 0
    for _ in range(200):
        truth = random.integers(0, 2, 150)
        votes = (truth[:, None] ^ (random.random((150, 4)) > 0.8)).astype(int)
        counts = np.stack([(votes == 0).sum(1), votes.sum(1)], axis=1)
        times = random.multinomial(150, np.full(150, 1 / 150), size=300)
        low, high = np.quantile(raw(counts, times), [0.05, 0.95])
        hits += low <= 0.68 <= high
    assert 180 <= hits <= 200


def test_per_topic_equals_the_topic_by_itself() -> None:
    data = crowd(2)
    whole = agreement(data, per_topic=True, bootstrap=50)
    assert list(whole.per_topic) == ["t0", "t1", "t2", "t3"]
    for topic, values in whole.per_topic.items():
        alone = agreement(data[qrowd.Index.of([topic])], bootstrap=0)
        for name in COEFFICIENTS:
            assert values[name].value == pytest.approx(alone[name].value)


def test_drawing_topics_is_wider_where_topics_differ() -> None:
    random = np.random.default_rng(4)
    rows = [
        (f"t{t}", f"d{d}", f"a{a}", 0 if random.random() < 0.5 + 0.05 * t else 1)
        for t in range(10)
        for d in range(30)
        for a in range(3)
    ]
    data = qrowd.Judgements.of(*map(list, zip(*rows, strict=True)))
    pairs = agreement(data, coefficients=("raw",))["raw"]
    topics = agreement(data, coefficients=("raw",), resample="topics")["raw"]
    assert topics.high - topics.low > 1.5 * (pairs.high - pairs.low)


def test_cohen_equals_a_plain_loop() -> None:
    data = crowd(8)
    matrix = cohen(data)
    answers = {(a, p): g for p, a, g in zip(data.pair, data.assessor, data.grade, strict=True)}
    for one, two in itertools.combinations(range(len(data.assessors)), 2):
        both = [
            (answers[one, p], answers[two, p])
            for p in range(len(data.pairs))
            if (one, p) in answers and (two, p) in answers
        ]
        n = len(both)
        assert matrix.shared[one, two] == n
        po = sum(a == b for a, b in both) / n
        pe = sum(
            sum(a == g for a, _ in both) * sum(b == g for _, b in both) / n**2 for g in range(3)
        )
        assert matrix.raw[one, two] == pytest.approx(po)
        assert matrix.kappa[one, two] == pytest.approx((po - pe) / (1 - pe))
        assert matrix.kappa[two, one] == pytest.approx(matrix.kappa[one, two])


def test_cohen_of_the_busiest_and_their_order() -> None:
    data = crowd(8)
    few = cohen(data, most=4)
    busiest = np.sort(np.argsort(-data.per_assessor, kind="stable")[:4])
    assert list(few.assessors) == list(data.assessors.names[busiest])
    assert sorted(cohen(data).order()) == list(range(9))


def test_a_coefficient_without_an_interval_says_its_value_alone() -> None:
    crowd = qrowd.simulate("demo", seed=1).judgements
    without, with_ends = (str(agreement(crowd, bootstrap=n)["raw"]) for n in (0, 50))
    assert without == "0.649"
    assert with_ends.startswith("0.649 [0.")


def test_order_puts_alike_assessors_side_by_side() -> None:
    random = np.random.default_rng(0)
    one, two = random.integers(0, 2, (2, 80))
    rows = [
        ("t", f"d{d:02}", f"a{a}", int((one if a % 2 else two)[d] ^ (random.random() < 0.05)))
        for d in range(80)
        for a in range(8)
    ]
    data = qrowd.Judgements.of(*map(list, zip(*rows, strict=True)))
    order = cohen(data).order()
    assert len({int(a) % 2 for a in order[:4]}) == 1


def test_misuse_is_told() -> None:
    data = crowd(1)
    for wrong in ({"bootstrap": -1}, {"level": 1.5}, {"resample": "x"}, {"coefficients": ("q",)}):
        with pytest.raises(qrowd.errors.ParameterError):
            agreement(data, **wrong)
    with pytest.raises(qrowd.errors.ParameterError):
        alpha(np.array([[1, 1]]), np.array([0, 1]), "odd")


def test_very_many_topics_have_the_same_values_without_intervals(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    crowd = qrowd.simulate(
        "graded", topics=7, documents=12, assessors=9, votes=4, seed=5
    ).judgements
    few = qrowd.agreement(crowd, per_topic=True, bootstrap=3)
    monkeypatch.setattr("qrowd.quality.agreement.MOST_TOPICS", 6)
    monkeypatch.setattr("qrowd.quality.agreement._CELLS", 30)  # several blocks
    many = qrowd.agreement(crowd, per_topic=True, bootstrap=3)
    assert repr(many.overall) == repr(few.overall)  # some have a standard error of NaN
    assert list(many.per_topic) == list(crowd.topics)
    for topic, values in few.per_topic.items():
        for name, value in values.items():
            if name == "conger":  # which knows assessors, and not only counts
                assert name not in many.per_topic[topic]
                continue
            found = many.per_topic[topic][name]
            assert found.value == pytest.approx(value.value, abs=1e-12, nan_ok=True)
            assert np.isnan(found.low)
    assert "no intervals" in many.notes[0]
    assert few.notes == ()


# irrCAC 0.4.4 on the four observers: value and standard error
IRR_CAC = {
    "identity fleiss": (0.761169275, 0.153019203),
    "identity ac": (0.775444068, 0.142949951),
    "identity bp": (0.772727273, 0.14471662),
    "identity conger": (0.762066894, 0.150108795),
    "linear fleiss": (0.817944767, 0.148504355),
    "linear ac": (0.858739136, 0.117329022),
    "linear bp": (0.848484848, 0.123356124),
    "linear conger": (0.813137033, 0.145868197),
    "quadratic fleiss": (0.864935065, 0.146033611),
    "quadratic ac": (0.914000724, 0.103962245),
    "quadratic bp": (0.901515152, 0.110894375),
    "quadratic conger": (0.857168224, 0.144360791),
    "ordinal fleiss": (0.850206189, 0.147035694),
    "ordinal ac": (0.89893977, 0.106903524),
    "ordinal bp": (0.886363636, 0.113905904),
    "ordinal conger": (0.843082497, 0.14482254),
    "radical fleiss": (0.789924095, 0.150036458),
    "radical ac": (0.819811702, 0.128355525),
    "radical bp": (0.81262708, 0.132779375),
    "radical conger": (0.787646148, 0.147224349),
    "own fleiss": (0.839662252, 0.151680178),
    "own ac": (0.88322549, 0.117132956),
    "own bp": (0.876033058, 0.121781385),
    "own conger": (0.836709261, 0.149733016),
    "two linear conger": (0.730392157, 0.195594961),
    "two quadratic conger": (0.869976359, 0.170058976),
}
OWN = (
    (1, 0.9, 0.5, 0.2, 0),
    (0.9, 1, 0.8, 0.3, 0.1),
    (0.5, 0.8, 1, 0.6, 0.4),
    (0.2, 0.3, 0.6, 1, 0.7),
    (0, 0.1, 0.4, 0.7, 1),
)


@pytest.mark.parametrize("case", IRR_CAC)
def test_weights_and_standard_errors_of_irr_cac(case: str) -> None:
    *two, weights, name = case.split()
    observed = judgements_of(FOUR)
    if two:
        observed = observed.of_assessors(qrowd.Index.of(["a1", "a2"]))
    name = {"ac": "ac1" if weights == "identity" else "ac2"}.get(name, name)
    found = agreement(observed, weights=OWN if weights == "own" else weights, bootstrap=0)[name]
    assert found.value == pytest.approx(IRR_CAC[case][0], abs=1e-8)
    assert found.se == pytest.approx(IRR_CAC[case][1], abs=1e-8)


def test_conger_of_two_is_cohen() -> None:
    two = judgements_of(FOUR).of_assessors(qrowd.Index.of(["a1", "a3"]))
    both = two.of_pairs(counts_of(two).sum(axis=1) == 2)
    found = agreement(both, bootstrap=0, per_topic=True)
    assert found["conger"].value == pytest.approx(cohen(both).kappa[0, 1])
    assert found.per_topic["t"]["conger"] == found["conger"]
    assert found["conger"].low < found["conger"].value < found["conger"].high


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ("cubic", "weights must be one of"),
        (((1, 0), (0,)), r"weights must be 5 rows of 5 numbers"),
        (((1, 0), (0, 1)), r"weights must be 5 rows of 5 numbers .* the grades 1 2 3 4 5"),
        (np.full((5, 5), 0.5), "be 1 for equal grades"),
    ],
)
def test_weights_that_do_not_fit(weights: str, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        agreement(judgements_of(FOUR), weights=weights)


def test_pairs_as_crowd_kit_sees_them() -> None:
    """crowd-kit 1.4.2: uncertainty(aggregate=False), consistency(workers_skills, by_task=True)."""
    rows = ["1a1", "1b1", "1c0", "2a2", "2b2", "2c2", "3a0", "3c1", "3b0", "4a1", "4c1"]
    crowd = qrowd.Judgements.of(
        ["t"] * 11,
        [row[0] for row in rows],
        [row[1] for row in rows],
        [int(row[2]) for row in rows],
    )
    found = pair_agreement(crowd, skills=[0.9, 0.7, 0.6])
    np.testing.assert_allclose(found.uncertainty, [0.6365141682948128, 0, 0.6365141682948128, 0])
    expected = [0.9545454545454545, 0.9921259842519685, 0.9545454545454545, 0.9642857142857143]
    np.testing.assert_allclose(found.consistency, expected)
    np.testing.assert_array_equal(found.grade, [1, 2, 0, 1])
    np.testing.assert_allclose(pair_agreement(crowd).consistency, 1)  # a and b never disagree
    assert not np.signbit(pair_agreement(crowd).uncertainty).any()
    assert found.to_polars().columns[:3] == ["topic", "doc", "judgements"]
    with pytest.raises(ParameterError, match="one number for each of 3 assessors"):
        pair_agreement(crowd, skills=[0.9])
