"""The game: sentences are put to topics, from a plan's files to labels of documents."""

from __future__ import annotations

import csv
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.collection.making import Site, make_site
from tests.collection.stored.make import upload

import qrowd as q
from qrowd.collection.database.verification import broken
from qrowd.collection.drafts.contents import campaign_rows
from qrowd.collection.drafts.draft import new_draft
from qrowd.collection.drafts.forms import fill_in
from qrowd.collection.drafts.launch import problems
from qrowd.collection.drafts.steps import StepForm
from qrowd.collection.judging import submission
from qrowd.collection.judging.offer import Offer, ShownDocument, ShownSet, body_of
from qrowd.collection.judging.queue import Nothing
from qrowd.collection.office.acts.sets import Extend
from qrowd.collection.plan.changes import change, set_key
from qrowd.collection.plan.exposure import TOLD, exposure_of
from qrowd.collection.plan.files import read_plan_files
from qrowd.collection.plan.forecast import forecast, refuse_unmeetable
from qrowd.collection.plan.rows import CampaignRows, DocumentRow, GoldRow
from qrowd.collection.plan.sections import Plan
from qrowd.collection.plan.toml import parse_plan, plan_text
from qrowd.collection.publishing.export import export
from qrowd.content.sentences import sentences
from qrowd.data.qrels import Qrels
from qrowd.data.topics import Topic
from qrowd.errors import InputError, RuleError
from qrowd.web.robots.crowd import Crowd
from qrowd.web.robots.rehearsal import dry_run

PLAN = """
[campaign]
name = "tiny"
seed = 1
way = "game"
[scale]
grades = [0, 1]
[sets]
size = 3
target = 2
[hit]
sets = 3
gold = 1
[checks.seconds]
at_least = 0
[pay]
seconds_per_document = 6
"""
QUERIES = {"bread": "bake bread", "bike": "mend a tyre", "bees": "keep bees", "boat": "sail a boat"}
Put = Any  # what somebody puts a sentence to: a function of a set and its text


def text_of(topic: str, name: str, on: int, off: int) -> str:
    """A text with so many sentences on a topic, and so many others, each like no other."""
    parts = [f"This line {name}{at} helps to {QUERIES[topic]}." for at in range(on)]
    return " ".join(parts + [f"The weather of day {name}{at} was fine." for at in range(off)])


def material(topics: int = 4, documents: int = 4, gold: int = 3) -> CampaignRows:
    """Documents of which every second is relevant; gold with a marked passage."""
    names, rows, pool, golds = list(QUERIES)[:topics], [], [], []
    for topic in names:
        for d in range(documents):
            name = f"{topic}{d}"
            rows.append(DocumentRow(name, text_of(topic, name, 2 * (d % 2), 3).encode()))
            pool.append((topic, name))
        for g in range(gold):
            good, bad = f"{topic}g{g}", f"{topic}h{g}"
            rows.append(DocumentRow(good, text_of(topic, good, 2, 3).encode()))
            rows.append(DocumentRow(bad, text_of(topic, bad, 0, 4).encode()))
            passage = " ".join(sentences(text_of(topic, good, 2, 0)))
            golds.append(GoldRow(topic, good, 2, "it helps", passage))
            golds.append(GoldRow(topic, bad, 0, "it is on the weather"))
    texts = [Topic(name, QUERIES[name], f"How do I {QUERIES[name]} myself?") for name in names]
    return CampaignRows(texts, rows, pool, golds)


def prepared(rows: CampaignRows, plan: str = PLAN) -> CampaignRows:
    """The rows of a game."""
    parsed = parse_plan(plan)
    return parsed.way.prepare(parsed, rows)


def texts(site: Site, worker: int, shown: ShownSet, document: ShownDocument) -> str:
    """What a sentence says."""
    body = site.work(body_of, worker, shown.key, document.position)
    return str(body.content.decode())


def right(shown: ShownSet, text: str) -> str:
    """The bucket of a sentence."""
    return next((each.query for each in shown.buckets if each.query in text), "")


def play(site: Site, worker: int, offer: Offer, put: Put = right) -> list[str]:
    """Put the sentences of a round; all of them."""
    said = []
    for shown in offer.sets:
        for document in shown.documents:
            said.append(texts(site, worker, shown, document))
            bucket = put(shown, said[-1])
            grade = int(bucket == shown.topic.query)
            site.say(worker, shown.key, document.position, grade, bucket=bucket, seconds=1.0)
    return said


def finished(site: Site, worker: int, put: Put = right) -> Any:
    """A whole round, handed in; what its review says."""
    offer = site.next(worker)
    play(site, worker, offer, put)
    result = site.work(submission.finish, worker, offer.key)
    site.work(submission.submit, worker, offer.key)
    return result


# --- sentences of a plan's files ------------------------------------------------------------------


def test_documents_are_cut_into_sentences_with_their_keywords() -> None:
    page = b"<html><head><title>Bread</title></head><body><h1>How to make bread</h1><ul><li>Knead "
    page += (
        b"the dough for ten minutes</li><li>Bake it</li></ul><script>let it be as it is</script>"
    )
    rows = replace(
        material(),
        documents=[
            DocumentRow(
                "a#1", b"Sourdough takes a whole day. Short one. It rises by itself there."
            ),
            DocumentRow("b", page, media_type="text/html"),
            DocumentRow("c", "我们今天要做面包。".encode()),
        ],
        pool=[("bread", "a#1"), ("bread", "b"), ("bread", "c")],
        gold=[],
        priorities={("bread", "b"): 2.0},
    )
    made = prepared(rows, PLAN.replace("gold = 1", "gold = 0"))
    cut = {row.name: (row.body.decode(), row.title) for row in made.documents}
    assert cut == {
        "a#1#1": ("Sourdough takes a whole day.", "sourdough"),
        "a#1#2": ("It rises by itself there.", "rises"),
        "b#1": ("How to make bread", "make"),
        "b#2": ("Knead the dough for ten minutes", "knead"),
        "c#1": ("我们今天要做面包。", "我们"),
    }
    assert made.pool == [("bread", name) for name in cut]
    assert made.priorities == {("bread", "b#1"): 2.0, ("bread", "b#2"): 2.0}


def test_gold_is_what_experts_marked() -> None:
    rows = material(gold=1)
    marked = GoldRow("bread", "bread1#3", 0, "it is on the weather")
    known = {
        row.document: row.grade for row in prepared(replace(rows, gold=[*rows.gold, marked])).gold
    }
    of_bread = {name: grade for name, grade in known.items() if name.startswith("bread")}
    assert of_bread == {
        # of a relevant document only what is in the passage
        **{f"breadg0#{at}": 1 for at in (1, 2)},
        **{f"breadh0#{at}": 0 for at in (1, 2, 3, 4)},
        "bread1#3": 0,
    }


def test_a_topic_without_known_sentences_gets_some_from_its_description() -> None:
    rows = material(gold=2)
    bare = [replace(row, passage="") if row.topic == "bees" else row for row in rows.gold]
    made, plan = prepared(replace(rows, gold=bare)), parse_plan(PLAN)
    of_bees = Counter(row.grade for row in made.gold if row.topic == "bees")
    assert of_bees == {0: 8, 1: 1}
    said = [str(each.message) for each in plan.way.warnings(plan, made)]
    assert any("made from its description, and can be told" in text for text in said)
    bodies = [row.body.decode() for row in made.documents if "description" in row.name]
    assert bodies == ["How do I keep bees myself?"]


def test_what_it_costs_in_attention_is_said() -> None:
    plan, made = parse_plan(PLAN), prepared(material())
    said = [str(each.message) for each in forecast(plan, made).warnings]
    assert said[0] == (
        "64 sentences of 16 documents, 4.0 each: 24 seconds of a player's attention a document, "
        "where one grade takes about 20"
    )


@pytest.mark.parametrize(
    ("row", "named"),
    [
        (DocumentRow("x", b"Too short. So this."), r"x \(text/plain\)"),
        (DocumentRow("x", b"%PDF-1.4 a b c d", media_type="application/pdf"), "application/pdf"),
    ],
)
def test_documents_without_a_sentence_are_refused_or_left_out(row: DocumentRow, named: str) -> None:
    base = material()
    rows = replace(base, documents=[*base.documents, row], pool=[*base.pool, ("bread", "x")])
    with pytest.raises(InputError, match=rf"1 document has no sentence of 4 words: .*{named}"):
        prepared(rows)
    left = prepared(rows, f'{PLAN}[files]\nblank = "leave out"\n')
    assert left.pool == prepared(base).pool


def test_topics_must_be_three_and_told_apart() -> None:
    plan, made = parse_plan(PLAN), prepared(material(topics=2))
    with pytest.raises(InputError, match=r"needs three topics .* there are 2; .*judge by grades"):
        refuse_unmeetable(plan, made)
    made = prepared(material())
    topics = [*made.topics[1:], made.topics[1]._replace(name="again", query="Mend  a TYRE")]
    with pytest.raises(InputError, match="two topics have the query mend a tyre"):
        refuse_unmeetable(plan, replace(made, topics=topics))


@pytest.mark.parametrize(
    ("key", "lines"),
    [
        ("scale.grades", ("grades = [0, 1]", "grades = [0, 1, 2]")),
        ("scale.gold_grades", ("grades = [0, 1]", "grades = [0, 1]\ngold_grades = [0, 1, 2]")),
        ("campaign.mode", ("seed = 1", 'mode = "hierarchy"')),
        ("hit.repeats", ("gold = 1", "gold = 1\nrepeats = 0.1")),
        ("techniques.justification", ("[pay]", '[techniques]\njustification = "reason"\n[pay]')),
        ("techniques.expertise_share", ("[pay]", "[techniques]\nexpertise_share = 0.5\n[pay]")),
        ("techniques.review_share", ("[pay]", "[techniques]\nreview_share = 0.5\n[pay]")),
        ("checks.seconds.at_least", ("at_least = 0", "at_least = 6")),
        ("pay.seconds_per_document", ("_document = 6", "_document = 20")),
    ],
)
def test_what_a_plan_may_not_ask_of_players(key: str, lines: tuple[str, str]) -> None:
    section, _, name = key.rpartition(".")
    with pytest.raises(InputError, match=rf"\[{section}\] {name}: .*(game|judge by grades)"):
        parse_plan(PLAN.replace(*lines))


def test_the_choice_of_the_game_settles_a_plan() -> None:
    plan = change(Plan(), {"campaign.way": "game", "campaign.name": "a"})
    assert plan.scale.grades == (0, 1)
    assert parse_plan(plan_text(plan)).way.name == "game"


def written(folder: Path, rows: CampaignRows) -> dict[str, Path]:
    """Files that hold it."""
    documents = [f"{row.name}\t{row.body.decode()}" for row in rows.documents]
    gold = [f"{row.topic}\t{row.document}\t{row.grade}\t{row.passage}" for row in rows.gold]
    lines = {
        "topics": ["topic\tquery", *(f"{name}\t{query}" for name, query in QUERIES.items())],
        "documents": ["doc\ttext", *documents],
        "pool": ["topic\tdoc", *(f"{topic}\t{doc}" for topic, doc in rows.pool)],
        "gold": ["topic\tdoc\tgrade\tpassage", *gold],
    }
    paths = {kind: folder / f"{kind}.tsv" for kind in lines}
    for kind, path in paths.items():
        path.write_text("\n".join(lines[kind]) + "\n", encoding="utf-8")
    return paths


def test_a_plan_file_is_played_by_its_sentences(tmp_path: Path) -> None:
    rows = material()
    rows = replace(rows, gold=[*rows.gold, GoldRow("bread", "bread1#3", 0)])
    files = "".join(f'{kind} = "{path.name}"\n' for kind, path in written(tmp_path, rows).items())
    plan = parse_plan(f"{PLAN}[files]\n{files}")
    read = read_plan_files(plan, tmp_path / "plan.toml")
    assert read.pool == prepared(replace(rows, pool=sorted(rows.pool))).pool
    judged = {doc for _, doc in read.pool} | {row.document for row in read.gold}
    assert {row.name for row in read.documents} == judged
    assert ("bread", "bread1#3") in {row.pair for row in read.gold}


def test_the_wizard_counts_sentences_and_says_what_has_none(tmp_path: Path) -> None:
    rows = material()
    mute = DocumentRow("mute", b"Too short. So this.")
    rows = replace(rows, documents=[*rows.documents, mute], pool=[*rows.pool, ("bread", "mute")])
    paths = written(tmp_path, rows)
    draft = new_draft(tmp_path / "drafts", "ada", 1)
    for kind in ("topics", "documents", "pool"):
        draft = fill_in(draft, upload(kind, kind, paths[kind]), "ada", 2)
    draft = fill_in(draft, StepForm("way", {"campaign.way": "game"}), "ada", 3)
    lacks = [str(problem.message) for problem in problems(draft)]
    assert any("1 document has no sentence of 4 words: mute (text/plain)" in text for text in lacks)
    plan = set_key(draft.plan, "files", "blank", "leave out")
    assert len(campaign_rows(replace(draft, plan=plan)).pool) == 64


def test_a_sentence_of_many_documents_is_judged_once() -> None:
    """Nobody reads a text twice: a notice on every page would close all sets."""
    rows = material()
    notice = b" We use cookies on this page."
    documents = [replace(row, body=row.body + notice) for row in rows.documents]
    made = prepared(replace(rows, documents=documents))
    texts = Counter(row.body for row in made.documents)
    assert texts[notice.strip()] == 1
    assert max(texts.values()) == 1
    assert {name for _, name in made.pool} <= {row.name for row in made.documents}


def test_every_bucket_has_a_query() -> None:
    rows = material()
    blank = [rows.topics[0]._replace(query=" "), *rows.topics[1:]]
    told = parse_plan(PLAN).way.unmeetable(replace(rows, topics=blank))
    assert any("has no query" in str(each.message) for each in told)


def test_the_wizard_loses_no_known_sentence(tmp_path: Path) -> None:
    """Gold is put in sets by sentences, when the campaign is made, not by documents before."""
    rows = material()
    paths = written(tmp_path, rows)
    draft = new_draft(tmp_path / "drafts", "ada", 1)
    for kind in ("topics", "documents", "pool"):
        draft = fill_in(draft, upload(kind, kind, paths[kind]), "ada", 2)
    draft = fill_in(draft, StepForm("way", {"campaign.way": "game"}), "ada", 3)
    draft = fill_in(draft, upload("gold", "gold", paths["gold"], source="arranged"), "ada", 4)
    known = {row.pair for row in campaign_rows(draft).gold}
    assert known == {row.pair for row in prepared(rows).gold}
    marked = tmp_path / "marked.tsv"
    marked.write_text("topic\tdoc\tgrade\nbread\tbread1#3\t0\nbread\tbread1#2\t1\n")
    draft = fill_in(draft, upload("gold", "gold", marked, source="chosen"), "ada", 5)
    assert not any("bread1#3" in str(problem.message) for problem in problems(draft))


# --- rounds ---------------------------------------------------------------------------------------


def test_a_round_has_three_topics_and_stores_what_was_chosen(url: str, tmp_path: Path) -> None:
    site = make_site(url, PLAN, prepared(material()))
    ann = site.worker("ann")
    offer = site.next(ann)
    for shown in offer.sets:
        assert len({each.query for each in shown.buckets}) == 3
        assert shown.topic in shown.buckets
        assert shown.buckets == offer.sets[0].buckets
    shown = offer.sets[0]
    other = next(each.query for each in shown.buckets if each != shown.topic)
    for bucket, grade in ((other, 1), (shown.topic.query, 0), ("nothing like it", 0), (None, 0)):
        with pytest.raises(RuleError, match="bucket"):
            site.say(ann, shown.key, 1, grade, bucket=bucket)
    site.say(ann, shown.key, 1, 0, bucket=other)
    again = site.next(ann)
    assert (again.sets[0].documents[0].answer.bucket, again.sets[0].buckets) == (
        other,
        shown.buckets,
    )
    play(site, ann, offer)
    site.work(submission.finish, ann, offer.key)
    assert site.work(submission.submit, ann, offer.key).state == "accepted"
    with site.store.read("tiny") as work:
        assert broken(work) == []
        export(work, tmp_path, merge=q.get("geann"))
    with (tmp_path / "buckets.tsv").open() as file:
        lines = list(csv.DictReader(file, delimiter="\t"))
    assert len(lines) == sum(len(shown.documents) for shown in offer.sets)
    names = {query: name for name, query in QUERIES.items()}
    assert {line["bucket"] for line in lines} <= {*names.values(), "none of these"}
    crowd = q.read_judgements(tmp_path / "buckets.tsv")
    merged = q.Geann().fit(crowd, q.Given(gold=q.read_qrels(tmp_path / "known.qrels")))
    assert all("#" not in name for name in merged.pairs.document_names)
    documents = q.read_qrels(tmp_path / "merged.qrels").pairs.document_names
    assert {name.partition("#")[0] for name in documents} == set(documents)
    site.store.engine.dispose()


def test_no_other_way_takes_a_bucket(tmp_path: Path) -> None:
    from tests.collection.making import PLAN as GRADES
    from tests.collection.making import material as documents

    site = make_site(f"sqlite:///{tmp_path / 'c.db'}", GRADES, documents())
    ann = site.worker("ann")
    with pytest.raises(RuleError, match="where there are buckets, only"):
        site.say(ann, site.next(ann).sets[0].key, 1, 1, bucket="query 0")
    site.store.engine.dispose()


def test_a_player_never_gets_a_sentence_twice(tmp_path: Path) -> None:
    base = material()
    # the same documents are in the pools of two topics, and one text has two names
    twice = [("bike", f"bread{d}") for d in range(4)]
    copies = [replace(row, name=f"copy-{row.name}") for row in list(base.documents)[:2]]
    rows = replace(
        base,
        pool=[*base.pool, *twice, *(("bees", row.name) for row in copies)],
        documents=[*base.documents, *copies],
    )
    made = prepared(rows)
    site = make_site(
        f"sqlite:///{tmp_path / 'c.db'}", PLAN.replace("target = 2", "target = 9"), made
    )
    ann, read, rounds = site.worker("ann"), Counter[str](), 0
    while not isinstance(offer := site.next(ann), Nothing):
        read.update(play(site, ann, offer))
        site.work(submission.finish, ann, offer.key)
        site.work(submission.submit, ann, offer.key)
        rounds += 1
    assert rounds > 5
    # all of one set come together: of a text with two names, both may be in it
    assert {text for text, times in read.items() if times > 1} == set()
    site.store.engine.dispose()


def test_points_are_for_what_is_known_and_for_agreeing(tmp_path: Path) -> None:
    # three topics of one set each: everybody has the same sentences, but for gold
    rows = prepared(material(topics=3, documents=1, gold=3))
    site = make_site(f"sqlite:///{tmp_path / 'c.db'}", PLAN.replace("sets = 3", "sets = 4"), rows)
    first = finished(site, site.worker("ann"))
    assert (first.points.made, first.points.best) == (30, 30)  # three known; nobody came before
    site.clock.forward(1)
    none = finished(site, site.worker("bob"), lambda shown, text: "")
    known = sum(missed.expert == 1 for missed in none.missed)
    counted = 9  # sentences on the weather, which ann put to none as well
    assert none.points.made == 10 * (3 - known) + 5 * counted
    assert [missed.bucket for missed in none.missed] == [""] * known
    site.store.engine.dispose()


def test_an_extension_brings_sentences_and_no_second_topic_of_a_query(tmp_path: Path) -> None:
    site = make_site(f"sqlite:///{tmp_path / 'c.db'}", PLAN, prepared(material()))
    text = "Rye needs a sour dough. It must rest for a day."
    more = CampaignRows(documents=[DocumentRow("rye", text.encode())], pool=[("bread", "rye")])
    with site.store.read("tiny") as work:
        assert Extend(rows=more).cost(work).pairs == 2
        same = replace(more, topics=[Topic("loaf", "Bake bread")])
        assert "two topics have the query" in str(Extend(rows=same).refused(work)[0])
    site.store.engine.dispose()


def test_robots_play(tmp_path: Path) -> None:
    site = make_site(f"sqlite:///{tmp_path / 'c.db'}", PLAN, prepared(material(documents=2)))
    of_documents = Qrels.of(["bread"], ["bread1"], [1])
    with pytest.raises(InputError, match="no true grade is of a pair of this campaign"):
        dry_run(site.store, "tiny", Crowd(robots=1, truth=of_documents))
    found = dry_run(site.store, "tiny", Crowd(robots=4, most_batches=2, seed=1))
    assert found.batches["accepted"] >= 3
    assert found.judgements > 20
    site.store.engine.dispose()


# --- what tells known sentences -------------------------------------------------------------------


def test_known_sentences_are_not_told_by_their_shape() -> None:
    plan = parse_plan(f"{PLAN}[people]\nworkers = 60\n")
    found = exposure_of(plan, prepared(material(documents=30, gold=20)))
    assert found is not None
    assert found.area <= TOLD
    assert np.isclose(found.area, 0.5, atol=0.02)
