"""Quality of orders."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import kendalltau

import qrowd as q
from qrowd.cli.main import main
from qrowd.quality.against_gold import ndcg_score, problems_of


def test_the_worked_example_from_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ranks = "".join(f"t\td{at}\tw\t{at}\n" for at in range(1, 6))
    (tmp_path / "ranks.tsv").write_text(f"topic\tdoc\tassessor\tplace\n{ranks}")
    gold = "".join(f"t 0 d{at} {grade}\n" for at, grade in enumerate((1, 2, 2, 0, 1), 1))
    (tmp_path / "gold.qrels").write_text(gold)
    files = [str(tmp_path / name) for name in ("ranks.tsv", "gold.qrels")]
    main(["quality", "--orders", files[0], "--gold", files[1], "-q"])
    header, row = capsys.readouterr().out.splitlines()
    found = dict(zip(header.split("\t"), row.split("\t"), strict=True))
    assert float(found["ndcg"]) == 0.6581843208681687
    table = q.order_checks(q.read_orders(files[0]), q.read_qrels(files[1]))
    assert table["ndcg"].tolist() == [0.6581843208681687]


def made(**changes: object) -> q.Collection:
    return q.simulate(topics=4, documents=20, assessors=6, votes=3, runs=0, orders=True, **changes)


@pytest.mark.parametrize("consistent", [True, False])
def test_checks_by_loops(consistent: bool) -> None:
    found = made(consistent=consistent, grades=3)
    assert found.orders is not None
    table = q.order_checks(found.orders, found.truth, found.judgements)
    grades = {(t, d): g for t, d, g in found.truth.to_polars().rows()}
    said = {row[:3]: row[3] for row in found.judgements.to_polars().rows()}
    scores: dict[str, list[float]] = {name: [] for name in found.orders.assessors}
    passes: dict[str, list[bool]] = {name: [] for name in found.orders.assessors}
    for (who, _), part in found.orders.to_polars().group_by("assessor", "set"):
        rows = part.rows()
        gold, places = [grades[row[:2]] for row in rows], [row[3] for row in rows]
        if max(gold) > 0:
            scores[str(who)].append(ndcg_score(gold, places))
        own = [said[row[:3]] for row in rows]
        passes[str(who)].append(not problems_of(own, places))
    expected = [float(np.mean(each)) if each else np.nan for each in scores.values()]
    assert np.allclose(table["ndcg"], expected, equal_nan=True)
    assert np.allclose(table["compatible"], [np.mean(each) for each in passes.values()])


def test_agreement_by_loops() -> None:
    found = made(consistent=False)
    assert found.orders is not None
    rows = found.orders.to_polars()
    ballots = [
        (str(who), topic, dict(zip(part["doc"], part["place"], strict=True)))
        for (who, topic, _), part in rows.group_by("assessor", "topic", "set")
    ]
    taus, ws = [], {}  # type: ignore[var-annotated]
    for one, two in itertools.combinations(ballots, 2):
        shared = sorted({*one[2]} & {*two[2]})
        if one[1] == two[1] and len(shared) > 1:
            taus.append(kendalltau(*[[b[2][d] for d in shared] for b in (one, two)]).statistic)
    for _, topic, places in ballots:
        ws.setdefault((topic, *sorted(places)), []).append([places[d] for d in sorted(places)])
    w = []
    for ranks in (np.array(each) for each in ws.values()):
        (m, n), sums = ranks.shape, ranks.sum(axis=0)
        w.append(12 * ((sums - sums.mean()) ** 2).sum() / (m**2 * (n**3 - n)))
    result = q.order_agreement(found.orders, bootstrap=50)
    assert result["mean_tau"].value == pytest.approx(np.mean(taus))
    assert result["kendall_w"].value == pytest.approx(np.mean(w))
    assert result["mean_tau"].low <= result["mean_tau"].value <= result["mean_tau"].high


def test_cycles() -> None:
    circle = q.Orders.of_preferences(["t"] * 4, list("abca"), list("bcad"), list("wxyz"))
    assert q.order_agreement(circle, bootstrap=0)["cyclic"].value == pytest.approx(3 / 4)
    line = q.Orders.of_preferences(["t"] * 3, list("aab"), list("bcc"), list("wxy"))
    assert q.order_agreement(line, bootstrap=0)["cyclic"].value == 0
