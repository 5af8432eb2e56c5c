"""Python's own objects as tables: dicts in dicts, and rows that are tuples or dicts."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qrowd.errors import UsageError
from qrowd.io.origin import Origin
from qrowd.io.roles import recognised
from qrowd.io.source import Source

if TYPE_CHECKING:
    import polars as pl


def names_files(source: object) -> bool:
    """Whether this is a path, or a sequence that starts with one."""
    if isinstance(source, list | tuple) and not hasattr(source, "_fields"):
        return not source or isinstance(source[0], str | Path | Source)
    return isinstance(source, str | Path | Source)


def of_object(source: Any, noun: str) -> tuple[Origin, pl.DataFrame]:
    """The table in a data frame, nested dicts, or rows (named tuples, dicts)."""
    import polars as pl

    package = type(source).__module__.split(".")[0]
    source = _plain(source)
    if package == "polars":
        frame, name = source.lazy().collect(), "the frame"
    elif package == "pandas":
        columns = {str(name): _of_column(source[name]) for name in source.columns}
        frame, name = pl.DataFrame(columns), "the frame"
    elif package == "datasets":
        frame, name = _of_datasets(source, noun), "the dataset"
    elif isinstance(source, Mapping):
        frame, name = _of_mapping(source, noun), "the dict"
    elif isinstance(source, Iterable):
        frame, name = _of_rows(list(source), noun), "the rows"
    else:
        raise UsageError(f"cannot read {noun} from a {type(source).__name__}")
    return Origin(name, frame.height), frame


def _of_datasets(source: Any, noun: str) -> pl.DataFrame:
    """The rows of a `datasets.Dataset`; of several splits, nobody knows which is meant."""
    from qrowd.io.formats.parquet import named_labels

    if isinstance(source, Mapping):
        splits = ", ".join(map(str, source))
        raise UsageError(f"cannot read {noun} from several splits; choose one of {splits}")
    features = getattr(source, "features", None) or {}
    names = {
        column: feature.names
        for column, feature in features.items()
        if type(feature).__name__ == "ClassLabel"
    }
    return _of_rows(list(source), noun).with_columns(named_labels(names))


def _of_column(column: Any) -> pl.Series:
    """A pandas column without pyarrow: numbers and times as they are, all else as text."""
    import polars as pl

    if column.dtype.kind in "iuf":
        return pl.Series(column.to_numpy())
    if column.dtype.kind in "Mm":
        naive = column if getattr(column.dtype, "tz", None) is None else column.dt.tz_convert(None)
        return pl.Series(naive.to_numpy())
    missing = column.isna().to_numpy()
    return pl.Series([None if no else str(x) for x, no in zip(column, missing, strict=True)])


def _plain(source: Any) -> Any:
    """Ranx's qrels and runs as dicts; all else as it is."""
    if type(source).__module__.split(".")[0] == "ranx" and hasattr(source, "to_dict"):
        inside = source.to_dict()
        return {source.name: inside} if getattr(source, "name", None) else inside
    return source


def _of_mapping(source: Mapping[Any, Any], noun: str) -> pl.DataFrame:
    import polars as pl

    values = [_plain(value) for value in source.values()]
    if values and all(isinstance(value, Mapping) for value in values):
        try:
            return nested_frame(dict(zip(source, values, strict=True)))
        except ScoresError as error:
            raise UsageError(str(error)) from None
        except (TypeError, ValueError, pl.exceptions.PolarsError):
            raise UsageError(
                f"cannot read {noun} from this dict; it must be {{topic: {{doc: value}}}}, or "
                "{name: {topic: {doc: value}}}"
            ) from None
    return pl.DataFrame({str(name): value for name, value in source.items()}, strict=False)


def _of_rows(rows: list[Any], noun: str) -> pl.DataFrame:
    """Rows that say what their fields are, as those of ir_datasets do."""
    import polars as pl

    if rows and all(isinstance(row, Mapping) for row in rows):
        return pl.DataFrame(rows, infer_schema_length=None, strict=False)
    names = getattr(rows[0], "_fields", None) if rows else None
    if names is None:
        raise UsageError(
            f"cannot read {noun} from these rows; they must be named tuples or dicts, such as "
            "those of ir_datasets' qrels_iter()"
        )
    columns = zip(*rows, strict=True)
    return pl.DataFrame(dict(zip(names, map(list, columns), strict=True)), strict=False)


class ScoresError(TypeError):
    """A table of scores by topic and measure, as pytrec_eval has it."""

    def __str__(self) -> str:
        return (
            "these are scores of one run by topic and measure, as pytrec_eval has them: no runs, "
            "and no qrels; `qrowd evaluate` makes scores with the name of the run"
        )


_MEASURE = re.compile(
    r"(?i)(map|gm_map|ap|rr|mrr|recip_rank|bpref|rprec|ndcg|ndcg_rel|dcg|err|rbp|infap|set_\w+|"
    r"num_\w+|11pt_avg|success|p|recall|precision|r|hit_rate|map_cut|ndcg_cut|iprec_at_recall|"
    r"relative_p|relstring|utility|hits?|f1)([_@.]\d+(\.\d+)?)?(\(.*\))?(@\d+)?"
)


def _are_measures(nested: Mapping[str, Any]) -> bool:
    names = {str(name) for inner in nested.values() for name in inner}
    return bool(names) and all(map(_MEASURE.fullmatch, names))


def _are_tasks(nested: Mapping[str, Any]) -> bool:
    """Whether these are {task: {worker: label}}, as peerannot has them: few, that many share.

    Documents are many, and few topics share one.
    """
    inside = {who for inner in nested.values() for who in inner}
    cells = sum(map(len, nested.values()))
    return 1 < len(inside) < len(nested) and cells * 4 >= len(inside) * len(nested)


def _rows_of_pandas(nested: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The rows of a frame that pandas wrote column by column ({name: {row: value}}), or row by row
    ({row: {name: value}}); none where the keys are no names of columns.
    """
    inside = list(dict.fromkeys(key for inner in nested.values() for key in inner))
    wanted = ("topic", "doc", "assessor", "grade", "score", "run")
    if len(recognised(list(nested), wanted)) > 1:
        return [{name: inner.get(row) for name, inner in nested.items()} for row in inside]
    return list(nested.values()) if len(recognised(inside, wanted)) > 1 else []


def nested_frame(nested: Mapping[str, Any]) -> pl.DataFrame:
    """`{topic: {doc: value}}`, or `{name: {topic: {doc: value}}}`, as a table.

    The value is a `score`, and a `grade` too if all are whole numbers; the name is then that of an
    `assessor`, else of a `run`.
    """
    import polars as pl

    if not all(isinstance(inner, Mapping) for inner in nested.values()):
        raise TypeError
    records = _rows_of_pandas(nested)
    if records:
        return pl.DataFrame(records, infer_schema_length=None, strict=False)
    deep = any(isinstance(value, Mapping) for inner in nested.values() for value in inner.values())
    if not deep and _are_measures(nested):
        raise ScoresError
    if not deep and _are_tasks(nested):
        rows = [(t, who, value) for t, inner in nested.items() for who, value in inner.items()]
        task, who, value = zip(*rows, strict=True)
        return pl.DataFrame({"task": map(str, task), "worker": map(str, who), "label": value})
    named = nested if deep else {"": nested}
    lists = [
        (name, topic, inner) for name, topics in named.items() for topic, inner in topics.items()
    ]
    if not all(isinstance(inner, Mapping) for _, _, inner in lists):
        raise TypeError
    lengths = [len(inner) for _, _, inner in lists]

    def repeated(values: Iterable[Any]) -> pl.Series:
        each = zip(values, lengths, strict=True)
        return pl.Series(list(itertools.chain.from_iterable([str(x)] * n for x, n in each)))

    documents = [str(doc) for _, _, inner in lists for doc in inner]
    values = pl.Series([value for _, _, inner in lists for value in inner.values()], strict=False)
    if not len(values) or not (values.dtype.is_numeric() or values.dtype == pl.Boolean):
        raise TypeError
    whole = not values.dtype.is_float()
    columns = {
        ("assessor" if whole else "run"): repeated(name for name, _, _ in lists),
        "topic": repeated(topic for _, topic, _ in lists),
        "doc": pl.Series(documents, dtype=pl.String),
        "score": values,
        **({"grade": values} if whole else {}),
    }
    return pl.DataFrame(columns if deep else dict(list(columns.items())[1:]))
