"""What holds of every command: shared options, JSON, exit codes, errors, old spellings."""

from __future__ import annotations

import itertools
import json
import shlex
import shutil
import warnings
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from tests.example_files import platform_of, skip_without_extras

import qrowd as q
from qrowd.cli import verbs
from qrowd.cli.main import command as qrowd_command
from qrowd.cli.main import main

# One line for each command, which works in a folder of example files; a method stands for all.
LINES = {
    "check": "check crowd.tsv.gz",
    "convert": "convert crowd.tsv.gz",
    "quality": "quality crowd.tsv.gz",
    "judges": "judges llm.tsv --human few.qrels",
    "content check": "content check docs.jsonl --qrels nist.qrels",
    "merge ds": "merge ds crowd.tsv.gz",
    "rank borda": "rank borda orders.tsv",
    "aware aware-uni": "aware aware-uni crowd.tsv.gz --runs runs",
    "evaluate": "evaluate --runs runs --qrels nist.qrels",
    "compare": "compare ds.tsv mv.tsv --reference nist.tsv",
    "score": "score merged.tsv nist.qrels",
    "report": "report crowd.tsv.gz --method mv --chosen mv --draws 20",
    "sample": "sample llm.tsv -n 10",
    "next": "next crowd.tsv.gz --goal errors --documents docs.jsonl",
    "progress": "progress crowd.tsv.gz --sampled random",
    "adjudicate apply": "adjudicate apply decisions.tsv nist.qrels",
    "adjudicate table": "adjudicate table nist.qrels adjudicated.qrels contested.tsv",
    "ask": "ask g.qrels --topics topics.xml --documents docs.jsonl --model m --requests b.jsonl "
    "-o asked.jsonl",
    "loop": "loop crowd.tsv.gz --gold nist.qrels --method mv --votes 1 --randomisations 2",
    "simulate": "simulate -o made --topics 2 --documents 10 --runs 2",
    "demo": "demo -o shown",
    "experiment presets": "experiment presets",
    "experiment run": "experiment run grid.toml -o again",
    "experiment resume": "experiment resume results",
    "experiment join": "experiment join results",
    "experiment table": "experiment table results",
    "experiment anova": "experiment anova results --topic-sets half",
    "experiment plot": "experiment plot results -o pictures",
    "methods": "methods",
    "measures": "measures",
    "accounts list": "accounts list campaign.db",
    "accounts invite": "accounts invite campaign.db bob --role administrator",
    "accounts role": "accounts role campaign.db ann --role administrator",
    "accounts reset": "accounts reset campaign.db ann",
    "accounts tokens": "accounts tokens campaign.db ann",
    "accounts remove": "accounts remove campaign.db ann --yes",
    "accounts record": "accounts record campaign.db",
    "campaign check": "campaign check plan.toml",
    "campaign new": "campaign new plan.toml -o another.db",
    "campaign extend": "campaign extend campaign.db --budget 5",
    "campaign status": "campaign status campaign.db",
    "campaign next": "campaign next crowd.db",
    "campaign hierarchy": "campaign hierarchy phases.db",
    "campaign act": "campaign act campaign.db pause",
    "campaign people": "campaign people campaign.db",
    "campaign invite": "campaign invite campaign.db invited.tsv",
    "campaign invited": "campaign invited campaign.db",
    "campaign links": "campaign links campaign.db ann",
    "campaign pay": "campaign pay campaign.db",
    "campaign prolific": "campaign prolific study.db study --address https://judge.example.org",
    "campaign review": "campaign review campaign.db",
    "campaign forget": "campaign forget campaign.db",
    "campaign robots": "campaign robots campaign.db --robots 2",
    "campaign export": "campaign export campaign.db -o exported",
    "campaign import": "campaign import campaign.db machine.tsv",
    "campaign qualify": "campaign qualify tested.db results.csv",
    "campaign release": "campaign release campaign.db -o published --yes",
    "campaign backup": "campaign backup campaign.db -o copy.db",
    "campaign restore": "campaign restore campaign.db -o restored.db",
    "campaign move": "campaign move campaign.db moved.db",
    "campaign upgrade": "campaign upgrade campaign.db",
}
UNTRIED = {
    "serve": "runs until it is stopped",
    "completion": "prints a script, never a result",
    "accounts password": "reads a password",
}

pytestmark = pytest.mark.usefixtures("quick_demo")

# A value for each shared option; None: it has none.
SHARED = {
    "--output": "result.tsv",
    "--quiet": None,
    "--json": None,
    "--level": "0.8",
    "--rel": "1",
    "--gold": "nist.qrels",
    "--gold-rel": "1",
    "--grades": "good=1",
    "--missing": "error",
    "--cut": "1",
    "--where": "grade!=2",
    "--wide": "grade",
    "--fractions": "refuse",
    "--repeated": "once",
    "--runs": "runs",
    "--run-names": "tag",
    "--seed": "3",
    "--columns": "topic=topic,doc=doc,assessor=assessor,grade=grade",
    "--format": "tsv",
    "--topics": "train.txt",
    "--people": "people.tsv",
    "--machines": "*1",
    "--documents": "docs.jsonl",
    "--method": "mv",
}
# Where a shared option is missing or differs, and why.
NO_OUTPUT = {
    "accounts invite": "prints a link",
    "accounts remove": "does something",
    "accounts reset": "prints a link",
    "accounts role": "does something",
    "campaign act": "does something",
    "campaign check": "prints text",
    "campaign extend": "does something",
    "campaign forget": "does something",
    "campaign import": "does something",
    "campaign move": "its target is an argument",
    "campaign next": "does something",
    "campaign prolific": "does something",
    "campaign robots": "prints text",
    "campaign status": "prints text",
    "campaign upgrade": "does something",
    "experiment join": "writes where the parts are",
    "experiment resume": "writes where the parts are",
}
NO_MESSAGES = {
    "methods": "a list",
    "measures": "a list",
    "experiment presets": "a list",
    "campaign status": "text",
}
DIFFERENT = {
    ("ask", "--topics"): "their queries are asked for",
    ("ask", "--documents"): "their texts are shown",
    ("check", "--topics"): "held against judgements",
    ("check", "--documents"): "held against judgements",
    ("convert", "--topics"): "where ids are found",
    ("convert", "--documents"): "where ids are found",
    ("campaign extend", "--topics"): "what is added",
    ("campaign extend", "--documents"): "what is added",
    ("campaign extend", "--gold"): "what is added",
    ("campaign extend", "--runs"): "what is added",
    ("campaign release", "--runs"): "what is published",
    ("experiment run", "--runs"): "sets of runs have names",
    ("evaluate", "--quiet"): "-q is trec_eval's",
    ("simulate", "--topics"): "how many to make",
    ("simulate", "--documents"): "how many to make",
    ("simulate", "--runs"): "how many to make",
    ("simulate", "--gold"): "which share to make",
    ("simulate", "--grades"): "how many to make",
    ("simulate", "--seed"): "a parameter of the simulation",
}
INTERVALS = {
    "aware aware-uni",
    "campaign review",
    "compare",
    "content check",
    "evaluate",
    "experiment anova",
    "experiment table",
    "judges",
    "loop",
    "progress",
    "quality",
    "report",
    "score",
}
CHANCE = {
    "ask",
    "aware aware-uni",
    "campaign robots",
    "compare",
    "content check",
    "demo",
    "evaluate",
} | {
    *("loop", "merge ds", "next", "quality", "rank borda", "report", "sample", "simulate"),
}
OF_JUDGEMENTS = ("--columns", "--format", "--topics", "--rel", "--grades")
OF_PEOPLE = ("--people", "--machines")


def _commands() -> Iterator[tuple[str, click.Command]]:
    """Every command by its words; of methods, those of LINES."""
    top = click.Context(qrowd_command, info_name="qrowd")
    for name in qrowd_command.list_commands(top):
        verb = qrowd_command.get_command(top, name)
        if not isinstance(verb, click.Group):
            yield name, verb  # type: ignore[misc]
            continue
        for child in verb.list_commands(top):
            path = f"{name} {child}"
            if path in LINES or not isinstance(verb, verbs.Family) or verb.title == "Commands":
                yield path, verb.get_command(top, child)  # type: ignore[misc]


COMMANDS = dict(_commands())


def _option(path: str, flag: str) -> click.Option | None:
    for param in COMMANDS[path].params:
        if isinstance(param, click.Option) and flag in param.opts:
            return param
    return None


def _run(line: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.chdir(folder)
    with warnings.catch_warnings(), platform_of(line):
        warnings.simplefilter("ignore", q.errors.QrowdWarning)
        try:
            main(shlex.split(line))
        except SystemExit as stop:
            return int(stop.code or 0)
    return 0


@pytest.fixture
def folder(example_files: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(example_files, tmp_path / "here"))


def test_every_command_has_a_line() -> None:
    assert set(LINES) | set(UNTRIED) == set(COMMANDS)
    assert len({line.split(" -")[0] for line in LINES.values()}) == len(LINES)


# --- shared options -------------------------------------------------------------------------------


@pytest.mark.parametrize("flag", SHARED)
def test_a_shared_option_means_the_same_everywhere(flag: str) -> None:
    """But for what DIFFERENT names, it is one declaration: flags, words, values, default."""
    if flag in ("--output", "--method"):  # what is written and merged differs by command
        pytest.skip("the words of help tell what is written, or merged")
    declared = {
        (*sorted(option.opts), option.help, option.type.name, repr(option.default))
        for path in LINES
        if (option := _option(path, flag)) and (path, flag) not in DIFFERENT
    }
    assert len(declared) == 1, declared


@pytest.mark.parametrize("path", LINES)
def test_shared_options_are_everywhere_where_they_make_sense(path: str) -> None:
    has = {flag for flag in SHARED if _option(path, flag)}
    wanted = {"--json"}
    wanted |= set() if path in NO_OUTPUT else {"--output"}
    wanted |= set() if path in NO_MESSAGES else {"--quiet"}
    wanted |= {"--level"} if path in INTERVALS else set()
    wanted |= {"--seed"} if path in CHANCE else set()
    names = [param.make_metavar(click.Context(COMMANDS[path])) for param in COMMANDS[path].params]
    if any("JUDGEMENTS" in name for name in names) or path in ("evaluate", "check"):
        wanted |= set(OF_JUDGEMENTS) - ({"--rel"} if path == "check" else set())
        wanted |= set() if path == "evaluate" else set(OF_PEOPLE)
    wanted |= {"--gold-rel"} if "--gold" in has & {"--rel"} else set()
    assert wanted <= has, wanted - has
    for flag in ("--level", "--seed"):
        assert (flag in has) == (flag in wanted), flag


@pytest.mark.parametrize(
    ("path", "flag"),
    [
        (path, flag)
        for path, flag in itertools.product(LINES, SHARED)
        if _option(path, flag) and path != "simulate" and (path, flag) not in DIFFERENT
    ],
)
def test_a_shared_option_works(
    path: str, flag: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    line, value = LINES[path], SHARED[flag]
    skip_without_extras(f"qrowd {line}")
    if flag == "--output" and " -o " in line:
        return  # every line that must name what it writes does
    if flag == "--format":
        value = "trec" if path == "evaluate" else value
    if flag == "--documents":
        pytest.importorskip("sklearn", reason="reading documents needs the extra `text`")
        line = {
            "merge ds": "merge gp crowd.tsv.gz",
            "evaluate": "evaluate --runs runs --judgements crowd.tsv.gz --method gp",
        }.get(path, line)
    if flag in ("--runs", "--run-names") and path == "merge ds":
        pytest.importorskip("sklearn", reason="reading documents needs the extra `text`")
        line = "merge joint crowd.tsv.gz --documents docs.jsonl --runs runs"
    if (flag == "--gold" and path == "evaluate") or (flag == "--method" and path == "evaluate"):
        line = "evaluate --runs runs --judgements crowd.tsv.gz"
        line += "" if flag == "--method" else " --method ds"
    if path == "compare" and flag in ("--gold-rel", "--runs", "--method"):
        line = "compare --systems -m P@10 --judgements crowd.tsv.gz --human few.qrels"
        line += " --sampled random" + ("" if flag == "--runs" else " --runs runs")
    if flag == "--gold" and path == "rank borda":
        line = "rank gauss-rank crowd.tsv.gz orders.tsv"
    if flag == "--gold" and path == "aware aware-uni":
        line = "aware aware-s crowd.tsv.gz --runs runs"
    if flag == "--level" and path in ("evaluate", "aware aware-uni"):
        line += " --intervals"
    if path == "campaign invite" and flag == "--output":
        line += " --address https://judge.example.org"
    if path == "report" and flag == "--output":
        value = "page.html"
    asked = f"{line} {flag}" if value is None else f"{line} {flag} {shlex.quote(value)}"
    assert _run(asked, folder, monkeypatch) == 0


# --- results, exit codes, errors ------------------------------------------------------------------


@pytest.mark.parametrize("path", LINES)
def test_json_is_one_value(
    path: str,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    skip_without_extras(f"qrowd {LINES[path]}")
    assert _run(f"{LINES[path]} --json", folder, monkeypatch) == 0
    assert json.loads(capsys.readouterr().out) is not None


@pytest.mark.parametrize("path", LINES)
def test_errors_are_one_line(
    path: str,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A wrong command line ends with 2, a file that is not there or not right with 1."""
    skip_without_extras(f"qrowd {LINES[path]}")
    words = shlex.split(LINES[path])
    first = len(path.split())
    wrong = {"--no-such-option": 2}
    if first < len(words) and "." in words[first]:  # a file
        suffix = Path(words[first]).suffix
        (folder / f"bad{suffix}").write_bytes(b"\x00\x01 no file of ours\n")
        wrong |= {f"missing{suffix}": 1, f"bad{suffix}": 1}
    for word, code in wrong.items():
        line = [*words, word] if code == 2 else [*words[:first], word, *words[first + 1 :]]
        assert _run(shlex.join(line), folder, monkeypatch) == code, word
        said = capsys.readouterr().err.splitlines()
        assert said[-1].startswith("qrowd: "), said
        assert code == 1 or len(said) == 1, said
        assert not any("Traceback" in each for each in said)


# --- old spellings --------------------------------------------------------------------------------

OLD = {
    "aware aware-uni --runs runs --judgements crowd.tsv.gz": "aware aware-uni crowd.tsv.gz --runs "
    "runs",
    "report --judgements crowd.tsv.gz --method mv --draws 20": "report crowd.tsv.gz --method mv "
    "--draws 20",
    "content check --documents docs.jsonl --qrels nist.qrels --qrels-rel 1": "content check "
    "docs.jsonl --qrels nist.qrels --rel 1",
    "evaluate --runs runs --qrels nist.qrels --topics both": "evaluate --runs runs --qrels "
    "nist.qrels --average both",
    "evaluate --runs runs --qrels nist.qrels --topics=qrels": "evaluate --runs runs --qrels "
    "nist.qrels --average=qrels",
    "compare ds.tsv mv.tsv --reference nist.tsv --over symmetric": "compare ds.tsv mv.tsv "
    "--reference nist.tsv --top-of symmetric",
    "compare ds.tsv mv.tsv --reference nist.tsv --over estimate": "compare ds.tsv mv.tsv "
    "--reference nist.tsv --top-of estimate",
    "compare ds.tsv mv.tsv --reference nist.tsv --over reference": "compare ds.tsv mv.tsv "
    "--reference nist.tsv --top-of reference",
    "quality crowd.tsv.gz --merge mv": "quality crowd.tsv.gz --method mv",
    "sample llm.tsv --pairs 10": "sample llm.tsv -n 10",
    "loop crowd.tsv.gz --gold nist.qrels --methods mv,ds --votes 1 --randomisations 2": "loop "
    "crowd.tsv.gz --gold nist.qrels --method mv --method ds --votes 1 --randomisations 2",
    "experiment run grid.toml -o again --topics half": "experiment run grid.toml -o again "
    "--topic-sets half",
    "experiment table results --topics half --gold certain --against mv": "experiment table "
    "results --topic-sets half --gold-kind certain --against mv",
    "experiment table results --topics half --less-topics half": "experiment table results "
    "--topic-sets half --less-topic-sets half",
    "experiment anova results --topics half": "experiment anova results --topic-sets half",
    "experiment plot results -o p --topics half": "experiment plot results -o p --topic-sets half",
    "campaign status campaign.db --topics": "campaign status campaign.db --per-topic",
    "campaign export campaign.db -o out --merge ds": "campaign export campaign.db -o out --method "
    "ds",
}


@pytest.mark.parametrize("old", OLD)
def test_an_old_spelling_does_the_same_and_says_the_new_one_once(
    old: str,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    skip_without_extras(f"qrowd {old}")
    again = shutil.copytree(folder, folder.parent / "again")
    assert _run(OLD[old], again, monkeypatch) == 0
    new = capsys.readouterr()
    assert _run(old, folder, monkeypatch) == 0
    said = capsys.readouterr()
    assert said.out == new.out
    notes = [line for line in said.err.splitlines() if line.startswith("note: --")]
    assert notes
    assert len(set(notes)) == len(notes)
    assert " now" in notes[0]


def test_every_old_spelling_is_tried() -> None:
    tried = " ".join(OLD).replace("=", " ")
    for path, command in COMMANDS.items():
        for spelling in getattr(command, "old", {}):
            assert f"{spelling} " in f"{tried} ", (path, spelling)


@pytest.mark.parametrize(
    "line",
    [
        "content check docs.jsonl --qrels nist.qrels --qrels-rel 1 --rel 2",
        "evaluate --runs runs --qrels nist.qrels --topics both --average qrels",
        "sample llm.tsv --pairs 10 --number 11",
    ],
)
def test_spellings_that_contradict(
    line: str,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert _run(line, folder, monkeypatch) == 2
    said = capsys.readouterr().err
    assert "contradict" in said
    assert len(said.splitlines()) == 1


def test_quiet_says_nothing_of_old_spellings(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _run("sample llm.tsv --pairs 10 -q", folder, monkeypatch) == 0
    assert capsys.readouterr().err == ""


# --- help and completion --------------------------------------------------------------------------


def _help(line: str, capsys: pytest.CaptureFixture[str]) -> str:
    main([*line.split(), "--help"])
    return capsys.readouterr().out


@pytest.mark.parametrize("line", ["", "merge", "aware", "rank", "campaign", "experiment"])
def test_no_line_of_help_is_cut(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = _help(line, capsys)
    names = qrowd_command.groups if not line else ()
    assert all(f"\n{name}:\n" in text for name in names)
    title = "Look" if not line else "Methods" if "Methods:" in text else "Commands"
    lists = text.split(f"\n{title}:\n")[1]
    assert "..." not in lists.split("\nWhat goes in:")[0]


def test_help_lists_options_by_what_they_are_for(capsys: pytest.CaptureFixture[str]) -> None:
    for line in ("merge", "merge ds", "evaluate"):
        text = _help(line, capsys)
        places = [text.index(f"\n{title}:\n") for title in verbs.PARTS.values()]
        assert places == sorted(places)
        assert text.index("\n  --gold ") < places[1] < text.index("--seed") < places[2]
        assert "--help" in text.rstrip().splitlines()[-1]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    main(["completion", shell])
    assert f"_QROWD_COMPLETE={shell}_complete" in capsys.readouterr().out


def test_completion_without_a_shell(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SHELL", "/usr/bin/zsh")
    main(["completion"])
    assert "zsh_complete" in capsys.readouterr().out
    monkeypatch.setenv("SHELL", "/bin/csh")
    with pytest.raises(SystemExit) as stop:
        main(["completion"])
    assert stop.value.code == 2
    assert "name the shell: bash, zsh, fish" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "completed"),
    [
        ("qrowd m", {"merge", "methods", "measures"}),
        ("qrowd merge hier", {"hier-bayes", "hier-vb"}),
        ("qrowd evaluate -m nDCGr", {"nDCGrel"}),
        ("qrowd evaluate --method two", {"two-coin"}),
        ("qrowd quality crowd.tsv --screen rand", {"random-spam"}),
        ("qrowd merge ds --proba", {"--probabilities"}),
        ("qrowd measures Suc", {"Success"}),
    ],
)
def test_completion(
    words: str,
    completed: set[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("_QROWD_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(len(words.split()) - 1))
    with pytest.raises(SystemExit):
        main([])
    lines = capsys.readouterr().out.splitlines()
    assert {line.partition(",")[2] for line in lines} == completed
