"""Files made to exhaust who reads them: entities in entities, tags without end, deep nesting."""

from __future__ import annotations

import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import qrowd as q
from qrowd.errors import FormatError, InputError
from qrowd.io import source as sources
from qrowd.io.markup import Element, children, first_inside, without, without_comments

ENTITIES = '<!ENTITY a "ha">' + "".join(
    f'<!ENTITY a{n} "{f"&a{n - 1 or str()};" * 10}">' for n in range(1, 10)
)
BOMB = f'<?xml version="1.0"?><!DOCTYPE x [{ENTITIES}<!ENTITY out SYSTEM "file:/etc/passwd">]>\n'


def test_entities_of_a_file_are_not_expanded(tmp_path: Path) -> None:
    text = "&a9; &out; %a9; &amp;"
    (tmp_path / "d.sgml").write_text(
        f"{BOMB}<DOC><DOCNO>1</DOCNO><TEXT>{text}</TEXT></DOC>", encoding="utf-8"
    )
    (tmp_path / "t.xml").write_text(f"{BOMB}<top><num>1</num><title>{text}</title></top>")
    assert q.read_documents(tmp_path / "d.sgml")["1"].text == "&a9; &out; %a9; &"
    assert q.read_topics(tmp_path / "t.xml")["1"].query == "&a9; &out; %a9; &"


SECONDS = 60  # of CPU: these take less than one; where time grows with the square, hours
READING = """
import resource, sys
resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
import qrowd as q
from qrowd.errors import QrowdError
for path in sys.argv[1:]:
    for read in (q.read_documents, q.read_topics):
        try:
            read(path)
        except QrowdError:
            pass
""".replace("SECONDS", str(SECONDS))


def test_tags_without_end_take_no_time(tmp_path: Path) -> None:
    paths = []
    for at, tag in enumerate(("<x>", "<!--", "<script>", "<title>", "<text>", "<docno>", "<a b=")):
        for name, text in (
            ("text.sgml", f"<DOC><DOCNO>1</DOCNO><TEXT>{tag * 100_000}</TEXT></DOC>"),
            ("rest.sgml", f"<DOC><DOCNO>1</DOCNO>{tag * 100_000}</DOC>"),
            ("topic.xml", f"<top><num>1</num><title>{tag * 100_000}</title></top>"),
            ("page.html", tag * 100_000),
        ):
            folder = tmp_path / f"{at}-{name}"
            folder.mkdir()
            (folder / name).write_text(text)
            paths.append(str(folder))
    done = subprocess.run([sys.executable, "-c", READING, *paths], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_pages_with_titles_without_end_take_no_time() -> None:
    sanitiser = pytest.importorskip("qrowd.web.sanitiser", reason="needs the extra serve")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_utime
    for tag in ("<title>", "<!--", "<style>"):
        sanitiser.original_of_html(tag * 100_000)
        sanitiser.reader_of_html(tag * 100_000)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_utime - before < SECONDS


def test_what_is_inside_of_what() -> None:
    inside = "<a>1</A ><b x='2'>3<c>4</c></b><d/><e y='1' /><f><g>5</g>"
    found = list(children(Element(1, {}, inside)))
    assert found == [("a", "1"), ("b", "3<c>4</c>"), ("d", ""), ("e", ""), ("g", "5")]
    assert first_inside("<p><Title lang=x>one</title><title>two</title>", "title") == "one"
    assert first_inside("<titles>x</titles></title>", "title") == ""
    assert without("a<script>1</script >b<STYLE x>2</style>c<script>d", "script", "style") == (
        "a b c<script>d"
    )
    assert without_comments("a<!-- 1 -->b<!-- 2") == "ab<!-- 2"
    assert without_comments("a<!---->b", blank=True) == "a       b"


DEEP = "[" * 100_000 + "]" * 100_000


@pytest.mark.parametrize("read", [q.read_documents, q.read_topics, q.read_judgements])
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.jsonl", '{"doc": "1", "topic": "1", "text": ' + DEEP + "}\n"),
        ("a.json", '[{"doc": "1", "topic": "1", "text": ' + DEEP + "}]\n"),
        ("b.jsonl", '{"doc": ' + "1" * 10_000 + ', "topic": "1", "text": "x"}\n'),
        ("b.json", '[{"doc": ' + "1" * 10_000 + ', "topic": "1", "text": "x"}]\n'),
    ],
)
def test_nesting_and_numbers_without_end_are_one_line(
    tmp_path: Path, read: Callable[[Path], object], name: str, text: str
) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError) as refused:
        read(tmp_path / name)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("text", ["a = " + DEEP, "a = " + "1" * 10_000])
def test_a_plan_that_is_nested_without_end_is_one_line(tmp_path: Path, text: str) -> None:
    toml = pytest.importorskip("qrowd.collection.plan.toml", reason="needs the extra serve")
    (tmp_path / "plan.toml").write_text(text)
    with pytest.raises(FormatError, match="nested too deep, or too long a number"):
        toml.read_plan(tmp_path / "plan.toml")


def test_equal_rows_without_end_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import polars as pl

    frame = pl.DataFrame({"doc": ["1"] * 1001, "text": ["x"] * 1001})
    frame.write_parquet(tmp_path / "a.parquet")
    sources.refuse_bomb(tmp_path / "a.parquet")
    monkeypatch.setattr(sources, "MOST_ROWS", 1000)
    with pytest.raises(FormatError, match="million rows"):
        sources.refuse_bomb(tmp_path / "a.parquet")
