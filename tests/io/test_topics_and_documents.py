"""Topics and documents: what is written is read back, and what is wrong is named with its line."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import qrowd as q
from qrowd.cli.main import main
from qrowd.data.topics import TOPIC_TEXTS
from qrowd.errors import DataWarning, FormatError, InputError, UnknownNameError

ODD = [
    "",
    " ",
    "Description: x",
    "Number: 4",
    "<b>",
    "&amp;",
    "a & b",
    " a\n",
    "\tx",
    "ü",
    "日本",
    '"',
]
LETTERS = st.characters(codec="utf-8", exclude_categories=["Cs"], exclude_characters="\0")
TEXT = st.one_of(st.sampled_from(ODD), st.text(LETTERS, max_size=12))
LINE = TEXT.filter(lambda text: not set(text) & set("\t\n\r"))
NAME = st.text(st.characters(codec="utf-8", categories=["L", "N"]), min_size=1, max_size=5)
quick = settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def topics(text: st.SearchStrategy[str]) -> st.SearchStrategy[q.Topics]:
    rows = st.dictionaries(NAME, st.tuples(*[text] * len(TOPIC_TEXTS)), min_size=1, max_size=4)
    return rows.map(
        lambda found: q.Topics.of(
            **{
                field: {name: texts[at] for name, texts in found.items()}
                for at, field in enumerate(TOPIC_TEXTS)
            }
        )
    )


def documents(text: st.SearchStrategy[str]) -> st.SearchStrategy[q.Documents]:
    rows = st.dictionaries(NAME, st.tuples(*[text] * 4), min_size=1, max_size=4)

    def made(found: dict[str, tuple[str, ...]]) -> q.Documents:
        index = q.Index.of(found)
        columns = [np.array([found[name][at] for name in index], object) for at in range(4)]
        text, title, url, abstract = columns
        return q.Documents(index, text, title=title, url=url, others={"abstract": abstract})

    return rows.map(made)


def rows(noun: q.Topics | q.Documents) -> list[dict[str, str]]:
    return noun.to_polars().to_dicts()


@pytest.mark.parametrize(
    "suffix", [".jsonl", ".json", ".csv", ".parquet", ".xml", ".sgml", ".jsonl.gz"]
)
@quick
@given(data=st.data())
def test_topics_come_back(suffix: str, tmp_path: Path, data: st.DataObject) -> None:
    noun = data.draw(topics(TEXT))
    q.save(noun, tmp_path / f"topics{suffix}")
    assert rows(q.read_topics(tmp_path / f"topics{suffix}")) == rows(noun)


@pytest.mark.parametrize("suffix", [".jsonl", ".json", ".csv", ".parquet", ".xml", ".sgml"])
@quick
@given(data=st.data())
def test_documents_come_back(suffix: str, tmp_path: Path, data: st.DataObject) -> None:
    noun = data.draw(documents(TEXT))
    q.save(noun, tmp_path / f"docs{suffix}")
    assert rows(q.read_documents(tmp_path / f"docs{suffix}")) == rows(noun)


@quick
@given(one=topics(LINE), other=documents(LINE))
def test_texts_without_tabs_come_back_from_tsv(
    tmp_path: Path, one: q.Topics, other: q.Documents
) -> None:
    q.save(one, tmp_path / "topics.tsv")
    q.save(other, tmp_path / "docs.tsv")
    assert rows(q.read_topics(tmp_path / "topics.tsv")) == rows(one)
    assert rows(q.read_documents(tmp_path / "docs.tsv")) == rows(other)


def test_a_tab_is_refused_where_a_table_cannot_hold_it(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"tab or a line end.*\.jsonl"):
        q.save(q.Documents.of({"d1": "a\tb"}), tmp_path / "docs.tsv")
    assert not (tmp_path / "docs.tsv").exists()


def test_a_folder_of_files(tmp_path: Path) -> None:
    noun = q.Documents.of({"a.b": "one\n", "c": " two"})
    q.save(noun, f"{tmp_path}/docs/")
    assert sorted(path.name for path in (tmp_path / "docs").iterdir()) == ["a.b.txt", "c.txt"]
    assert rows(q.read_documents(tmp_path / "docs")) == rows(noun)


def test_bytes_are_read_only_when_asked_for(tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text(
        "<html><head><title>Soup &amp; more</title></head>"
        "<body><p>Hot<script>x</script></body></html>"
    )
    (tmp_path / "scan.pdf").write_bytes(b"%PDF \xff\x00")
    (tmp_path / "plain.txt").write_text("words")
    found = q.read_documents(tmp_path)
    assert found["page"].title == "Soup & more"
    assert found["page"].text == "Hot"
    assert (found["scan"].text, found["scan"].media) == ("", "application/pdf")
    (tmp_path / "scan.pdf").write_bytes(b"later")
    assert found.read_bytes("scan") == b"later"
    assert found.read_bytes("plain") == b"words"
    assert pickle.loads(pickle.dumps(found)).read_bytes("scan") == b"later"
    (tmp_path / "scan.pdf").unlink()
    with pytest.raises(InputError, match=r"scan\.pdf: the document's bytes cannot be read"):
        found.read_bytes("scan")
    with pytest.raises(UnknownNameError, match="no document 'scam'; did you mean scan"):
        found.read_bytes("scam")


def test_files_beside_a_table(tmp_path: Path) -> None:
    (tmp_path / "docs.jsonl").write_text('{"doc": "d1", "file": "raw/d1.pdf"}\n')
    (tmp_path / "raw").mkdir()
    (tmp_path / "raw" / "d1.pdf").write_bytes(b"%PDF")
    found = q.read_documents(tmp_path / "docs.jsonl")
    assert found.read_bytes("d1") == b"%PDF"
    (tmp_path / "other").mkdir()
    q.save(found, tmp_path / "other" / "docs.jsonl")
    again = q.read_documents(tmp_path / "other" / "docs.jsonl")
    assert again.read_bytes("d1") == b"%PDF"


def test_topics_as_trec_wrote_them(tmp_path: Path) -> None:
    (tmp_path / "topics.401").write_text(
        "\n<top>\n\n<num> Number: 401 \n<title> foreign minorities, Germany\n\n"
        "<desc> Description: \n"
        "What language and cultural differences?\n\n<narr> Narrative:\nA relevant document\nwill "
        "focus &amp; say.\n\n</top>\n"
    )
    found = q.read_topics(tmp_path / "topics.401")["401"]
    assert found.query == "foreign minorities, Germany"
    assert found.description == "What language and cultural differences?"
    assert found.narrative == "A relevant document\nwill focus & say."


def test_topics_of_the_web_track(tmp_path: Path) -> None:
    (tmp_path / "wt.xml").write_text(
        '<webtrack2009>\n<topic number="1" type="faceted">\n<query>obama family tree</query>\n'
        '<description>Find it.</description>\n<subtopic number="1" type="nav">TIME</subtopic>\n'
        "</topic>\n</webtrack2009>\n"
    )
    found = q.read_topics(tmp_path / "wt.xml")
    assert found["1"][:3] == ("1", "obama family tree", "Find it.")


def test_documents_as_trec_wrote_them(tmp_path: Path) -> None:
    (tmp_path / "ft").write_text(
        "<DOC>\n<DOCNO> FT911-3 </DOCNO>\n<PROFILE>_AN-BEOA7AAIFT</PROFILE>\n<HEADLINE>\n"
        "FT  14 MAY\n</HEADLINE>\n<TEXT>\n<P>CORPORACION Mapfre &amp; Co</P>\n</TEXT>\n</DOC>\n"
        "<DOC><DOCNO>WT01</DOCNO><DOCHDR>\nhttp://x\n</DOCHDR><html><title>T</title><p>web "
        "page</html></DOC>"
    )
    found = q.read_documents(tmp_path / "ft")
    assert found["FT911-3"].text == "CORPORACION Mapfre & Co"
    assert found["FT911-3"].title == "FT  14 MAY"
    assert found["FT911-3"].others["profile"] == "_AN-BEOA7AAIFT"
    assert (found["WT01"].title, found["WT01"].text) == ("T", "web page")


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        (
            "d.jsonl",
            '{"doc": "a", "text": "x"}\n{"doc": "a", "text": "y"}',
            "d.jsonl:2: document a",
        ),
        ("d.jsonl", '{"doc": "a", "text": "x"}\nnonsense', "d.jsonl:2: not a JSON object"),
        ("d.jsonl", '{"doc": "a", "text": ["x"]}', "d.jsonl:1: text must be text, got list"),
        ("d.jsonl", '{"doc": "", "text": "x"}', "d.jsonl:1: no value for document"),
        ("d.tsv", "doc\ttext\na\tb\tc", "d.tsv:2: 3 columns where 2 were expected; fix this line"),
        ("d.tsv", "a", "d.tsv:1: these are no documents"),
        ("d.tsv", "", "the file is empty"),
        ("d.trec", "<DOC>\n<DOCNO>a</DOCNO>\n<DOC>", "d.trec:1: <DOC> is not closed; add </doc>"),
        ("d.trec", "<x>\n</DOC>", "d.trec:2: </DOC> closes nothing"),
        ("d.trec", "<DOC>\n\n<DOCNO>a\n</DOC>", "d.trec:3: <DOCNO> is not closed"),
        ("d.trec", "<DOC>\n<TEXT>a</TEXT></DOC>", "d.trec:1: this document has no <DOCNO>"),
        ("d.trec", "<DOC><DOCNO>a</DOCNO><TEXT>a", "d.trec:1: <DOC> is not closed"),
    ],
)
def test_bad_documents(tmp_path: Path, name: str, content: str, said: str) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(FormatError) as caught:
        q.read_documents(tmp_path / name)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        (
            "t.tsv",
            "topic\tquery\n1\ta\n1\tb",
            "t.tsv:3: topic 1 has other texts here than on line 2",
        ),
        ("t.tsv", "a\tb\tc", "t.tsv:1: these are no topics"),
        ("t.xml", "<topics>\n<topic><query>a</query></topic>", "t.xml:2: this topic has no number"),
        ("t.xml", '<topic number="1">\n<query>a</topic>', "t.xml:2: <query> is not closed"),
        ("t.sgml", "<top>\n<title> a\n", "t.sgml:1: <top> is not closed"),
        ("t.sgml", "<top>\n<title> a\n</top>", "t.sgml:1: this topic has no <num>"),
    ],
)
def test_bad_topics(tmp_path: Path, name: str, content: str, said: str) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(FormatError) as caught:
        q.read_topics(tmp_path / name)
    assert said in str(caught.value)


def test_the_same_text_twice_is_one(tmp_path: Path) -> None:
    (tmp_path / "t.tsv").write_text("1\tone\n2\ttwo\n1\tone\n")
    assert q.read_topics(tmp_path / "t.tsv").query.tolist() == ["one", "two"]


def test_columns_that_topics_do_not_have_are_named(tmp_path: Path) -> None:
    (tmp_path / "t.tsv").write_text("topic\ttitle\tgood\n1\tone\tx\n")
    with pytest.warns(DataWarning, match="no place for good: not read"):
        q.read_topics(tmp_path / "t.tsv")


def test_check_recognises_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    q.save(q.Topics.of({"1": "soup"}), tmp_path / "topics.xml")
    q.save(q.Documents.of({"d1": "hot soup"}), tmp_path / "docs.jsonl")
    q.save(q.Documents.of({"d2": "cold soup"}), f"{tmp_path}/folder/")
    files = [str(tmp_path / name) for name in ("topics.xml", "docs.jsonl", "folder")]
    main(["check", *files])
    table = [line.split("\t") for line in capsys.readouterr().out.splitlines()[1:]]
    kinds = {row[0]: row[1] for row in table}
    assert kinds == dict(zip(files, ("topics", "documents", "documents"), strict=True))


def test_four_columns_without_an_address_are_title_text_and_more(tmp_path: Path) -> None:
    path = tmp_path / "docs.tsv"
    path.write_text("d1\tA title\tThe abstract.\tHUMAN;INFANT\nd2\tNext\tAnother.\tMALE\n")
    read = q.read_documents(path)
    assert (read.title[0], read.text[0]) == ("A title", "The abstract.")
    assert read.others["further"].tolist() == ["HUMAN;INFANT", "MALE"]
    path.write_text("d1\thttps://qrowd.example/1\tA title\tThe text.\n")
    read = q.read_documents(path)
    assert (read.url[0], read.title[0], read.text[0]) == (
        "https://qrowd.example/1",
        "A title",
        "The text.",
    )


def test_real_topics_and_documents(real_data: Path) -> None:
    folder = real_data / "cystic_fibrosis"
    assert len(q.read_topics(folder / "queries.tsv")) == 100 - 1
    documents = q.read_documents(folder / "documents.tsv.gz")
    assert len(documents) == 1239
    assert documents.text[0].startswith("The significance of Pseudomonas aeruginosa infection")
