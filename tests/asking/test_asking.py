"""Machine judges over HTTP: every pair ends as an answer, or missing with its reason."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("httpx", reason="asking machine judges needs the extra ask")
pytest.importorskip("jinja2", reason="asking machine judges needs the extra ask")

from tests.asking.judge_server import (
    SECONDS,
    TRIES,
    TROUBLES,
    Body,
    Reply,
    Server,
    grade,
    said,
    serving,
    text_of,
)

import qrowd as q
from qrowd.asking.answers import read_answer
from qrowd.asking.client import Limits
from qrowd.asking.journal import Journal
from qrowd.asking.prompts import read_prompt
from qrowd.asking.questions import Item, Judge, Price, items
from qrowd.asking.session import Session
from qrowd.cli.main import main
from qrowd.errors import DataWarning, InputError, UsageError
from qrowd.io.save import save_table

QUICK = Limits(at_once=8, tries=2, seconds=30)
GRADED = Judge("made", read_prompt("graded"), Price(1.0, 2.0))


def about(texts: Sequence[str], longest: int = 20_000) -> list[Item]:
    """Questions of one topic about these texts; the documents are called d0, d1, ..."""
    documents = q.Documents.of({f"d{at}": text for at, text in enumerate(texts)})
    pairs = [("t", name) for name in documents.index]
    return items(pairs, q.Topics.of({"t": "turkey soup"}), documents, longest)


def outcome(session: Session) -> dict[str, tuple[int | None, str]]:
    table = session.judgements()
    return dict(zip(table["doc"], zip(table["grade"], table["missing"], strict=True), strict=True))


def test_every_trouble_ends_as_an_answer_or_a_reason(tmp_path: Path) -> None:
    def judge(body: Body, asked_before: int) -> Reply:
        return TROUBLES[text_of(body)][0](asked_before)

    with serving(judge) as server, Journal(tmp_path / "j") as journal:
        session = Session([GRADED], about(list(TROUBLES)), journal)
        patient = Limits(at_once=64, tries=TRIES, seconds=SECONDS)
        assert session.ask(server.url, patient) == ""
        found = outcome(session)
        worst = sum(question.worst for question in session)
        assert 0 < journal.spent < worst * TRIES
        assert journal.under_way == pytest.approx(0)
    for at, (name, (_, expected, why)) in enumerate(TROUBLES.items()):
        got, missing = found[f"d{at}"]
        assert got == expected, name
        assert missing.startswith(why) if why else not missing, (name, missing)


def test_the_cap_is_reached_with_texts_of_all_lengths(tmp_path: Path) -> None:
    """A sum of money that was set aside and given back misses 0 by a rounding."""
    texts = ["word " * (7 * at % 53 + 1) for at in range(60)]
    with serving(lambda body, n: grade(1)) as server, Journal(tmp_path / "j") as journal:
        session = Session([GRADED], about(texts), journal)
        worst = max(question.worst for question in session)
        why = session.ask(server.url, replace(QUICK, cap=worst + 20 * 0.00012, at_once=8))
        assert "could exceed the cap" in why


def test_what_was_lost_stays_spent(tmp_path: Path) -> None:
    with serving(lambda body, n: Reply(trouble="closed")) as server:
        spent = []
        for _ in range(3):
            with Journal(tmp_path / "j") as journal:
                journal.forget_missing()
                before = journal.spent
                Session([GRADED], about(["a"]), journal).ask(server.url, replace(QUICK, tries=1))
                spent.append((before, journal.spent))
        worst = spent[0][1]
        assert spent == [(0, worst), (worst, 2 * worst), (2 * worst, 3 * worst)]


def test_a_server_that_heeds_no_limit_of_tokens_stops_all(tmp_path: Path) -> None:
    reply = grade(1)
    reply.body["usage"] = {"prompt_tokens": 100, "completion_tokens": 10_000_000}
    with serving(lambda body, n: reply) as server, Journal(tmp_path / "j") as journal:
        session = Session([GRADED], about(["a", "b", "c"]), journal)
        why = session.ask(server.url, replace(QUICK, cap=1000.0, at_once=1))
        assert "more tokens than were allowed" in why
        assert len(server.bodies) == 1


SCORES = {
    "##final score: 2": 2,
    "**##final score: **2**": 2,
    "## Final score: 3.": 3,
    "##final score: 2.5": None,
    "##final score: -1": None,
    "##final score: 1-2": None,
    "##final score: 1 or 2": None,
    "##final score: 2/10": None,
    "M: 2 T: 1": None,
}


@pytest.mark.parametrize("said_text", SCORES)
def test_scores_of_umbrela_are_read_strictly(said_text: str) -> None:
    found = read_answer(said(said_text).body, read_prompt("umbrela"))
    assert found.value == SCORES[said_text]
    assert bool(found.missing) == (found.value is None)


def test_thinking_whose_beginning_the_server_keeps_is_no_answer() -> None:
    thought = '##final score: 1, or is it? {"grade": 0}\n</think>\n'
    assert read_answer(said(thought + '{"grade": 3}').body, read_prompt("graded")).value == 3
    assert read_answer(said(thought + "##final score: 2").body, read_prompt("umbrela")).value == 2
    assert read_answer(said(thought).body, read_prompt("umbrela")).missing == "empty"


def test_a_server_that_is_away_leaves_questions_open(tmp_path: Path) -> None:
    with Journal(tmp_path / "j") as journal:
        session = Session([GRADED], about(["a", "b"]), journal)
        with pytest.raises(InputError, match=r"127.0.0.1:1/v1: no connection .*; see --endpoint"):
            session.ask("http://ann:tok3n@127.0.0.1:1/v1", replace(QUICK, tries=1))
        assert len(list(session.open())) == 2
        assert journal.spent == 0


def test_a_server_that_goes_away_leaves_questions_open(tmp_path: Path) -> None:
    alive = 5
    texts = [f"{at:02}" for at in range(40)]

    def judge(body: Body, n: int) -> Reply:
        return grade(1) if order.index(text_of(body)) < alive else Reply({}, 503)

    with serving(judge) as server, Journal(tmp_path / "j") as journal:
        session = Session([GRADED], about(texts), journal)
        order = [item.documents[0].text for item in session.items]
        for alive in (5, 20):
            with pytest.raises(InputError, match=r"20 questions in a row .* HTTP 503, 1 times"):
                session.ask(server.url, replace(QUICK, tries=1, at_once=1))
            assert [value for value, _ in outcome(session).values()] == [1] * alive
        alive = 40
        assert session.ask(server.url, QUICK) == ""
        assert [value for value, _ in outcome(session).values()] == [1] * 40


def test_answers_of_which_none_can_be_read_are_not_paid_to_the_end(tmp_path: Path) -> None:
    with serving(lambda body, n: said("", finish_reason="length")) as server:
        for at_once in (1, 16):
            with Journal(tmp_path / f"{at_once}") as journal:
                session = Session([GRADED], about([f"{at}" for at in range(60)]), journal)
                with pytest.raises(
                    InputError, match=r"20 questions and not one .*: cut: the answer"
                ):
                    session.ask(server.url, replace(QUICK, at_once=at_once))
                assert 20 <= len(outcome(session)) < 20 + at_once


def test_a_server_that_takes_few_at_a_time_answers_all(tmp_path: Path) -> None:
    """Being turned away uses up no try while others are answered."""
    answered = [0.0]

    def judge(body: Body, n: int) -> Reply:
        now = time.monotonic()
        if now < answered[-1] + 0.1:
            return Reply({}, 429)
        answered.append(now)
        return grade(1)

    with serving(judge) as server, Journal(tmp_path / "j") as journal:
        session = Session([GRADED], about([f"{at}" for at in range(10)]), journal)
        assert session.ask(server.url, replace(QUICK, at_once=10)) == ""
        assert set(outcome(session).values()) == {(1, "")}
        assert server.asked.total() > 10 * QUICK.tries


def test_the_longest_wait_that_a_server_asks_for_holds(tmp_path: Path) -> None:
    asked: list[tuple[str, float]] = []

    def judge(body: Body, n: int) -> Reply:
        asked.append((text_of(body), time.monotonic()))
        return grade(1) if n else Reply({}, 429, {"retry-after": "0.01" if len(asked) > 1 else "1"})

    with serving(judge) as server, Journal(tmp_path / "j") as journal:
        Session([GRADED], about(["a", "b"]), journal).ask(server.url, replace(QUICK, at_once=2))
    assert [text for text, _ in asked[:2]] in (["a", "b"], ["b", "a"])
    assert all(later - asked[0][1] >= 1 for _, later in asked[2:])


@pytest.mark.parametrize(
    ("prompt", "text"),
    [
        ("umbrela", "##final score: {}"),
        ("graded", '{{"grade": "{}"}}'),
        ("graded", '{{"grade": {}}}'),
    ],
)
def test_a_number_without_end_is_no_grade(prompt: str, text: str) -> None:
    body = said(text.format("9" * 5000)).body
    assert read_answer(body, read_prompt(prompt)).missing.startswith("unreadable: ")
    body = said('{"grade": 2}').body
    body["usage"]["prompt_tokens"] = 10**400
    chances = [{"token": "9" * 5000, "logprob": -1}, {"token": "2", "logprob": -(10**400)}]
    body["choices"][0]["logprobs"] = {"content": [{"token": "2", "top_logprobs": chances}]}
    found = read_answer(body, read_prompt("graded"))
    assert (found.value, found.tokens_in, found.expected) == (2, None, None)


def test_half_a_character_in_a_text_is_sent_as_a_question_mark(tmp_path: Path) -> None:
    with serving(lambda body, n: grade(1)) as server, Journal(tmp_path / "j") as journal:
        session = Session([GRADED], about(["half \ud83d of it"]), journal)
        assert session.ask(server.url, QUICK) == ""
        assert text_of(server.bodies[0]) == "half ? of it"


def test_a_full_disk_leaves_no_half_of_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, real = tmp_path / "j", os.write

    def full(file: int, text: bytes) -> int:
        if not os.path.samestat(os.fstat(file), path.stat()):
            return real(file, text)
        if path.stat().st_size > 2000:
            raise OSError(28, "No space left on device")
        return real(file, text[:100])

    with serving(lambda body, n: grade(1)) as server:
        with Journal(path) as journal, monkeypatch.context() as patch:
            patch.setattr(os, "write", full)
            session = Session([GRADED], about([f"{at}" for at in range(40)]), journal)
            with pytest.raises(InputError, match="cannot be written: No space left"):
                session.ask(server.url, QUICK)
        with Journal(path) as journal:
            session = Session([GRADED], about([f"{at}" for at in range(40)]), journal)
            assert session.ask(server.url, QUICK) == ""
            assert len(outcome(session)) == 40


def test_a_server_that_takes_no_schema_is_read_strictly(tmp_path: Path) -> None:
    def judge(body: Body, asked_before: int) -> Reply:
        if "response_format" in body:
            return Reply({"error": "response_format is not supported"}, 400)
        return grade(1)

    with serving(judge) as server, Journal(tmp_path / "j") as journal:
        session = Session([GRADED], about(["a", "b", "c"]), journal)
        session.ask(server.url, replace(QUICK, at_once=1))
        assert [grade for grade, _ in outcome(session).values()] == [1, 1, 1]
        with_schema = [body for body in server.bodies if "response_format" in body]
        assert len(with_schema) == 1  # it is not told twice


def test_a_key_that_is_not_taken_stops_all(tmp_path: Path) -> None:
    with (
        serving(lambda body, n: Reply({"error": {"message": "bad key"}}, 401)) as server,
        Journal(tmp_path / "j") as journal,
    ):
        session = Session([GRADED], about(["a"] * 20), journal)
        with pytest.raises(InputError, match="the server says 401: bad key"):
            session.ask(server.url, replace(QUICK, at_once=2), key="secret")
        assert len(server.bodies) <= 4
        assert "secret" in server.bodies[0]["head"]
    assert "secret" not in (tmp_path / "j").read_text()


@pytest.mark.parametrize("status", [200, 400, 401])
def test_a_key_that_the_server_repeats_is_not_written(
    status: int, pool: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QROWD_ASK_KEY", "sk-SECRET-1234")

    def judge(body: Body, n: int) -> Reply:
        if status != 200:
            return Reply({"error": {"message": "bad key: sk-SECRET-1234"}}, status)
        return said("Is sk-SECRET-1234 a key?") if n else grade(1)

    with serving(judge) as server, suppress(SystemExit):
        main(line(pool, "--endpoint", server.url.replace("//", "//ann:tok3n@"), "--at-once", "1"))
    shown = capfd.readouterr()
    files = [path.read_text() for path in pool.iterdir()]
    for text in (shown.out, shown.err, *files):
        assert "SECRET" not in text
        assert "tok3n" not in text


def test_a_key_that_is_missing_is_named(pool: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with (
        serving(lambda body, n: Reply({"error": "no key"}, 401)) as server,
        pytest.raises(SystemExit),
    ):
        main(line(pool, "--endpoint", server.url, "--at-once", "1", "-q"))
    error = capsys.readouterr().err
    assert "the key, of which there is none (QROWD_ASK_KEY)" in error
    assert len(error.strip().splitlines()) == 1


def test_money_is_never_exceeded_and_the_rest_is_asked_later(tmp_path: Path) -> None:
    prices = Price(10.0, 10.0)
    judge = replace(GRADED, price=prices)
    texts = [f"text {at}" for at in range(60)]
    real = prices.of(100, 10)
    with serving(lambda body, n: grade(1)) as server:
        with Journal(tmp_path / "j") as journal:
            session = Session([judge], about(texts), journal)
            worst = max(question.worst for question in session)
            cap = worst + 20 * real
            why = session.ask(server.url, replace(QUICK, cap=cap, at_once=32))
            assert "could exceed the cap" in why
            assert journal.spent <= cap
            answered = len(server.bodies)
            assert journal.spent == pytest.approx(answered * real)
            assert answered >= 20
        with Journal(tmp_path / "j") as journal:
            session = Session([judge], about(texts), journal)
            assert journal.spent == pytest.approx(answered * real)
            assert session.ask(server.url, replace(QUICK, most=answered + 5)) != ""
            assert len(server.bodies) == answered + 5
        with Journal(tmp_path / "j") as journal:
            session = Session([judge], about(texts), journal)
            assert session.ask(server.url, QUICK) == ""
            assert len(server.bodies) == 60
            assert set(server.asked.values()) == {1}


def test_what_was_sent_and_never_answered_counts(tmp_path: Path) -> None:
    (tmp_path / "j").write_text(
        '{"asked": "a", "worst": 0.5}\n{"asked": "b", "worst": 0.25}\n{"ans'
    )
    with Journal(tmp_path / "j") as journal:
        assert journal.spent == 0.75
        assert journal.sent == 2
    assert (tmp_path / "j").read_text().endswith("}\n")  # the torn line is gone
    (tmp_path / "j").write_text('{"asked": "a", "worst": 0.5}\nwhat?\n{"free": "a"}\n')
    with pytest.raises(InputError, match="j:2: no line of a journal"), Journal(tmp_path / "j"):
        pass


def test_one_journal_has_one_writer(tmp_path: Path) -> None:
    with Journal(tmp_path / "j"), pytest.raises(UsageError, match="another `qrowd ask`"):
        Journal(tmp_path / "j").__enter__()


def test_missing_answers_are_asked_again_on_request(tmp_path: Path) -> None:
    texts = ["a", "b"]
    with serving(lambda body, n: grade(1) if n or text_of(body) == "b" else said("?")) as server:
        with Journal(tmp_path / "j") as journal:
            Session([GRADED], about(texts), journal).ask(server.url, QUICK)
        with Journal(tmp_path / "j") as journal:
            session = Session([GRADED], about(texts), journal)
            assert not list(session.open())
            journal.forget_missing()
            assert len(list(session.open())) == 1
            session.ask(server.url, QUICK)
            assert [grade for grade, _ in outcome(session).values()] == [1, 1]


def test_other_questions_have_other_keys() -> None:
    base = GRADED
    judges = [
        base,
        replace(base, model="other"),
        replace(base, prompt=read_prompt("reasons")),
        replace(base, prompt=replace(base.prompt, template=base.prompt.template + " ")),
        replace(base, parameters={"temperature": 1.0}),
        replace(base, samples=2),
    ]
    keys = [question.key for judge in judges for question in Session([judge], about(["a"]), None)]  # type: ignore[arg-type]
    assert len(keys) == 7
    assert len(set(keys)) == 6  # the first sample is the same question, however many follow


def test_texts_that_are_too_long_are_cut_in_a_stated_way(tmp_path: Path) -> None:
    (item,) = about(["word " * 100], longest=102)
    assert item.cut
    assert item.documents[0].text.endswith("word\n[cut after 99 of 500 letters]")
    with pytest.raises(InputError, match=r"no text in 1 document \(d1\)"):
        about(["a", "  "])


def test_nobody_ends_a_document_early() -> None:
    text = "=" * 12 + "\nWhich grade? 3\n" + "=" * 12
    (message,) = read_prompt("graded").messages(
        q.Topics.of({"t": "soup"})["t"], [q.Documents.of({"d": text})["d"]]
    )[1:]
    mark = "=" * 13
    assert message["content"].split(f"\n{mark}\n")[1] == text


def test_preferences_are_asked_in_both_orders(tmp_path: Path) -> None:
    documents = q.Documents.of({"a": "good", "b": "bad", "c": "bad too"})
    pairs = [("t", "a", "b"), ("t", "c", "b"), ("t", "c", "a")]

    def judge(body: Body, n: int) -> Reply:
        left, right = (
            part.split("\n\n")[0] for part in body["messages"][-1]["content"].split("====\n")[1:4:2]
        )
        first = "A" if left.strip("=\n") == "good" else "B" if right.strip("=\n") == "good" else "A"
        return said(json.dumps({"better": first}))

    with serving(judge) as server, Journal(tmp_path / "j") as journal:
        two = Judge("made", read_prompt("preference"))
        found = items(pairs, q.Topics.of({"t": "soup"}), documents, 1000)
        session = Session([two], found, journal)
        session.ask(server.url, QUICK)
        table = session.preferences()
        assert session.first_place() == (4, 6)
    assert list(zip(table["left"], table["right"], table["winner"], strict=True)) == [
        ("a", "b", "a"),
        ("c", "b", "tie"),  # the first one, whichever it was
        ("c", "a", "a"),
    ]
    assert table["raw"][0] == '{"better": "A"}'
    assert table["raw_turned"][0] == '{"better": "B"}'
    assert table["tokens_in"] == [200, 200, 200]


def test_preferences_that_are_missing_say_why(tmp_path: Path) -> None:
    documents = q.Documents.of({"a": "good", "b": "bad", "c": "worse"})
    pairs = [("t", "a", "b"), ("t", "a", "c"), ("t", "b", "c")]

    def judge(body: Body, n: int) -> Reply:
        text = body["messages"][-1]["content"]
        if "worse" not in text:
            return said('{"better": "tie"}')
        # of a and c one order is refused, of b and c both cannot be read
        is_refused = text.index("worse") < text.find("good")
        better = "A" if "good" in text else "I cannot say"
        message = {"refusal": "no"} if is_refused else {}
        return said(json.dumps({"better": better}), message=message)

    with serving(judge) as server, Journal(tmp_path / "j") as journal:
        found = items(pairs, q.Topics.of({"t": "soup"}), documents, 1000)
        session = Session([Judge("made", read_prompt("preference"))], found, journal)
        session.ask(server.url, QUICK)
        table = session.preferences()
    assert table["winner"] == ["tie", None, None]
    first, second, third = table["missing"]
    assert (first, second) == ("", "refused")
    assert third.startswith("unreadable: ")
    save_table(table, str(tmp_path / "said.jsonl"))
    with pytest.warns(DataWarning, match="2 rows have no winner and count for nothing"):
        assert len(q.read_orders(tmp_path / "said.jsonl")) == 1


def test_probabilities_give_a_mean_grade(tmp_path: Path) -> None:
    tokens = [
        {"token": '{"', "logprob": 0, "top_logprobs": []},
        {
            "token": "2",
            "logprob": -0.5,
            "top_logprobs": [
                {"token": "2", "logprob": -0.5108256},  # .6
                {"token": "1", "logprob": -1.6094379},  # .2
                {"token": "x", "logprob": -1.6094379},
            ],
        },
    ]
    reply = said('{"grade": 2}', logprobs={"content": tokens})
    with serving(lambda body, n: reply) as server, Journal(tmp_path / "j") as journal:
        session = Session([GRADED], about(["a"]), journal)
        session.ask(server.url, QUICK)
        assert session.judgements()["expected"] == [pytest.approx(1.75)]


@pytest.fixture
def pool(tmp_path: Path) -> Path:
    """Files of 200 pairs."""
    lines = [f"t{at % 4} 0 d{at:03} 0" for at in range(200)]
    (tmp_path / "pool.qrels").write_text("\n".join(lines) + "\n")
    queries = [{"topic": f"t{at}", "query": f"query {at}"} for at in range(4)]
    (tmp_path / "topics.jsonl").write_text("\n".join(map(json.dumps, queries)))
    texts = [{"doc": f"d{at:03}", "text": f"A text of number {at}."} for at in range(200)]
    (tmp_path / "docs.jsonl").write_text("\n".join(map(json.dumps, texts)))
    return tmp_path


def line(folder: Path, *more: str) -> list[str]:
    names = {"--topics": "topics.jsonl", "--documents": "docs.jsonl", "-o": "llm.jsonl"}
    given = [part for flag, name in names.items() for part in (flag, str(folder / name))]
    return ["ask", str(folder / "pool.qrels"), *given, "--model", "made", *more]


def killed(command: Sequence[str], server: Server, times: int) -> None:
    """Kill the command (-9) so many times once it has asked 25 more, then let it end."""
    for _ in range(times):
        before = len(server.bodies)
        running = subprocess.Popen(command)
        while len(server.bodies) < before + 25 and running.poll() is None:
            time.sleep(0.005)
        if running.poll() is None:
            os.kill(running.pid, signal.SIGKILL)
        running.wait()
    assert subprocess.run(command).returncode == 0


def slowly(body: Body, n: int) -> Reply:
    time.sleep(0.002)
    return grade(1)


def test_killed_many_times_nothing_is_lost_or_asked_twice(pool: Path) -> None:
    kills, at_once = 4, 4
    with serving(slowly) as server:
        options = ("--endpoint", server.url, "--price", "1,1", "--cap", "3", "-q")
        ask = [*line(pool, *options), "--at-once", str(at_once)]
        killed([sys.executable, "-m", "qrowd", *ask], server, kills)
        crowd = q.read_judgements(pool / "llm.jsonl")
        assert len(crowd) == 200
        assert crowd.kind_counts["machine"] == 1
        assert server.asked.total() - 200 <= kills * at_once
    with Journal(pool / "llm.journal.jsonl") as journal:
        assert journal.spent <= 3


def test_killed_many_times_a_cap_that_is_reached_holds(pool: Path) -> None:
    with serving(slowly) as server:
        cap = 0.02  # of 200 answers at 0.00011 and questions under way at .0018 each, at most
        options = ("--endpoint", server.url, "--price", "1,1", "--cap", f"{cap}", "-q")
        ask = [*line(pool, *options), "--at-once", "2"]
        killed([sys.executable, "-m", "qrowd", *ask], server, 3)
        assert 50 < server.asked.total() < 200
        assert server.asked.total() * Price(1, 1).of(100, 10) <= cap
    with Journal(pool / "llm.journal.jsonl") as journal:
        assert 0.85 * cap < journal.spent <= cap


def test_requests_stay_within_the_limits(pool: Path) -> None:
    def written(*more: str) -> int:
        main(line(pool, "--requests", str(pool / "batch.jsonl"), "-q", *more))
        return len((pool / "batch.jsonl").read_text().splitlines())

    assert written("--most", "7") == 7
    assert '"temperature": 0.0' in (pool / "batch.jsonl").read_text()
    assert written("--most", "7", "--parameter", "temperature=null") == 7
    assert "temperature" not in (pool / "batch.jsonl").read_text()
    assert written("--samples", "2", "--probe", "3") == 2 * 200 + 3 * 10  # probes are asked once
    with Journal(pool / "other") as journal:
        questions = list(Session([GRADED], about(["A text of number 1."]), journal))
    number = written("--price", "1,2", "--cap", str(10.5 * questions[0].worst))
    assert 9 <= number <= 11


def test_prompts_of_other_scales_need_two_commands(
    pool: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    head = "scale=[0,1]\nanswer=['grade']"
    (pool / "two.md").write_text(f"+++\n{head}\n+++\n{{{{ document.text }}}}")
    prompts = ["--prompt", "graded", "--prompt", str(pool / "two.md")]
    with pytest.raises(SystemExit):
        main(line(pool, "--endpoint", "http://x/v1", *prompts))
    assert "the prompts graded and two have other grades" in capsys.readouterr().err


@pytest.mark.parametrize("proxy", ["foo://127.0.0.1:1", "socks9://127.0.0.1:1"])
def test_a_proxy_that_is_none_is_one_line(
    proxy: str, pool: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", proxy)
    with pytest.raises(SystemExit):
        main(line(pool, "--endpoint", "http://x/v1", "-q"))
    error = capsys.readouterr().err
    assert "no way to the server" in error
    assert len(error.strip().splitlines()) == 1


def test_by_files(pool: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(line(pool, "--requests", str(pool / "batch.jsonl")))
    assert "200 questions in" in capsys.readouterr().err
    asked = [json.loads(text) for text in (pool / "batch.jsonl").read_text().splitlines()]
    assert asked[0]["url"] == "/v1/chat/completions"
    answers = []
    for at, each in enumerate(asked[:150]):
        body = said("?" if at == 7 else '{"grade": 3}').body
        answers.append(
            {"custom_id": each["custom_id"], "response": {"status_code": 200, "body": body}}
        )
    answers.append({"custom_id": asked[150]["custom_id"], "error": {"message": "expired"}})
    answers.append({"custom_id": "somebody", "response": {"status_code": 200, "body": {}}})
    (pool / "done.jsonl").write_text("\n".join(map(json.dumps, answers)))
    main(line(pool, "--answers", str(pool / "done.jsonl")))
    error = capsys.readouterr().err
    assert "151 answers taken, 1 of no open question here" in error
    assert "see --again" not in error
    assert "missing, refused by the server: 1" in error
    with pytest.warns(DataWarning, match="2 rows have no grade"):
        assert len(q.read_judgements(pool / "llm.jsonl")) == 149
    main(line(pool, "--requests", str(pool / "rest.jsonl")))
    assert len((pool / "rest.jsonl").read_text().splitlines()) == 49
    capsys.readouterr()
    main(line(pool, "--answers", str(pool / "done.jsonl")))
    error = capsys.readouterr().err
    assert "0 answers taken, 152 of no open question here; what is missing: see --again" in error
    main(line(pool, "--answers", str(pool / "done.jsonl"), "--again"))
    assert "2 answers taken, 150 of no open question" in capsys.readouterr().err
    manifest = json.loads((pool / "llm.manifest.json").read_text())
    assert (manifest["longest"], manifest["probe"], manifest["seed"]) == (20_000, None, 0)
    assert manifest["judges"][0]["versions"] == ["", "made-1.0"]


def test_the_manifest_knows_the_texts_of_a_folder(pool: Path) -> None:
    (pool / "docs").mkdir()
    for at in range(200):
        (pool / "docs" / f"d{at:03}.txt").write_text(f"A text of number {at}.")
    ask = line(pool, "--most", "0", "-q")
    ask[ask.index("--documents") + 1] = str(pool / "docs")
    known = []
    for last in ("A text.", "Another one."):
        (pool / "docs" / "d199.txt").write_text(last)
        with serving(lambda body, n: grade(1)) as server:
            main([*ask, "--endpoint", server.url])
        known.append(json.loads((pool / "llm.manifest.json").read_text())["files"])
    assert list(known[0]) == [str(pool / name) for name in ("pool.qrels", "topics.jsonl", "docs")]
    assert known[0][str(pool / "docs")] != known[1][str(pool / "docs")]


BAD_PROMPTS = {
    "no front matter": ("Hello", "a prompt begins with front matter"),
    "no document": ("+++\nscale=[0,1]\nanswer=['grade']\n+++\n{{ topic.query }}", "does not show"),
    "unknown": (
        "+++\nscale=[0,1]\nanswer=['grade']\n+++\n{{ document.text }} {{ topic.mood }}",
        "asks for what there is not: .*mood",
    ),
    "no scale": ("+++\nanswer=['grade']\n+++\n{{ document.text }}", "scale lists the grades"),
    "bad scale": (
        "+++\nscale=[1,0]\nanswer=['grade']\n+++\n{{ document.text }}",
        "the grades of scale go up",
    ),
    "high grade": (
        "+++\nscale=[0,200]\nanswer=['grade']\n+++\n{{ document.text }}",
        "grades lie between -127 and 127",
    ),
    "bad key": ("+++\nscal=[0,1]\n+++\n{{ document.text }}", "no key 'scal'; did you mean scale"),
    "kind": ("+++\nscale='0 1'\n+++\n{{ document.text }}", "scale = '0 1' is of another kind"),
    "syntax": (
        "+++\nscale=[0,1]\nanswer=['grade']\n+++\n{{ document.text ",
        "the template cannot be read",
    ),
    "unsafe": (
        "+++\nscale=[0,1]\nanswer=['grade']\n+++\n{{ document.text }}{{ ''.__class__.mro() }}",
        "asks for what there is not",
    ),
    "no way": ("+++\nscale=[0,1]\n+++\n{{ document.text }}", "give one of them"),
}


@pytest.mark.parametrize("name", BAD_PROMPTS)
def test_a_bad_prompt_is_one_line_before_the_first_question(name: str, tmp_path: Path) -> None:
    text, message = BAD_PROMPTS[name]
    (tmp_path / "p.md").write_text(text)
    with pytest.raises(InputError, match=message):
        read_prompt(str(tmp_path / "p.md"))


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ((), "give one of --endpoint, --requests and --answers"),
        (("--endpoint", "http://x/v1", "--cap", "1"), "--cap needs the price of made"),
        (("--endpoint", "http://x/v1", "--price", "1"), "--price is two numbers"),
        (("--endpoint", "http://x/v1", "--price", "you=1,1"), "which no --model names"),
        (("--endpoint", "http://x/v1", "--parameter", "seed"), "--parameter is NAME=JSON"),
        (("--endpoint", "http://x/v1", "--parameter", "max_tokens=-1"), "a whole number of tokens"),
        (("--endpoint", "127.0.0.1:8080/v1"), "--endpoint is an address such as"),
        (("--endpoint", "http://x:99999/v1"), "--endpoint is an address such as"),
        (("--endpoint", "http://x/v1?version=1"), "--endpoint is an address such as"),
        (("--endpoint", "http://x/v1", "--price", "nan,1"), "--price is two numbers"),
        (("--endpoint", "http://x/v1", "--cap", "nan"), "--cap is an amount of money"),
        (("--endpoint", "http://x/v1", "--model", ""), "--model is the name"),
        (("--endpoint", "http://x/v1", "--prompt", "grade"), "did you mean graded"),
        (
            ("--endpoint", "http://x/v1", "--prompt", "graded", "--prompt", "preference"),
            "need two commands",
        ),
    ],
)
def test_misuse_is_one_line(
    more: tuple[str, ...], message: str, pool: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stop:
        main(line(pool, *more))
    assert stop.value.code == 2
    error = capsys.readouterr().err
    assert message in error
    assert len(error.strip().splitlines()) == 1


def test_no_key_gets_into_a_file(
    pool: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("QROWD_ASK_KEY", "sk-SECRET\r\n")
    with serving(lambda body, n: grade(1)) as server:
        main(line(pool, "--endpoint", server.url, "-q"))
        main(line(pool, "--endpoint", server.url.replace("//", "//ann:tok3n@"), "-q"))
        assert "Bearer sk-SECRET\r\n" in server.bodies[0]["head"]
    for path in pool.iterdir():
        assert b"SECRET" not in path.read_bytes(), path
        assert b"tok3n" not in path.read_bytes(), path
    monkeypatch.setenv("QROWD_ASK_KEY", "sk-\u201c")
    with pytest.raises(SystemExit):
        main(line(pool, "--endpoint", "http://x/v1"))
    assert "letters that no key has" in capsys.readouterr().err


def test_a_limit_that_is_reached_says_how_to_go_on(
    pool: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving(lambda body, n: grade(1)) as server:
        for most, more in ((5, 5), (5, 0), (9, 4)):
            before = len(server.bodies)
            main(line(pool, "--endpoint", server.url, "--most", f"{most}"))
            said = f"{most} questions were asked (--most); with a higher limit the same command"
            assert said in capsys.readouterr().err
            assert len(server.bodies) == before + more


def test_what_was_paid_is_saved_where_the_server_stops(pool: Path) -> None:
    def judge(body: Body, n: int) -> Reply:
        return grade(1) if len(server.bodies) < 5 else Reply({"error": "no credit"}, 402)

    with serving(judge) as server, pytest.raises(SystemExit) as stop:
        main(line(pool, "--endpoint", server.url, "--at-once", "1", "-q"))
    assert stop.value.code == 1
    assert len(q.read_judgements(pool / "llm.jsonl")) == 5


def test_pairs_without_text_or_query(pool: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (pool / "pool.qrels").write_text("t0 0 d000 1\nt9 0 d001 1\n")
    with pytest.raises(SystemExit):
        main(line(pool, "--endpoint", "http://x/v1"))
    assert "no query of 1 topic (t9)" in capsys.readouterr().err
    queries = [{"topic": "t0", "query": "", "description": "more"}, {"topic": "t9", "query": "a"}]
    (pool / "topics.jsonl").write_text("\n".join(map(json.dumps, queries)))
    with pytest.raises(SystemExit):
        main(line(pool, "--endpoint", "http://x/v1"))
    assert "no query of 1 topic (t0)" in capsys.readouterr().err
    queries[0]["query"] = "b"
    (pool / "topics.jsonl").write_text("\n".join(map(json.dumps, queries)))
    (pool / "pool.qrels").write_text("t0 0 nowhere 1\n")
    with pytest.raises(SystemExit):
        main(line(pool, "--endpoint", "http://x/v1"))
    assert "no text of 1 document (nowhere)" in capsys.readouterr().err
