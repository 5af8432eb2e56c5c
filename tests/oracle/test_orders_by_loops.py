"""Methods that merge orders against slow plain loops."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy.optimize import approx_fprime, minimize

import qrowd as q
from qrowd.aggregation.orders.crowd_bt import _noisy
from qrowd.aggregation.orders.noisy_bt import _sided
from qrowd.aggregation.orders.plackett_luce import choices

BALLOTS = [
    ("x", {"a": 1, "b": 2, "c": 2, "d": 3}),
    ("y", {"a": 1, "b": 1, "d": 2}),
    ("x", {"d": 1, "c": 2}),
    ("z", {"b": 1, "c": 2, "a": 3}),
    ("z", {"c": 1, "a": 1}),
    ("y", {"a": 1, "c": 1, "b": 1, "d": 2}),
]
DOCS = "abcd"


def orders() -> q.Orders:
    rows = [
        ("t", doc, who, place, f"s{number}")
        for number, (who, places) in enumerate(BALLOTS)
        for doc, place in places.items()
    ]
    topics, documents, assessors, places, sets = (list(c) for c in zip(*rows, strict=True))
    return q.Orders.of(topics, documents, assessors, np.array(places), sets)


def davidson_luce(at: list[float]) -> float:
    """Minus the log posterior, by enumeration of all sets of documents that are left."""
    worth, most = dict(zip(DOCS, at, strict=False)), 3
    log_delta = {1: 0.0, 2: at[4], 3: at[5]}

    def weight(chosen: tuple[str, ...]) -> float:
        return math.exp(log_delta[len(chosen)] + sum(worth[d] for d in chosen) / len(chosen))

    total = sum(x * x for x in at) / 18
    for _, places in BALLOTS:
        left = sorted(places)
        for place in sorted(set(places.values())):
            chosen = tuple(d for d in left if places[d] == place)
            if len(left) > 1:
                every = [
                    s
                    for k in range(1, min(most, len(left)) + 1)
                    for s in itertools.combinations(left, k)
                ]
                total -= math.log(weight(chosen) / sum(weight(s) for s in every))
            left = [d for d in left if d not in chosen]
    return total


def noisy(at: list[float]) -> float:
    """The same for Chen et al.'s model with an accuracy of x, y and z."""
    worth, logit = dict(zip(DOCS, at, strict=False)), dict(zip("xyz", at[4:], strict=True))

    def sigma(x: float) -> float:
        return 1 / (1 + math.exp(-x))

    total = sum(worth[d] ** 2 for d in DOCS) / 18
    for eta in map(sigma, logit.values()):
        total -= 10 * math.log(eta) + math.log(1 - eta)
    for who, places in BALLOTS:
        eta, m = sigma(logit[who]), len(places)
        for i, j in itertools.permutations(places, 2):
            share = 1.0 if places[i] < places[j] else 0.5 if places[i] == places[j] else 0.0
            right = sigma(worth[i] - worth[j])
            total -= share * 2 / m * math.log(eta * right + (1 - eta) * (1 - right))
    return total


def lowest(function: Callable[[list[float]], float], start: list[float]) -> np.ndarray:
    found = minimize(function, start, method="BFGS", options={"gtol": 1e-7})
    return np.asarray(found.x)


def test_plackett_luce_with_ties() -> None:
    found = q.PlackettLuce().fit(orders())
    made, most = choices(orders(), 3.0, 3.0)
    assert most == 3
    at = np.append(found.worth, np.log([found.details["delta(2)"], found.details["delta(3)"]]))
    for point in (at, np.array([0.3, -1.0, 0.2, 2.0, 0.5, -0.7])):
        assert made.value(point) == pytest.approx(davidson_luce(point.tolist()), abs=1e-8)
    assert np.abs(made.slope(at)[0]).max() < 1e-8
    assert np.allclose(at, lowest(davidson_luce, [0.0] * 6), atol=1e-5)
    assert found.fit.trace[-1] == pytest.approx(-davidson_luce(at.tolist()), abs=1e-8)


def test_crowd_bt() -> None:
    found = q.CrowdBT().fit(orders())
    made = _noisy(orders(), 3.0, (10.0, 1.0))
    at = np.append(found.worth, found.assessors["logit"])
    for point in (at, np.array([0.3, -1.0, 0.2, 2.0, 0.5, -0.7, 1.0])):
        assert made.value(point) == pytest.approx(noisy(point.tolist()), abs=1e-8)
    assert np.abs(made.slope(at)[0]).max() < 1e-8
    assert np.allclose(at, lowest(noisy, [0.0] * 4 + [2.3] * 3), atol=1e-5)


@pytest.mark.parametrize("which", ["plackett-luce", "crowd-bt"])
def test_derivatives_and_deviations(which: str) -> None:
    point = np.array([0.3, -1.0, 0.2, 2.0, 0.5, -0.7, 1.0])
    made = (
        choices(orders(), 3.0, 3.0)[0]
        if which == "plackett-luce"
        else _noisy(orders(), 3.0, (10, 1))
    )
    point = point[: 6 if which == "plackett-luce" else 7]
    gradient, product, _ = made.slope(point)
    assert np.allclose(gradient, approx_fprime(point, made.value, 1e-7), atol=1e-5)
    whole = made.hessian(point).toarray()
    assert np.allclose(whole, np.stack([product(e) for e in np.eye(len(point))]), atol=1e-10)
    numeric = np.stack(
        [approx_fprime(point, lambda x, k=k: made.slope(x)[0][k], 1e-7) for k in range(len(point))]
    )
    assert np.allclose(whole, numeric, atol=1e-5)


@pytest.mark.parametrize("id", ["plackett-luce", "crowd-bt"])
def test_deviations_are_those_of_the_whole_inverse(id: str) -> None:
    found = q.get(id).fit(orders())
    if id == "crowd-bt":
        at = np.append(found.worth, found.assessors["logit"])
        hessian = _noisy(orders(), 3.0, (10.0, 1.0)).hessian(at).toarray()
    else:
        at = np.append(found.worth, np.log([found.details["delta(2)"], found.details["delta(3)"]]))
        hessian = choices(orders(), 3.0, 3.0)[0].hessian(at).toarray()
    inverse = np.linalg.inv(hessian)[:4, :4]
    centre = np.eye(4) - 0.25
    assert np.allclose(found.deviation, np.sqrt(np.diag(centre @ inverse @ centre)), rtol=1e-8)
    ((pairs, covariance),) = found.blocks
    assert pairs.tolist() == [0, 1, 2, 3]
    assert np.allclose(covariance, centre @ inverse @ centre, rtol=1e-7, atol=1e-10)


def test_for_preferences_it_is_bradley_and_terry() -> None:
    made = q.Orders.of_preferences(["t"] * 4, list("aaab"), list("bbbc"), ["x"] * 4)
    found = q.PlackettLuce(spread=100.0).fit(made)
    free = q.Orders.of_preferences(["t"] * 4, list("aaab"), list("bbba"), ["x"] * 4)
    assert found.worth[0] > found.worth[1] > found.worth[2]
    even = q.PlackettLuce(spread=None).fit(free)
    assert even.worth[0] - even.worth[1] == pytest.approx(math.log(3), abs=1e-9)


def test_large_components_have_nearly_the_same_deviations(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(0)
    one = random.integers(0, 60, 3000)
    other = (one + random.integers(1, 60, 3000)) % 60
    names = np.array([f"d{at:02}" for at in range(60)])
    made = q.Orders.of_preferences(
        ["t"] * 3000, names[one].tolist(), names[other].tolist(), ["x"] * 3000
    )
    exact = q.PlackettLuce().fit(made).deviation
    monkeypatch.setattr("qrowd.aggregation.worths.DENSE", 10)
    near = q.PlackettLuce().fit(made)
    assert near.blocks == ()
    assert "approximate" in " ".join(near.fit.notes)
    assert np.allclose(near.deviation, exact, rtol=0.03)


def test_too_many_ways_to_tie_are_refused() -> None:
    made = q.Orders.of(["t"] * 20, [f"d{at}" for at in range(20)], ["x"] * 20, np.ones(20))
    with pytest.raises(q.errors.InputError, match="use gauss-rank or borda"):
        q.PlackettLuce().fit(made)


def test_borda() -> None:
    found = q.Borda().fit(orders())
    points: dict[str, list[float]] = {doc: [] for doc in DOCS}
    for _, places in BALLOTS:
        for doc in places:
            below = sum(places[o] > places[doc] for o in places)
            tied = sum(places[o] == places[doc] for o in places) - 1
            points[doc].append((below + tied / 2) / (len(places) - 1))
    assert np.allclose(found.worth, [np.mean(points[doc]) for doc in DOCS], atol=1e-12)


# left, right and winner of each answer, and minus the log-likelihood that crowd-kit 1.4.2's own
# NoisyBradleyTerry._compute_log_likelihood has for them (without its regularization)
SIDED = [
    *[("w1", "a", "b", "a"), ("w2", "a", "b", "b"), ("w1", "b", "c", "b"), ("w2", "c", "a", "c")],
    *[("w3", "b", "a", "b"), ("w3", "c", "b", "b"), ("w2", "b", "c", "b"), ("w1", "c", "a", "a")],
    *[("w3", "a", "c", "c"), ("w2", "b", "a", "b")],
]
WORTHS, BIASES, SKILLS = [0.3, -1.0, 0.2], [0.5, -0.7, 1.0], [2.0, 0.1, -0.4]
CROWD_KIT = 9.615814310516942


def sided_orders() -> q.Orders:
    who, left, right, won = (list(column) for column in zip(*SIDED, strict=True))
    lost = [a if c == b else b for a, b, c in zip(left, right, won, strict=True)]
    stood_left = [a == c for a, c in zip(left, won, strict=True)]
    return q.Orders.of_preferences(
        ["t"] * len(who), won, lost, who, left=np.array(stood_left, float)
    )


def sided(at: list[float]) -> float:
    """Minus the log posterior of noisy-bt with its own priors."""
    worth = dict(zip("abc", at, strict=False))
    gamma = dict(zip(("w1", "w2", "w3"), at[3:6], strict=True))
    beta = dict(zip(("w1", "w2", "w3"), at[6:], strict=True))

    def sigma(x: float) -> float:
        return 1 / (1 + math.exp(-x))

    total = sum(each**2 for each in worth.values()) / 18
    for each in gamma.values():
        total -= 10 * math.log(sigma(each)) + math.log(1 - sigma(each))
    for each in beta.values():
        total -= math.log(sigma(each)) + math.log(1 - sigma(each))
    for who, left, right, won in SIDED:
        y, g = (1 if won == left else -1), sigma(gamma[who])
        looked = sigma(y * (worth[left] - worth[right]))
        total -= math.log(g * looked + (1 - g) * sigma(y * beta[who]))
    return total


def test_noisy_bt() -> None:
    bare = _sided(sided_orders(), None, ((0.0, 0.0), (0.0, 0.0)))
    assert bare.value(np.array(WORTHS + SKILLS + BIASES)) == pytest.approx(CROWD_KIT, abs=1e-12)
    assert bare.value(np.zeros(9)) == pytest.approx(10 * math.log(2), abs=1e-12)
    made = _sided(sided_orders(), 3.0, ((10.0, 1.0), (1.0, 1.0)))
    point = np.array(WORTHS + SKILLS + BIASES)
    assert made.value(point) == pytest.approx(sided(point.tolist()), abs=1e-10)
    gradient, product, _ = made.slope(point)
    assert np.allclose(gradient, approx_fprime(point, made.value, 1e-7), atol=1e-5)
    whole = made.hessian(point).toarray()
    assert np.allclose(whole, np.stack([product(e) for e in np.eye(9)]), atol=1e-10)
    numeric = [approx_fprime(point, lambda x, k=k: made.slope(x)[0][k], 1e-7) for k in range(9)]
    assert np.allclose(whole, np.stack(numeric), atol=1e-5)
    found = q.NoisyBT().fit(sided_orders())
    best = lowest(sided, [0.0] * 3 + [math.log(10)] * 3 + [0.0] * 3)
    assert np.allclose(found.worth, best[:3], atol=1e-5)
    assert np.allclose(found.assessors["left"], 1 / (1 + np.exp(-best[6:])), atol=1e-5)


def test_noisy_bt_without_sides_is_crowd_bt_of_half_the_errors() -> None:
    made = q.Orders.of_preferences(["t"] * 4, list("aaab"), list("bbbc"), ["x"] * 4)
    bare = _sided(made, 3.0, ((0.0, 0.0), (0.0, 0.0)))
    other = _noisy(made, 3.0, (0.0, 0.0))
    gamma = 0.6
    eta = (1 + gamma) / 2
    worths = [0.3, -1.0, 0.2]
    noisy_at = np.array([*worths, math.log(gamma / (1 - gamma)), 0.7])
    crowd_at = np.array([*worths, math.log(eta / (1 - eta))])
    assert bare.value(noisy_at) == pytest.approx(other.value(crowd_at), abs=1e-12)
    assert "as crowd-bt" in " ".join(q.NoisyBT().fit(made).fit.notes)


def test_a_choice_of_the_best_says_nothing_of_the_rest() -> None:
    """By hand: P = e^a / (e^a + e^b + e^c), and no more."""
    chosen = q.Orders.of(["t"] * 3, list("abc"), ["x"] * 3, np.array([1, 2, 2]), rest=np.ones(3))
    made, most = choices(chosen, None, 3.0)
    assert most == 1
    at = np.array([0.4, -0.3, 1.1])
    assert made.value(at) == pytest.approx(math.log(np.exp(at).sum()) - at[0], abs=1e-12)
    couples = chosen.comparisons()
    assert couples.tied.sum() == 0
    assert sorted(zip(couples.first.tolist(), couples.second.tolist(), strict=True)) == [
        (0, 1),
        (0, 2),
    ]
    nobody = q.Orders.of(["t"] * 2, list("ab"), ["x"] * 2, np.array([2, 2]), rest=np.ones(2))
    assert q.PlackettLuce().fit(nobody).worth.tolist() == [0.0, 0.0]
