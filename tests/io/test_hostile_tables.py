"""A few good files, damaged in many ways: each is read right, or with a word, or refused in one
line. Nothing is invented in silence, nothing is a traceback.
"""

from __future__ import annotations

import gzip
import io
import json
import warnings
import zipfile
from collections.abc import Callable, Iterator
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
    "a quote in a name": lambda data: data.replace(b"d/1", b'd"1').replace(b'd"1', b"d/1"),
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


def outcomes(path: Path) -> Iterator[tuple[str, Any]]:
    """What each reader makes of a file: an error's text, or rows and whether something was said."""
    for read in (
        q.read_judgements,
        q.read_qrels,
        q.read_runs,
        q.read_topics,
        q.read_documents,
        read_any,
    ):
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            try:
                found: object = read(path)
            except QrowdError as error:
                found = str(error)
        name = getattr(read, "__name__", "")
        yield name, (found, bool(said)) if not isinstance(found, str) else found


@pytest.mark.parametrize("name", FORMS)
def test_a_damaged_file_is_read_right_or_refused_in_one_line(name: str, tmp_path: Path) -> None:
    wrong = []
    for about, damage in DAMAGES.items():
        path = tmp_path / name
        path.write_bytes(damage(FORMS[name]))
        for reader, found in outcomes(path):
            if isinstance(found, str):
                if "\n" in found or not found.startswith(str(path)):
                    wrong.append((about, reader, found))
            elif reader in ("read_judgements", "read_any"):
                noun, said = found
                if isinstance(noun, q.Judgements) and not said:
                    rows = {
                        tuple(x.strip('"') if isinstance(x, str) else x for x in row)
                        for row in noun.to_polars().select(NAMES).rows()
                    }  # where a form has no quotes, one is part of a name
                    if not rows <= set(ROWS):
                        wrong.append((about, reader, str(sorted(rows - set(ROWS))[:3])))
    assert not wrong, "\n".join(map(str, wrong))


def test_there_are_enough_cases() -> None:
    assert len(FORMS) * len(DAMAGES) >= 350
