from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import numpy as np
import pytest

import qrowd as q
from qrowd import registry
from qrowd.cli.main import main
from qrowd.cli.merge import SHARED, command
from qrowd.cli.method_commands import COMMON
from qrowd.cli.output import QUIET, iterations

CROWD = """topic\tdoc\tassessor\tgrade
t1\td1\tann\t1
t1\td1\tbob\t1
t1\td1\teve\t0
t1\td2\tann\t0
t1\td2\tbob\t0
t1\td2\teve\t1
t1\td3\tann\t1
t1\td3\tbob\t1
t1\td3\teve\t0
t2\td1\tann\t1
t2\td1\teve\t0
"""


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "crowd.tsv").write_text(CROWD)
    (tmp_path / "graded.tsv").write_text(CROWD.replace("\t1\n", "\t2\n"))
    (tmp_path / "gold.qrels").write_text("t1 0 d1 1\nt1 0 d2 0\nt2 0 d9 1\n")
    (tmp_path / "graded.qrels").write_text("t1 0 d1 3\nt1 0 d2 0\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(line: str) -> None:
    main(line.split())


def failing(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    with pytest.raises(SystemExit) as stopped:
        main(list(arguments))
    assert isinstance(stopped.value.code, int)
    return stopped.value.code, capsys.readouterr().err


def test_to_stdout(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["merge", "ds", "crowd.tsv"])
    said = capsys.readouterr()
    assert said.out.splitlines()[:3] == ["t1 0 d1 1", "t1 0 d2 0", "t1 0 d3 1"]
    assert "ds: settled after" in said.err
    assert "relevant from 1 on (--rel)" in said.err


def test_all_files(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run("merge ds crowd.tsv --gold gold.qrels -o m.qrels --probabilities p.tsv --assessors a.tsv")
    said = capsys.readouterr()
    assert said.out == ""
    assert "gold fixes 3 pairs" in said.err
    qrels, soft = q.read_qrels("m.qrels"), q.read_probabilities("p.tsv")
    assert len(qrels) == len(soft.pairs) == 5
    assert soft.given.sum() == 3
    table = q.read_assessors("a.tsv")
    assert table["judgements"].tolist() == [4, 3, 4]
    expected = q.DawidSkene().fit(
        q.read_judgements("crowd.tsv"), q.Given(gold=q.read_qrels("gold.qrels"))
    )
    assert np.array_equal(soft.posterior, expected.posterior)
    assert qrels == expected.qrels()


def test_options_and_spec_say_the_same(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run("merge ds crowd.tsv --smoothing 0.5 --no-clamp --init honest")
    by_options = capsys.readouterr()
    main(["merge", "ds(smoothing=0.5, clamp=false, init=honest)", "crowd.tsv"])
    by_spec = capsys.readouterr()
    assert by_options.out == by_spec.out
    assert "ds(init='honest', smoothing=0.5, clamp=False): settled" in by_options.err
    assert "ds(init='honest', smoothing=0.5, clamp=False): settled" in by_spec.err


def test_an_option_overrides_the_spec(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["merge", "ds(init=honest, smoothing=0.5)", "crowd.tsv", "--smoothing", "0.25"])
    assert "ds(init='honest', smoothing=0.25)" in capsys.readouterr().err


def test_one_seed_for_all(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run("merge ds crowd.tsv --init random --seed 4")
    said = capsys.readouterr().err
    assert "ds(init='random', seed=4)" in said


def test_one_tie_rule_for_all(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Where a method breaks ties on its way, it does so as the result does."""

    @registry.method("dummy", paper="Nobody 1900")
    class Dummy:
        """A dummy that believes nothing."""

        ties: str = registry.param("coin", "how", choices=("coin", "relevant", "nonrelevant"))

        def fit(self, judgements: q.Judgements, given: q.Given = q.NOTHING) -> q.Merged:
            merged = q.MajorityVote().fit(judgements, given)
            assert isinstance(merged, q.Merged)
            return merged

    try:
        run("merge dummy(ties=relevant) crowd.tsv")
        assert "1 tie decided (relevant)" in capsys.readouterr().err
        run("merge dummy(ties=relevant) crowd.tsv --ties nonrelevant")
        assert "1 tie decided (nonrelevant)" in capsys.readouterr().err
    finally:
        registry.forget("dummy")


def test_ties_are_counted(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run("merge mv crowd.tsv --ties relevant")
    said = capsys.readouterr()
    assert "1 tie decided (relevant)" in said.err
    assert "t2 0 d1 1" in said.out
    run("merge mv crowd.tsv --ties nonrelevant")
    assert "t2 0 d1 0" in capsys.readouterr().out
    run("merge mv crowd.tsv --seed 3")
    assert "1 tie decided (coin, seed 3)" in capsys.readouterr().err


def test_pairs_join_the_pool(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (files / "more.qrels").write_text("t7 0 d7 0\n")
    run("merge mv crowd.tsv --pairs more.qrels --probabilities p.tsv")
    assert capsys.readouterr().out == ""
    assert (files / "p.tsv").read_text().splitlines()[-1].split("\t")[-2:] == ["0.5", "0.5"]


def test_grades_are_cut(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run("merge ds graded.tsv --rel 2 --gold graded.qrels --gold-rel 3")
    assert "t1 0 d1 1" in capsys.readouterr().out
    run("merge ds graded.tsv")
    assert "t1 0 d1 2" in capsys.readouterr().out
    code, said = failing(capsys, "merge", "ds", "graded.tsv", "--gold", "graded.qrels")
    assert code == 1
    assert "--gold-rel" in said


def test_an_earlier_fit_as_prior(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run("merge ds crowd.tsv --assessors a.tsv -o m.qrels -q")
    assert capsys.readouterr().err == ""
    (files / "new.tsv").write_text(
        "topic doc assessor grade\nn d eve 1\nn d zoe 0\n".replace(" ", "\t")
    )
    run("merge ds new.tsv --priors a.tsv -q")
    assert capsys.readouterr().out == "n 0 d 0\n"


@pytest.mark.filterwarnings("default")
def test_not_settled_is_said(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run("merge ds crowd.tsv --max-iter 1")
    said = capsys.readouterr().err
    assert said.count("warning: ds(max_iter=1) has not settled after 1 iterations") == 1
    assert "ds(max_iter=1): not settled after 1 iterations" in said


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ("merge dss crowd.tsv", 2, "no method 'dss'; did you mean ds"),
        ("merge crowd.tsv", 2, "name the method before the file: qrowd merge ds crowd.tsv"),
        ("merge ds(max_itr=3) crowd.tsv", 2, "did you mean max_iter"),
        ("merge ds crowd.tsv --max-iter 0", 2, "max_iter must be a whole number at least 1, got 0"),
        ("merge ds crowd.tsv --init best", 2, "'best' is not one of"),
        ("merge ds", 2, "Missing argument"),
        ("merge ds nothing.tsv", 1, "nothing.tsv"),
    ],
)
def test_misuse(
    files: Path, capsys: pytest.CaptureFixture[str], arguments: str, code: int, said: str
) -> None:
    found, message = failing(capsys, *arguments.split())
    assert found == code
    assert said in message


def test_no_output_is_left_where_input_is_bad(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (files / "bad.tsv").write_text(CROWD + "t2\td1\tbob\tmaybe\n")
    code, said = failing(capsys, "merge", "ds", "bad.tsv", "-o", "m.qrels")
    assert code == 1
    assert "bad.tsv:13" in said
    assert sorted(path.name for path in files.glob("[mp].*")) == []


def test_help(capsys: pytest.CaptureFixture[str]) -> None:
    main(["merge", "ds", "--help"])
    said = capsys.readouterr().out
    assert "qrowd merge ds crowd.tsv.gz -o merged.qrels" in said
    assert "--per-topic / --no-per-topic" in said
    assert "Maximum number of EM iterations. [default: 1000]" in " ".join(said.split())


@pytest.fixture
def dummy() -> Iterator[None]:
    @registry.method("dummy", paper="Nobody 1900")
    class Dummy:
        """A dummy that believes nothing."""

        size: int = registry.param(1, "how large", at_least=1)

        def fit(self, judgements: q.Judgements, given: q.Given = q.NOTHING) -> q.Merged:
            from qrowd.aggregation.fit import Fitting

            fitting = Fitting.of(self, judgements, given)
            fitting.notes.append(f"size is {self.size}")
            return fitting.merged(np.full((len(judgements.pairs), 2), 0.5))

    yield
    registry.forget("dummy")


def test_a_new_method_is_a_command(
    dummy: None, files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["merge", "--help"])
    assert "A dummy that believes nothing" in capsys.readouterr().out
    run("merge dummy crowd.tsv --size 3")
    assert "size is 3" in capsys.readouterr().err
    main(["methods"])
    assert "dummy\tjudgements\tany\tA dummy that believes nothing" in capsys.readouterr().out


def test_no_parameter_hides_a_shared_option() -> None:
    made: Any = lambda: None  # noqa: E731
    for decorate in SHARED:
        made = decorate(made)
    shared = {option.name for option in made.__click_params__}
    for id, card in registry.cards().items():
        if card.level == "judgements":
            own = {known.name for known in card.params} - COMMON
            # what a missing vote counts as; rows without a grade are left out there, too
            allowed = {"missing"} if id in ("binmv", "qbinmv") else set()
            assert own & shared <= allowed, id


def test_methods_of_scores_are_elsewhere(capsys: pytest.CaptureFixture[str]) -> None:
    @registry.method("dummy-scores", paper="Nobody 1900")
    class DummyScores:
        """A dummy."""

        def fit(self, scores: q.Scores, given: q.Given = q.NOTHING) -> q.Scores: ...  # type: ignore[empty-body]

    try:
        code, said = failing(capsys, "merge", "dummy-scores", "x.tsv")
        assert "dummy-scores" not in command.list_commands(None)  # type: ignore[arg-type]
    finally:
        registry.forget("dummy-scores")
    assert code == 2
    assert "merges scores, not judgements" in said


def test_list_of_methods(capsys: pytest.CaptureFixture[str]) -> None:
    main(["methods"])
    lines = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert lines[0] == ["method", "level", "grades", "what it is", "paper", "needs", "uses"]
    assert {"ds", "mv"} <= {line[0] for line in lines}


def test_one_method(capsys: pytest.CaptureFixture[str]) -> None:
    main(["methods", "ds"])
    said = capsys.readouterr().out
    assert "Dawid & Skene 1979" in said
    assert "max_iter = 1000: maximum number of EM iterations (a whole number at least 1)" in said
    main(["methods", "ds", "--json"])
    facts = json.loads(capsys.readouterr().out)
    assert facts["uses"] == "gold priors"
    defaults = {each["name"]: each["default"] for each in facts["parameters"]}
    assert defaults["max_iter"] == 1000
    code, message = failing(capsys, "methods", "dd")
    assert (code, "did you mean" in message) == (2, True)


def test_progress_is_shown_now_and_then(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter(range(0, 1000, 3))
    monkeypatch.setattr("qrowd.cli.output.time.monotonic", lambda: next(clock))
    with iterations("ds") as told:
        for done in range(1, 9):
            told(done, 100, -2.5)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].endswith("of at most 100, objective -2.5")
    assert 0 < len(lines) < 8
    with click.Context(click.Command("quiet")) as ctx:
        ctx.meta[QUIET] = True
        with iterations("ds") as told:
            told(1, 100, -2.5)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("option", ["-o", "--probabilities", "--assessors", "--parameters"])
def test_a_file_that_cannot_be_written_is_refused_before_the_fit(
    option: str, files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = sorted(files.iterdir())
    code, said = failing(capsys, "merge", "ds", "crowd.tsv", option, "none/merged.tsv")
    assert (code, said) == (1, "qrowd: none/merged.tsv: there is no folder none; make it first\n")
    assert failing(capsys, "merge", "ds", "crowd.tsv", option, ".")[0] == 1
    assert sorted(files.iterdir()) == before


def test_parameters_without_an_interval_are_named(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["merge", "hier-vb", "crowd.tsv", "-o", "x.qrels", "--parameters", "values.tsv"])
    said = [line for line in capsys.readouterr().err.splitlines() if "no interval" in line]
    assert said[0].endswith(
        ": phi_prevalence, kappa_prevalence, phi_specificity, kappa_specificity, "
        "phi_sensitivity, kappa_sensitivity"
    )
    main(["merge", "hier-vb", "crowd.tsv", "-q", "-o", "x.qrels", "--parameters", "values.tsv"])
    assert capsys.readouterr().err == ""


def test_gold_for_other_pairs_is_doubted(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (files / "other.qrels").write_text("T1 0 d1 1\n")
    main(["merge", "mv", "crowd.tsv", "--gold", "other.qrels"])
    assert "none of them judged: do the names of topics" in capsys.readouterr().err
    main(["merge", "mv", "crowd.tsv", "--gold", "gold.qrels"])
    assert "none of them judged" not in capsys.readouterr().err


def test_what_has_no_trec_form_is_named(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, said = failing(capsys, "merge", "mv", "-q", "crowd.tsv", "--probabilities", "p.qrels")
    assert (code, said.startswith("qrowd: p.qrels: this has no TREC form")) == (2, True)


def test_priors_are_refused_where_nothing_is_learned_from_them(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["merge", "ds", "-q", "crowd.tsv", "-o", "x.qrels", "--assessors", "known.tsv"])
    code, said = failing(capsys, "merge", "mv", "crowd.tsv", "--priors", "known.tsv")
    assert code == 2
    assert said.startswith("qrowd: --priors: mv has no use for them; methods that do: ds, em-gauss")


@pytest.mark.parametrize(
    "line",
    [
        "merge mv - --gold -",
        "merge mv - -",
        "score - -",
        "evaluate --runs - --qrels -",
    ],
)
def test_stdin_is_not_read_twice(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, said = failing(capsys, *line.split())
    assert (code, said.startswith("qrowd: stdin (-) can be read only once")) == (2, True)
