"""A few good files, damaged in many ways: each is read right, or with a word, or refused in one
line. Nothing is invented in silence, nothing is a traceback.
"""

from __future__ import annotations

import gzip
import io
import json
import signal
import warnings
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import qrowd as q
from qrowd.errors import QrowdError
from qrowd.io.anything import read_any

ROWS = [
    ("t1", "d/1", "ann", 2),
    ("t1", "d/1", "bob", 0),
    ("t1", "dö", "ann", 1),
    ("t1", "dö", "bob", 2),
    ("t2", "http://x/?a=1", "ann", 1),
    ("t2", "http://x/?a=1", "bob", 0),
]
NAMES = ("topic", "doc", "assessor", "grade")


def table(mark: str, header: bool = True, quote: str = "") -> bytes:
    rows = [NAMES, *ROWS] if header else ROWS
    text = "".join(mark.join(f"{quote}{x}{quote}" for x in row) + "\n" for row in rows)
    return text.encode()


def records() -> list[dict[str, object]]:
    return [dict(zip(NAMES, row, strict=True)) for row in ROWS]


def parquet() -> bytes:
    held = io.BytesIO()
    pl.DataFrame(ROWS, schema=list(NAMES), orient="row").write_parquet(held)
    return held.getvalue()


def label_studio() -> bytes:
    tasks: dict[tuple[str, str], dict[str, Any]] = {}
    for topic, doc, who, grade in ROWS:
        data = {"topic": topic, "doc_id": doc}
        task = tasks.setdefault((topic, doc), {"id": len(tasks), "data": data, "annotations": []})
        value = {"from_name": "rel", "type": "choices", "value": {"choices": [str(grade)]}}
        task["annotations"].append({"completed_by": who, "result": [value], "was_cancelled": False})
    return json.dumps(list(tasks.values()), ensure_ascii=False).encode()


FORMS: dict[str, bytes] = {
    "a.tsv": table("\t"),
    "a.csv": table(","),
    "b.csv": table(";"),
    "quoted.tsv": table("\t", quote='"'),
    "a.jsonl": "".join(json.dumps(each, ensure_ascii=False) + "\n" for each in records()).encode(),
    "a.json": json.dumps(records(), ensure_ascii=False, indent=1).encode(),
    "a.parquet": parquet(),
    "a.qrels": "".join(f"{t} {who} {doc} {grade}\n" for t, doc, who, grade in ROWS).encode(),
    "tabs.qrels": "".join(f"{t}\t{who}\t{doc}\t{grade}\n" for t, doc, who, grade in ROWS).encode(),
    "studio.json": label_studio(),
    "wide.csv": "topic,doc,ann,bob\nt1,d/1,2,0\nt1,dö,1,2\nt2,http://x/?a=1,1,0\n".encode(),
}
# the same documents and topics with texts, and in runs
TEXTS = {"d/1": "red wine 0", "dö": "grüner Tee, 2 cups", "http://x/?a=1": "milk; tea"}
QUERIES = {"t1": "what to drink 0", "t2": "tea, or; wine"}
RANKED = [
    ("t1", "d/1"),
    ("t1", "dö"),
    *(("t1", f"f{n}") for n in "abcdefghi"),
    ("t2", "http://x/?a=1"),
]


def texts(name: str, texts: dict[str, str], field: str, form: str) -> bytes:
    rows = [{name: each, field: text} for each, text in texts.items()]
    if form == "jsonl":
        return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()
    if form == "json":
        return json.dumps(rows, ensure_ascii=False, indent=1).encode()
    quote = '"' if form == "csv" else ""
    mark = "," if form == "csv" else "\t"
    lines = [(name, field), *(tuple(row.values()) for row in rows)]
    return "".join(mark.join(f"{quote}{x}{quote}" for x in line) + "\n" for line in lines).encode()


def ranked(mark: str) -> bytes:
    lines = (f"{t} Q0 {doc} {n} {20 - n}.5 sys".split(" ") for n, (t, doc) in enumerate(RANKED))
    return "".join(f"{mark.join(line)}\n" for line in lines).encode()


def run_by_topic() -> bytes:
    lists = {
        topic: {d: 20.5 - n for n, (t, d) in enumerate(RANKED) if t == topic} for topic in QUERIES
    }
    return json.dumps({"sys": lists}, ensure_ascii=False, indent=1).encode()


OTHERS: dict[str, bytes] = {
    **{
        f"topics.{form}": texts("qid", QUERIES, "query", form)
        for form in ("tsv", "csv", "jsonl", "json")
    },
    **{
        f"docs.{form}": texts("docno", TEXTS, "text", form)
        for form in ("tsv", "csv", "jsonl", "json")
    },
    "topics.xml": b'<topics>\n<topic number="t1">\n  <query>what to drink 0</query>\n</topic>\n'
    b'<topic number="t2">\n  <query>tea, or; wine</query>\n</topic>\n</topics>\n',
    "docs.sgml": "".join(
        f"<DOC>\n<DOCNO>{name}</DOCNO>\n<TEXT>{text}</TEXT>\n</DOC>\n"
        for name, text in TEXTS.items()
    ).encode(),
    "a.run": ranked(" "),
    "tabs.run": ranked("\t"),
    "run.json": run_by_topic(),
}
Damage = Callable[[bytes], bytes]


def each_line(change: Callable[[bytes, int], bytes]) -> Damage:
    return lambda data: b"\n".join(change(line, n) for n, line in enumerate(data.split(b"\n")))


def on(number: int, change: Callable[[bytes], bytes]) -> Damage:
    """Only one of the lines."""
    return each_line(lambda line, n: change(line) if n == number else line)


def zipped(data: bytes) -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        archive.writestr("inside", data)
    return held.getvalue()


DAMAGES: dict[str, Damage] = {
    "as it is": lambda data: data,
    "a mark of byte order": lambda data: b"\xef\xbb\xbf" + data,
    "UTF-16": lambda data: data.decode("utf-8", "replace").encode("utf-16"),
    "latin-1": lambda data: data.decode("utf-8", "replace").encode("latin-1", "replace"),
    "half of UTF-8": lambda data: data.replace("ö".encode(), b"\xc3"),
    "Windows' line ends": lambda data: data.replace(b"\n", b"\r\n"),
    "old Macs' line ends": lambda data: data.replace(b"\n", b"\r"),
    "no last line end": lambda data: data.rstrip(b"\n"),
    "blank lines": lambda data: data.replace(b"\n", b"\n\n"),
    "blank lines first": lambda data: b"\n\n" + data,
    "blanks at line ends": each_line(lambda line, _: line + b"  " if line else line),
    "blanks at line starts": each_line(lambda line, _: b" " + line if line else line),
    "tabs at line ends": each_line(lambda line, _: line + b"\t" if line else line),
    "commas at line ends": each_line(lambda line, _: line + b",,," if line else line),
    "semicolons at line ends": each_line(lambda line, _: line + b";;" if line else line),
    "Excel's separator": lambda data: b"sep=,\n" + data,
    "a comment first": lambda data: b"# exported by hand\n" + data,
    "a title first": lambda data: b"Results of May\n" + data,
    "nothing": lambda data: b"",
    "blanks only": lambda data: b" \n \n",
    "one byte": lambda data: data[:1],
    "the first line": lambda data: data.split(b"\n")[0] + b"\n",
    "cut in the middle": lambda data: data[: len(data) // 2],
    "cut before the end": lambda data: data[:-3],
    "cut after 20 bytes": lambda data: data[:20],
    "without the first line": lambda data: data.partition(b"\n")[2],
    "a byte of zero": lambda data: data[:30] + b"\0" + data[30:],
    "zeros at the end": lambda data: data + b"\0" * 9,
    "an open quote": lambda data: data.replace(b"t1", b'"t1', 1),
    "a quote in a name": lambda data: data.replace(b"d/1", b'd"/1'),
    "the header twice": lambda data: data.split(b"\n")[0] + b"\n" + data,
    "a word as a grade": on(2, lambda line: line.replace(b"0", b"good")),
    "a fraction as a grade": on(2, lambda line: line.replace(b"0", b"0.5")),
    "an infinite grade": on(2, lambda line: line.replace(b"0", b"inf")),
    "a grade too large": on(2, lambda line: line.replace(b"0", b"4000")),
    "no grade": on(2, lambda line: line.replace(b"0", b"")),
    "a number of many digits": on(2, lambda line: line.replace(b"0", b"9" * 5000)),
    "one field more": on(2, lambda line: line + b"\tx" if b"\t" in line else line + b",x"),
    "one field less": on(2, lambda line: line[: max(line.rfind(b"\t"), line.rfind(b","), 0)]),
    "a long line": on(2, lambda line: line + b"x" * 200_000),
    "packed": gzip.compress,
    "packed and cut": lambda data: gzip.compress(data)[:-9],
    "in a zip": zipped,
    "in a zip that is cut": lambda data: zipped(data)[:-20],
}


SECONDS = 60  # each case takes a few milliseconds: one that takes so long hangs


@contextmanager
def no_hang(about: str) -> Iterator[None]:
    def stop(*_: object) -> None:
        raise TimeoutError(about)

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def plain(value: object) -> object:
    """A name without quotes: where a form has none, one is part of a name."""
    return value.replace('"', "") if isinstance(value, str) else value


def held(noun: object) -> set[tuple[object, ...]]:
    """What can be compared with the truth: rows, or names and texts."""
    if isinstance(noun, q.Judgements):
        return set(noun.to_polars().select(NAMES).rows())
    if isinstance(noun, q.RunSet):
        return set(noun.to_polars().select("run", "topic", "doc").rows())
    if isinstance(noun, q.Topics):
        return set(zip(noun.index, noun.query, strict=True))
    if isinstance(noun, q.Documents):
        return set(zip(noun.index, noun.text, strict=True))
    return set()


def invented(noun: object) -> list[tuple[object, ...]]:
    """What is in it and in no true file. A text may be cut, or have something at its ends."""
    rows = {tuple(map(plain, row)) for row in held(noun)}
    if isinstance(noun, q.Judgements):
        return sorted(rows - set(ROWS), key=str)
    if isinstance(noun, q.RunSet):
        return [row for row in rows if row[1:] not in RANKED or str(row[0]).rstrip(",;x") != "sys"]
    true = QUERIES if isinstance(noun, q.Topics) else TEXTS
    return [row for row in rows if row[0] not in true or not alike(str(row[1]), true[str(row[0])])]


def alike(text: str, true: str) -> bool:
    return true.startswith(text) or text.strip(" \t,;x").startswith(true.strip(" 0"))


READERS = (
    q.read_judgements,
    q.read_qrels,
    q.read_runs,
    q.read_topics,
    q.read_documents,
    read_any,
)
# the kind of truth that a file has, and the readers whose results must keep to it
OF_KIND = {"topics": "read_topics", "docs": "read_documents", "run": "read_runs"}


@pytest.mark.parametrize("name", [*FORMS, *OTHERS])
def test_a_damaged_file_is_read_right_or_refused_in_one_line(name: str, tmp_path: Path) -> None:
    content = (FORMS | OTHERS)[name]
    kind = next((kind for kind in OF_KIND if kind in name), "")
    wrong = []
    for about, damage in DAMAGES.items():
        path = tmp_path / name
        path.write_bytes(damage(content))
        for read in READERS:
            reader = getattr(read, "__name__", "")
            with no_hang(f"{about}: {reader}"), warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always")
                try:
                    found: object = read(path)
                except QrowdError as error:
                    text = str(error)
                    if "\n" in text or not text.startswith(str(path)):
                        wrong.append((about, reader, text))
                    continue
            own = reader in ("read_any", OF_KIND.get(kind, "read_judgements"))
            if own and not said and invented(found):
                wrong.append((about, reader, str(invented(found)[:3])))
    assert not wrong, "\n".join(map(str, wrong))


@pytest.mark.parametrize("name", [*FORMS, *OTHERS])
def test_a_good_file_is_read_whole(name: str, tmp_path: Path) -> None:
    """Which the damaged ones are held against."""
    (tmp_path / name).write_bytes((FORMS | OTHERS)[name])
    truth = {
        "topics": QUERIES.items(),
        "docs": TEXTS.items(),
        "run": [("sys", *row) for row in RANKED],
    }
    kind = next((kind for kind in OF_KIND if kind in name), "")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert held(read_any(tmp_path / name)) == set(truth.get(kind, ROWS))


def test_there_are_enough_cases() -> None:
    assert len(FORMS | OTHERS) * len(DAMAGES) >= 350
