"""The pictures of a sampled posterior, in the library, the command and the report."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import numpy as np
import pytest

import qrowd as q
from qrowd.cli.main import main
from qrowd.errors import NotConvergedWarning

pytest.importorskip("matplotlib")

from qrowd.reporting.paper_figures import _smooth, _spread, bayes_figures


@pytest.fixture(scope="module")
def crowd() -> q.Judgements:
    return q.simulate(topics=4, documents=30, assessors=20, votes=4, seed=6).judgements


@pytest.fixture(scope="module")
def merged(crowd: q.Judgements) -> q.Merged:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConvergedWarning)
        result: q.Merged = q.HierBayes(sweeps=200).fit(crowd)
    return result


def test_all_pictures_of_a_sampled_fit(crowd: q.Judgements, merged: q.Merged) -> None:
    made = bayes_figures(crowd, merged)
    assert list(made) == ["voted", "assessors", "clouds", "populations", "traces", "ranks"]
    for figure in made.values():
        assert figure.svg.startswith("<svg")
        assert figure.alt.endswith(".")
        assert figure.caption
        assert not re.search(r"#0[0-9]0[0-9]0[0-9]\b", figure.svg)  # every colour is the page's
    assert "120 pairs" in made["voted"].alt
    assert made["clouds"].svg.count(": ") >= 16


def test_other_fits_have_what_they_can(crowd: q.Judgements) -> None:
    assert list(bayes_figures(crowd, q.MajorityVote().fit(crowd))) == ["voted"]
    assert list(bayes_figures(crowd, q.HierVB().fit(crowd))) == ["voted", "assessors"]


def test_several_grades() -> None:
    rows = q.simulate("graded", topics=2, documents=30, assessors=8, votes=4, seed=1).judgements
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConvergedWarning)
        graded = q.HierBayes(sweeps=60).fit(rows)
    assert list(bayes_figures(rows, graded)) == ["voted", "traces", "ranks"]


def test_trend_keeps_a_straight_line_to_its_ends() -> None:
    x = np.repeat(np.linspace(0, 1, 11), 5)
    line = np.linspace(0, 1, 21)
    np.testing.assert_allclose(_smooth(x, 0.2 + 0.5 * x, line), 0.2 + 0.5 * line, atol=1e-6)


def test_assessors_are_spread_from_few_to_many_judgements() -> None:
    per = np.random.default_rng(0).permutation(np.r_[np.arange(1, 60), 5000, 7000])
    chosen = per[_spread(per, 16)]
    assert len(np.unique(chosen)) == 16
    assert (np.diff(chosen) > 0).all()
    assert chosen[0] == 1
    assert chosen[-2:].tolist() == [5000, 7000]


def test_in_a_report(crowd: q.Judgements, merged: q.Merged) -> None:
    page = q.report(crowd, merged).to_html()
    assert "Posterior of hier-bayes" in page
    assert "worst R-hat" in page


def test_in_the_command(
    crowd: q.Judgements, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    q.save(crowd, tmp_path / "crowd.tsv")
    call = ["merge", "hier-bayes", str(tmp_path / "crowd.tsv"), "--sweeps", "100"]
    files = ["-o", str(tmp_path / "out.qrels"), "--parameters", str(tmp_path / "parameters.tsv")]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConvergedWarning)
        main([*call, *files, "--figures", str(tmp_path / "figures")])
    head, first = (tmp_path / "parameters.tsv").read_text().splitlines()[:2]
    assert head.split("\t")[:4] == ["parameter", "name", "mean", "sd"]
    assert first.startswith("phi_prevalence\t")
    drawn = sorted(path.name for path in (tmp_path / "figures").iterdir())
    assert drawn == [
        "assessors.svg",
        "clouds.svg",
        "populations.svg",
        "ranks.svg",
        "traces.svg",
        "voted.svg",
    ]
    assert "traces.svg" in capsys.readouterr().err


def test_parameters_of_a_method_without(
    crowd: q.Judgements, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    q.save(crowd, tmp_path / "crowd.tsv")
    call = ["merge", "mv", str(tmp_path / "crowd.tsv"), "--parameters", str(tmp_path / "p.tsv")]
    with pytest.raises(SystemExit) as stop:
        main(call)
    assert stop.value.code == 2
    assert "mv has none" in capsys.readouterr().err
