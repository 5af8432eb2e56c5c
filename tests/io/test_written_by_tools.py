"""Further forms and versions of tools' files, as the tools wrote them: read right, or refused with
a remedy that works; nothing is misread in silence.

`by` says which tool, which version of it and which of its functions wrote the text; "documented"
where it is a service, whose shape is copied from its documentation.
"""

from __future__ import annotations

import json
import random
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import qrowd as q
from qrowd.errors import DataWarning, FormatError, QrowdError
from qrowd.io.anything import kind_of_path, read_any

pytestmark = pytest.mark.filterwarnings("ignore::qrowd.errors.DataWarning")


@dataclass(frozen=True)
class Case:
    """A text (or several, in a folder), and its judgements as `topic|doc|assessor|grade`."""

    by: str
    files: dict[str, str]
    truth: list[str]
    refused: str = ""
    """How it is refused; a group `columns` is the remedy, by which it gives the truth."""
    options: dict[str, Any] = field(default_factory=dict)


ITEMS = (
    '{"item_id": "i1", "query_id": "q 1", "doc_id": "d/1"}\n'
    '{"item_id": "i2", "query_id": "q 1", "doc_id": "d 2"}\n'
    '{"item_id": "i3", "query_id": "zażółć", "doc_id": "d3"}\n'
)
MTURK = "documented, taskAnswers of Mechanical Turk's "


def batch(*rows: str) -> dict[str, str]:
    """A batch of Mechanical Turk, with the answers of workers w1, w2, ... as JSON in a cell."""
    header = "HITId,WorkerId,AssignmentStatus,Input.topic,Input.docno1,Input.docno2,"
    lines = [f"{header}Answer.taskAnswers\n"]
    for at, row in enumerate(rows, 1):
        cell = row.replace('"', '""')
        lines.append(f'H,w{at},{"Rejected" if at == 3 else "Approved"},t,d,e,"{cell}"\n')
    return {"batch.csv": "".join(lines)}


CASES: dict[str, Case] = {
    "a snapshot with people and predictions": Case(
        "label-studio 1.23.2, its server's own snapshot",
        {
            "a.json": (
                '[{"id": 1, "annotations": [], "drafts": [{"id": 1, "user": "ann@x.org", "created'
                '_username": "ann@x.org, 2", "created_ago": "0\xa0minutes", "result": [{"id": "a"'
                ', "from_name": "relevance", "to_name": "text", "type": "choices", "value": {"cho'
                'ices": ["Highly relevant"]}}], "lead_time": 1.0, "was_postponed": false, "import'
                '_id": null, "created_at": "2026-11-18T06:51:10.256598Z", "updated_at": "2026-11-'
                '18T06:51:10.256617Z", "task": 1, "annotation": null}], "predictions": [{"id": 1,'
                ' "result": [{"id": "a", "from_name": "relevance", "to_name": "text", "type": "ch'
                'oices", "value": {"choices": ["Highly relevant"]}}], "model_version": "m1", "cre'
                'ated_ago": "0\xa0minutes", "score": 0.5, "cluster": null, "neighbors": null, "mi'
                'slabeling": 0.0, "created_at": "2026-11-18T06:51:10.196480Z", "updated_at": "202'
                '6-11-18T06:51:10.196499Z", "model": null, "model_run": null, "task": 1, "project'
                '": 1}], "data": {"query_id": "zażółć", "doc_id": "d4", "text": "x"}, "meta": {},'
                ' "created_at": "2026-11-18T06:51:10.143027Z", "updated_at": "2026-11-18T06:51:10'
                '.192878Z", "allow_skip": true, "inner_id": 2, "total_annotations": 0, "cancelled'
                '_annotations": 0, "total_predictions": 1, "comment_count": 0, "unresolved_commen'
                't_count": 0, "last_comment_updated_at": null, "project": 1, "updated_by": null, '
                '"comment_authors": []}, {"id": 2, "annotations": [{"id": 1, "completed_by": {"id'
                '": 2, "email": "ann@x.org", "first_name": "", "last_name": ""}, "result": [{"id"'
                ': "a", "from_name": "relevance", "to_name": "text", "type": "choices", "value": '
                '{"choices": ["Highly relevant"]}}], "was_cancelled": false, "ground_truth": fals'
                'e, "created_at": "2026-11-18T06:51:10.308919Z", "updated_at": "2026-11-18T06:51:'
                '10.308943Z", "draft_created_at": null, "lead_time": 2.5, "prediction": {}, "resu'
                'lt_count": 1, "unique_id": "7b18568f-843f-4c16-8b47-efa40195e73b", "import_id": '
                'null, "last_action": null, "bulk_created": false, "task": 2, "project": 1, "upda'
                'ted_by": null, "parent_prediction": null, "parent_annotation": null, "last_creat'
                'ed_by": null}, {"id": 2, "completed_by": {"id": 3, "email": "bob@x.org", "first_'
                'name": "", "last_name": ""}, "result": [{"id": "a", "from_name": "relevance", "t'
                'o_name": "text", "type": "choices", "value": {"choices": ["Not relevant"]}}], "w'
                'as_cancelled": false, "ground_truth": false, "created_at": "2026-11-18T06:51:10.'
                '333360Z", "updated_at": "2026-11-18T06:51:10.333384Z", "draft_created_at": null,'
                ' "lead_time": 2.5, "prediction": {}, "result_count": 1, "unique_id": "dfce44e1-2'
                'd74-4f64-9bca-dd36d258ab13", "import_id": null, "last_action": null, "bulk_creat'
                'ed": false, "task": 2, "project": 1, "updated_by": null, "parent_prediction": nu'
                'll, "parent_annotation": null, "last_created_by": null}], "drafts": [{"id": 2, "'
                'user": "ann@x.org", "created_username": "ann@x.org, 2", "created_ago": "0\xa0min'
                'utes", "result": [{"id": "a", "from_name": "relevance", "to_name": "text", "type'
                '": "choices", "value": {"choices": ["Highly relevant"]}}], "lead_time": 1.0, "wa'
                's_postponed": false, "import_id": null, "created_at": "2026-11-18T06:51:10.35487'
                '7Z", "updated_at": "2026-11-18T06:51:10.354929Z", "task": 2, "annotation": null}'
                '], "predictions": [{"id": 2, "result": [{"id": "a", "from_name": "relevance", "t'
                'o_name": "text", "type": "choices", "value": {"choices": ["Relevant"]}}], "model'
                '_version": "m1", "created_ago": "0\xa0minutes", "score": 0.5, "cluster": null, "'
                'neighbors": null, "mislabeling": 0.0, "created_at": "2026-11-18T06:51:10.295369Z'
                '", "updated_at": "2026-11-18T06:51:10.295388Z", "model": null, "model_run": null'
                ', "task": 2, "project": 1}], "data": {"query_id": "q 1", "doc_id": "d/1", "text"'
                ': "x"}, "meta": {}, "created_at": "2026-11-18T06:51:10.259748Z", "updated_at": "'
                '2026-11-18T06:51:10.350904Z", "allow_skip": true, "inner_id": 3, "total_annotati'
                'ons": 2, "cancelled_annotations": 0, "total_predictions": 1, "comment_count": 0,'
                ' "unresolved_comment_count": 0, "last_comment_updated_at": null, "project": 1, "'
                'updated_by": null, "comment_authors": []}, {"id": 3, "annotations": [{"id": 3, "'
                'completed_by": {"id": 2, "email": "ann@x.org", "first_name": "", "last_name": ""'
                '}, "result": [{"id": "a", "from_name": "relevance", "to_name": "text", "type": "'
                'choices", "value": {"choices": ["Relevant"]}}], "was_cancelled": false, "ground_'
                'truth": false, "created_at": "2026-11-18T06:51:10.363104Z", "updated_at": "2026-'
                '11-18T06:51:10.363123Z", "draft_created_at": null, "lead_time": 2.5, "prediction'
                '": {}, "result_count": 1, "unique_id": "2a5a7fbd-3cdf-4516-aa01-f71cd9ecbf55", "'
                'import_id": null, "last_action": null, "bulk_created": false, "task": 3, "projec'
                't": 1, "updated_by": null, "parent_prediction": null, "parent_annotation": null,'
                ' "last_created_by": null}, {"id": 4, "completed_by": {"id": 3, "email": "bob@x.o'
                'rg", "first_name": "", "last_name": ""}, "result": [], "was_cancelled": true, "g'
                'round_truth": false, "created_at": "2026-11-18T06:51:10.387919Z", "updated_at": '
                '"2026-11-18T06:51:10.387941Z", "draft_created_at": null, "lead_time": 2.5, "pred'
                'iction": {}, "result_count": 0, "unique_id": "e50cc884-2fea-4b50-a4ec-67b3f14c04'
                '10", "import_id": null, "last_action": null, "bulk_created": false, "task": 3, "'
                'project": 1, "updated_by": null, "parent_prediction": null, "parent_annotation":'
                ' null, "last_created_by": null}], "drafts": [{"id": 3, "user": "ann@x.org", "cre'
                'ated_username": "ann@x.org, 2", "created_ago": "0\xa0minutes", "result": [{"id":'
                ' "a", "from_name": "relevance", "to_name": "text", "type": "choices", "value": {'
                '"choices": ["Highly relevant"]}}], "lead_time": 1.0, "was_postponed": false, "im'
                'port_id": null, "created_at": "2026-11-18T06:51:10.410320Z", "updated_at": "2026'
                '-11-18T06:51:10.410337Z", "task": 3, "annotation": null}], "predictions": [], "d'
                'ata": {"query_id": "q 1", "doc_id": "d 2", "text": "x"}, "meta": {}, "created_at'
                '": "2026-11-18T06:51:10.358841Z", "updated_at": "2026-11-18T06:51:10.406742Z", "'
                'allow_skip": true, "inner_id": 4, "total_annotations": 1, "cancelled_annotations'
                '": 1, "total_predictions": 0, "comment_count": 0, "unresolved_comment_count": 0,'
                ' "last_comment_updated_at": null, "project": 1, "updated_by": null, "comment_aut'
                'hors": []}]'
            ),
        },
        [
            "q 1|d 2|ann@x.org|1",
            "q 1|d/1|ann@x.org|2",
            "q 1|d/1|bob@x.org|0",
            "q 1|d/1|m1|1",
            "zażółć|d4|m1|2",
        ],
    ),
    "a snapshot with ids only": Case(
        "label-studio 1.23.2, its server's own snapshot",
        {
            "a.json": (
                '[{"id": 1, "annotations": [], "drafts": [1], "predictions": [1], "data": {"query'
                '_id": "zażółć", "doc_id": "d4", "text": "x"}, "meta": {}, "created_at": "2026-11'
                '-18T06:51:10.143027Z", "updated_at": "2026-11-18T06:51:10.192878Z", "allow_skip"'
                ': true, "inner_id": 2, "total_annotations": 0, "cancelled_annotations": 0, "tota'
                'l_predictions": 1, "comment_count": 0, "unresolved_comment_count": 0, "last_comm'
                'ent_updated_at": null, "project": 1, "updated_by": null, "comment_authors": []},'
                ' {"id": 2, "annotations": [{"id": 1, "completed_by": 2, "result": [{"id": "a", "'
                'from_name": "relevance", "to_name": "text", "type": "choices", "value": {"choice'
                's": ["Highly relevant"]}}], "was_cancelled": false, "ground_truth": false, "crea'
                'ted_at": "2026-11-18T06:51:10.308919Z", "updated_at": "2026-11-18T06:51:10.30894'
                '3Z", "draft_created_at": null, "lead_time": 2.5, "prediction": {}, "result_count'
                '": 1, "unique_id": "7b18568f-843f-4c16-8b47-efa40195e73b", "import_id": null, "l'
                'ast_action": null, "bulk_created": false, "task": 2, "project": 1, "updated_by":'
                ' null, "parent_prediction": null, "parent_annotation": null, "last_created_by": '
                'null}, {"id": 2, "completed_by": 3, "result": [{"id": "a", "from_name": "relevan'
                'ce", "to_name": "text", "type": "choices", "value": {"choices": ["Not relevant"]'
                '}}], "was_cancelled": false, "ground_truth": false, "created_at": "2026-11-18T06'
                ':51:10.333360Z", "updated_at": "2026-11-18T06:51:10.333384Z", "draft_created_at"'
                ': null, "lead_time": 2.5, "prediction": {}, "result_count": 1, "unique_id": "dfc'
                'e44e1-2d74-4f64-9bca-dd36d258ab13", "import_id": null, "last_action": null, "bul'
                'k_created": false, "task": 2, "project": 1, "updated_by": null, "parent_predicti'
                'on": null, "parent_annotation": null, "last_created_by": null}], "drafts": [2], '
                '"predictions": [2], "data": {"query_id": "q 1", "doc_id": "d/1", "text": "x"}, "'
                'meta": {}, "created_at": "2026-11-18T06:51:10.259748Z", "updated_at": "2026-11-1'
                '8T06:51:10.350904Z", "allow_skip": true, "inner_id": 3, "total_annotations": 2, '
                '"cancelled_annotations": 0, "total_predictions": 1, "comment_count": 0, "unresol'
                'ved_comment_count": 0, "last_comment_updated_at": null, "project": 1, "updated_b'
                'y": null, "comment_authors": []}, {"id": 3, "annotations": [{"id": 3, "completed'
                '_by": 2, "result": [{"id": "a", "from_name": "relevance", "to_name": "text", "ty'
                'pe": "choices", "value": {"choices": ["Relevant"]}}], "was_cancelled": false, "g'
                'round_truth": false, "created_at": "2026-11-18T06:51:10.363104Z", "updated_at": '
                '"2026-11-18T06:51:10.363123Z", "draft_created_at": null, "lead_time": 2.5, "pred'
                'iction": {}, "result_count": 1, "unique_id": "2a5a7fbd-3cdf-4516-aa01-f71cd9ecbf'
                '55", "import_id": null, "last_action": null, "bulk_created": false, "task": 3, "'
                'project": 1, "updated_by": null, "parent_prediction": null, "parent_annotation":'
                ' null, "last_created_by": null}, {"id": 4, "completed_by": 3, "result": [], "was'
                '_cancelled": true, "ground_truth": false, "created_at": "2026-11-18T06:51:10.387'
                '919Z", "updated_at": "2026-11-18T06:51:10.387941Z", "draft_created_at": null, "l'
                'ead_time": 2.5, "prediction": {}, "result_count": 0, "unique_id": "e50cc884-2fea'
                '-4b50-a4ec-67b3f14c0410", "import_id": null, "last_action": null, "bulk_created"'
                ': false, "task": 3, "project": 1, "updated_by": null, "parent_prediction": null,'
                ' "parent_annotation": null, "last_created_by": null}], "drafts": [3], "predictio'
                'ns": [], "data": {"query_id": "q 1", "doc_id": "d 2", "text": "x"}, "meta": {}, '
                '"created_at": "2026-11-18T06:51:10.358841Z", "updated_at": "2026-11-18T06:51:10.'
                '406742Z", "allow_skip": true, "inner_id": 4, "total_annotations": 1, "cancelled_'
                'annotations": 1, "total_predictions": 0, "comment_count": 0, "unresolved_comment'
                '_count": 0, "last_comment_updated_at": null, "project": 1, "updated_by": null, "'
                'comment_authors": []}]'
            ),
        },
        [
            "q 1|d 2|2|1",
            "q 1|d/1|2|2",
            "q 1|d/1|3|0",
        ],
    ),
    "JSON_MIN of a snapshot": Case(
        "label-studio 1.23.2, its server's own snapshot",
        {
            "a.json": (
                "[\n"
                "{\n"
                '  "query_id": "zażółć",\n'
                '  "doc_id": "d4",\n'
                '  "text": "x",\n'
                '  "id": 1,\n'
                '  "annotator": null,\n'
                '  "annotation_id": null,\n'
                '  "created_at": null,\n'
                '  "updated_at": null,\n'
                '  "lead_time": null\n'
                "},\n"
                "{\n"
                '  "query_id": "q 1",\n'
                '  "doc_id": "d\\/1",\n'
                '  "text": "x",\n'
                '  "id": 2,\n'
                '  "relevance": "Not relevant",\n'
                '  "annotator": "bob@x.org",\n'
                '  "annotation_id": 2,\n'
                '  "created_at": "2026-11-18T06:51:10.333360Z",\n'
                '  "updated_at": "2026-11-18T06:51:10.333384Z",\n'
                '  "lead_time": 2.5\n'
                "},\n"
                "{\n"
                '  "query_id": "q 1",\n'
                '  "doc_id": "d\\/1",\n'
                '  "text": "x",\n'
                '  "id": 2,\n'
                '  "relevance": "Highly relevant",\n'
                '  "annotator": "ann@x.org",\n'
                '  "annotation_id": 1,\n'
                '  "created_at": "2026-11-18T06:51:10.308919Z",\n'
                '  "updated_at": "2026-11-18T06:51:10.308943Z",\n'
                '  "lead_time": 2.5\n'
                "},\n"
                "{\n"
                '  "query_id": "q 1",\n'
                '  "doc_id": "d 2",\n'
                '  "text": "x",\n'
                '  "id": 3,\n'
                '  "relevance": "Relevant",\n'
                '  "annotator": "ann@x.org",\n'
                '  "annotation_id": 3,\n'
                '  "created_at": "2026-11-18T06:51:10.363104Z",\n'
                '  "updated_at": "2026-11-18T06:51:10.363123Z",\n'
                '  "lead_time": 2.5\n'
                "}\n"
                "]"
            ),
        },
        [
            "q 1|d 2|ann@x.org|1",
            "q 1|d/1|ann@x.org|2",
            "q 1|d/1|bob@x.org|0",
        ],
    ),
    "TSV of a snapshot": Case(
        "label-studio 1.23.2, its server's own snapshot",
        {
            "a.tsv": (
                '"annotation_id"\t"annotator"\t"created_at"\t"doc_id"\t"id"\t"lead_time"\t"query_'
                'id"\t"relevance"\t"text"\t"updated_at"\r\n'
                '""\t""\t""\t"d4"\t1\t""\t"zażółć"\t""\t"x"\t""\r\n'
                '2\t"3"\t"2026-11-18T06:51:10.333360Z"\t"d/1"\t2\t2.5\t"q 1"\t"Not relevant"\t"x"'
                '\t"2026-11-18T06:51:10.333384Z"\r\n'
                '1\t"2"\t"2026-11-18T06:51:10.308919Z"\t"d/1"\t2\t2.5\t"q 1"\t"Highly relevant"\t'
                '"x"\t"2026-11-18T06:51:10.308943Z"\r\n'
                '3\t"2"\t"2026-11-18T06:51:10.363104Z"\t"d 2"\t3\t2.5\t"q 1"\t"Relevant"\t"x"\t"2'
                '026-11-18T06:51:10.363123Z"\r\n'
            ),
        },
        [
            "q 1|d 2|2|1",
            "q 1|d/1|2|2",
            "q 1|d/1|3|0",
        ],
    ),
    "TSV with a number": Case(
        "label-studio-sdk 2.1.2, its converter",
        {
            "a.tsv": (
                '"annotation_id"\t"annotator"\t"created_at"\t"doc_id"\t"id"\t"lead_time"\t"points'
                '"\t"query_id"\t"text"\t"updated_at"\r\n'
                '1\t"2"\t"2026-11-16T17:30:05.771495Z"\t"d/1"\t1\t3.5\t"[{""number"":0}]"\t"q 1"'
                '\t"a text, of\n'
                'two lines"\t"2026-11-16T17:30:05.771516Z"\r\n'
                '2\t"3"\t"2026-11-16T17:30:05.771495Z"\t"d/1"\t1\t3.5\t"[{""number"":2}]"\t"q 1"'
                '\t"a text, of\n'
                'two lines"\t"2026-11-16T17:30:05.771516Z"\r\n'
                '4\t"2"\t"2026-11-16T17:30:05.771495Z"\t"d 2"\t2\t3.5\t"[{""number"":1}]"\t"q 1"'
                '\t"a text, of\n'
                'two lines"\t"2026-11-16T17:30:05.771516Z"\r\n'
                '5\t"3"\t"2026-11-16T17:30:05.771495Z"\t"d 2"\t2\t3.5\t"[{""number"":1}]"\t"q 1"'
                '\t"a text, of\n'
                'two lines"\t"2026-11-16T17:30:05.771516Z"\r\n'
                '6\t"4"\t"2026-11-16T17:30:05.771495Z"\t"d 2"\t2\t3.5\t"[{""number"":2}]"\t"q 1"'
                '\t"a text, of\n'
                'two lines"\t"2026-11-16T17:30:05.771516Z"\r\n'
                '7\t"2"\t"2026-11-16T17:30:05.771495Z"\t"d3"\t3\t3.5\t"[{""number"":2}]"\t"zażółć'
                '"\t"a text, of\n'
                'two lines"\t"2026-11-16T17:30:05.771516Z"\r\n'
                '8\t"4"\t"2026-11-16T17:30:05.771495Z"\t"d3"\t3\t3.5\t"[{""number"":0}]"\t"zażółć'
                '"\t"a text, of\n'
                'two lines"\t"2026-11-16T17:30:05.771516Z"\r\n'
            ),
        },
        [
            "q 1|d 2|2|1",
            "q 1|d 2|3|1",
            "q 1|d 2|4|2",
            "q 1|d/1|2|0",
            "q 1|d/1|3|2",
            "zażółć|d3|2|2",
            "zażółć|d3|4|0",
        ],
    ),
    "CSV of each member": Case(
        "doccano 1.8.4, its export",
        {
            "x/admin.csv": (
                "id,text,query_id,doc_id,label,Comments\n"
                '1,"text of\n'
                'd/1",q 1,d/1,,\n'
                '2,"text of\n'
                'd 2",q 1,d 2,,\n'
                '3,"text of\n'
                'd3",zażółć,d3,,\n'
            ),
            "x/ann.csv": (
                "id,text,query_id,doc_id,label,Comments\n"
                '1,"text of\n'
                'd/1",q 1,d/1,Highly relevant,\n'
                '2,"text of\n'
                'd 2",q 1,d 2,Relevant,\n'
                '3,"text of\n'
                'd3",zażółć,d3,Highly relevant,\n'
            ),
            "x/bob.csv": (
                "id,text,query_id,doc_id,label,Comments\n"
                '1,"text of\n'
                'd/1",q 1,d/1,Not relevant,\n'
                '2,"text of\n'
                'd 2",q 1,d 2,,\n'
                '3,"text of\n'
                'd3",zażółć,d3,Not relevant,\n'
            ),
        },
        [
            "q 1|d 2|ann|1",
            "q 1|d/1|ann|2",
            "q 1|d/1|bob|0",
            "zażółć|d3|ann|2",
            "zażółć|d3|bob|0",
        ],
    ),
    "JSON of each member": Case(
        "doccano 1.8.4, its export",
        {
            "x/ann.json": (
                '[{"id":1,"text":"text of\\nd\\/1","query_id":"q 1","doc_id":"d\\/1","label":["Hi'
                'ghly relevant"],"Comments":[]},{"id":2,"text":"text of\\nd 2","query_id":"q 1","'
                'doc_id":"d 2","label":["Relevant"],"Comments":[]},{"id":3,"text":"text of\\nd3",'
                '"query_id":"zażółć","doc_id":"d3","label":["Highly relevant"],"Comments":[]}]'
            ),
            "x/bob.json": (
                '[{"id":1,"text":"text of\\nd\\/1","query_id":"q 1","doc_id":"d\\/1","label":["No'
                't relevant"],"Comments":[]},{"id":2,"text":"text of\\nd 2","query_id":"q 1","doc'
                '_id":"d 2","label":[],"Comments":[]},{"id":3,"text":"text of\\nd3","query_id":"z'
                'ażółć","doc_id":"d3","label":["Not relevant"],"Comments":[]}]'
            ),
        },
        [
            "q 1|d 2|ann|1",
            "q 1|d/1|ann|2",
            "q 1|d/1|bob|0",
            "zażółć|d3|ann|2",
            "zażółć|d3|bob|0",
        ],
    ),
    "CSV of all members together": Case(
        "doccano 1.8.4, its export",
        {
            "all.csv": (
                "id,text,query_id,doc_id,label,Comments\n"
                '4,"text of\n'
                'd/1",q 1,d/1,Highly relevant#Not relevant,\n'
                '5,"text of\n'
                'd 2",q 1,d 2,Relevant,\n'
                '6,"text of\n'
                'd3",zażółć,d3,Highly relevant#Not relevant,\n'
            ),
        },
        [],
        r"merged the labels .*Highly relevant#Not relevant.* a file of their own",
    ),
    "one label each of all members together": Case(
        "doccano 1.8.4, its export",
        {
            "all.jsonl": (
                '{"id":7,"text":"text of\\nd\\/1","query_id":"q 1","doc_id":"d\\/1","label":["Hig'
                'hly relevant"],"Comments":[]}\n'
                '{"id":8,"text":"text of\\nd 2","query_id":"q 1","doc_id":"d 2","label":["Relevan'
                't"],"Comments":[]}\n'
                '{"id":9,"text":"text of\\nd3","query_id":"zażółć","doc_id":"d3","label":["Not re'
                'levant"],"Comments":[]}\n'
            ),
        },
        [
            "q 1|d 2|all|1",
            "q 1|d/1|all|2",
            "zażółć|d3|all|0",
        ],
    ),
    "fastText's lines": Case(
        "doccano 1.8.4, its export",
        {
            "all.txt": (
                '"__label__Highly relevant __label__Not relevant text of\n'
                'd/1 "\n'
                '"__label__Relevant text of\n'
                'd 2 "\n'
                '"__label__Highly relevant __label__Not relevant text of\n'
                'd3 "\n'
            ),
        },
        [],
        r"labels and texts, and no ids; export as JSONL or CSV",
    ),
    "JSONL": Case(
        "potato-annotation 2.12.1, its export",
        {
            "a.jsonl": (
                '{"instance_id": "i1", "user_id": "ann", "labels": {"relevance": {"Highly relevan'
                't": "Highly relevant"}, "why": {"text_box": "so"}}, "spans": {}, "links": {}}\n'
                '{"instance_id": "i2", "user_id": "ann", "labels": {"relevance": {"Relevant": "Re'
                'levant"}, "why": {"text_box": "so"}}, "spans": {}, "links": {}}\n'
                '{"instance_id": "i3", "user_id": "ann", "labels": {"relevance": {"Not relevant":'
                ' "Not relevant"}, "why": {"text_box": "so"}}, "spans": {}, "links": {}}\n'
                '{"instance_id": "i1", "user_id": "bob", "labels": {"relevance": {"Not relevant":'
                ' "Not relevant"}, "why": {"text_box": "so"}}, "spans": {}, "links": {}}\n'
                '{"instance_id": "i2", "user_id": "bob", "labels": {"why": {"text_box": "so"}}, "'
                'spans": {}, "links": {}}\n'
                '{"instance_id": "i3", "user_id": "bob", "labels": {"relevance": {"Highly relevan'
                't": "Highly relevant"}, "why": {"text_box": "so"}}, "spans": {}, "links": {}}\n'
            ),
        },
        [
            "q 1|d 2|ann|1",
            "q 1|d/1|ann|2",
            "q 1|d/1|bob|0",
            "zażółć|d3|ann|0",
            "zażółć|d3|bob|2",
        ],
    ),
    "a scale in CSV": Case(
        "potato-annotation 2.12.1, its export",
        {
            "a.csv": (
                "instance_id,user_id,relevance.scale_1,why.text_box,relevance.scale_2,relevance.s"
                "cale_3\r\n"
                "i3,ann,1,so,,\r\n"
                "i2,ann,,so,2,\r\n"
                "i1,ann,,so,,3\r\n"
                "i3,bob,,so,,3\r\n"
                "i2,bob,,so,,\r\n"
                "i1,bob,1,so,,\r\n"
            ),
        },
        [
            "q 1|d 2|ann|2",
            "q 1|d/1|ann|3",
            "q 1|d/1|bob|1",
            "zażółć|d3|ann|1",
            "zażółć|d3|bob|3",
        ],
    ),
    "a menu in TSV": Case(
        "potato-annotation 2.12.1, its export",
        {
            "a.tsv": (
                "instance_id\tuser_id\trelevance.select-one\twhy.text_box\r\n"
                "i1\tann\tHighly relevant\tso\r\n"
                "i2\tann\tRelevant\tso\r\n"
                "i3\tann\tNot relevant\tso\r\n"
                "i1\tbob\tNot relevant\tso\r\n"
                "i2\tbob\t\tso\r\n"
                "i3\tbob\tHighly relevant\tso\r\n"
            ),
        },
        [
            "q 1|d 2|ann|1",
            "q 1|d/1|ann|2",
            "q 1|d/1|bob|0",
            "zażółć|d3|ann|0",
            "zażółć|d3|bob|2",
        ],
    ),
    "labels from the highest to the lowest, TSV": Case(
        "potato-annotation 1.2.2.4, its save_all_annotations",
        {
            "a.tsv": (
                "user\tinstance_id\tdisplayed_text\trelevance:::Not relevant\trelevance:::Highly "
                "relevant\trelevance:::Relevant\twhy:::text_box\n"
                "ann\ti2\ttext of i2\t\t\t2\tso, it is\n"
                "ann\ti1\ttext of i1\t\t1\t\tso, it is\n"
                "ann\ti3\ttext of i3\t3\t\t\tso, it is\n"
                "bob\ti2\ttext of i2\t\t\t\tso, it is\n"
                "bob\ti1\ttext of i1\t3\t\t\tso, it is\n"
                "bob\ti3\ttext of i3\t\t1\t\tso, it is\n"
            ),
        },
        [
            "q 1|d 2|ann|1",
            "q 1|d/1|ann|2",
            "q 1|d/1|bob|0",
            "zażółć|d3|ann|0",
            "zażółć|d3|bob|2",
        ],
    ),
    "labels from the highest to the lowest, JSONL": Case(
        "potato-annotation 1.2.2.4, its save_all_annotations",
        {
            "a.jsonl": (
                '{"user_id": "ann", "instance_id": "i2", "displayed_text": "text of i2", "label_a'
                'nnotations": {"relevance": {"Relevant": "2"}, "why": {"text_box": "so, it is"}},'
                ' "span_annotations": {}, "behavioral_data": {}}\n'
                '{"user_id": "ann", "instance_id": "i1", "displayed_text": "text of i1", "label_a'
                'nnotations": {"relevance": {"Highly relevant": "1"}, "why": {"text_box": "so, it'
                ' is"}}, "span_annotations": {}, "behavioral_data": {}}\n'
                '{"user_id": "ann", "instance_id": "i3", "displayed_text": "text of i3", "label_a'
                'nnotations": {"relevance": {"Not relevant": "3"}, "why": {"text_box": "so, it is'
                '"}}, "span_annotations": {}, "behavioral_data": {}}\n'
                '{"user_id": "bob", "instance_id": "i2", "displayed_text": "text of i2", "label_a'
                'nnotations": {"why": {"text_box": "so, it is"}}, "span_annotations": {}, "behavi'
                'oral_data": {}}\n'
                '{"user_id": "bob", "instance_id": "i1", "displayed_text": "text of i1", "label_a'
                'nnotations": {"relevance": {"Not relevant": "3"}, "why": {"text_box": "so, it is'
                '"}}, "span_annotations": {}, "behavioral_data": {}}\n'
                '{"user_id": "bob", "instance_id": "i3", "displayed_text": "text of i3", "label_a'
                'nnotations": {"relevance": {"Highly relevant": "1"}, "why": {"text_box": "so, it'
                ' is"}}, "span_annotations": {}, "behavioral_data": {}}\n'
            ),
        },
        [
            "q 1|d 2|ann|1",
            "q 1|d/1|ann|2",
            "q 1|d/1|bob|0",
            "zażółć|d3|ann|0",
            "zażółć|d3|bob|2",
        ],
    ),
    "labels without keys, CSV": Case(
        "potato-annotation 1.2.2.4, its save_all_annotations",
        {
            "a.csv": (
                "user,instance_id,displayed_text,relevance:::Not relevant,relevance:::Highly rele"
                "vant,relevance:::Relevant,why:::text_box\n"
                'ann,i2,text of i2,,,relevance:::Relevant,"so, it is"\n'
                'ann,i1,text of i1,,relevance:::Highly relevant,,"so, it is"\n'
                'ann,i3,text of i3,relevance:::Not relevant,,,"so, it is"\n'
                'bob,i2,text of i2,,,,"so, it is"\n'
                'bob,i1,text of i1,relevance:::Not relevant,,,"so, it is"\n'
                'bob,i3,text of i3,,relevance:::Highly relevant,,"so, it is"\n'
            ),
        },
        [
            "q 1|d 2|ann|1",
            "q 1|d/1|ann|2",
            "q 1|d/1|bob|0",
            "zażółć|d3|ann|0",
            "zażółć|d3|bob|2",
        ],
    ),
    "datasets, whose first record nobody answered": Case(
        "argilla 1.29.1, FeedbackDataset.format_as('datasets').to_json",
        {
            "a.jsonl": (
                '{"text":"a text","relevance":[],"relevance-suggestion":"1","relevance-suggestion'
                '-metadata":{"type":"model","score":0.5,"agent":"gpt-x"},"why":[],"why-suggestion'
                '":null,"why-suggestion-metadata":{"type":null,"score":null,"agent":null},"extern'
                'al_id":null,"metadata":"{\\"query_id\\": \\"za\\\\u017c\\\\u00f3\\\\u0142\\\\u01'
                '07\\", \\"doc_id\\": \\"d4\\"}"}\n'
                '{"text":"a text","relevance":[{"user_id":"00000000-0000-0000-0000-000000000002",'
                '"value":"0","status":"submitted"}],"relevance-suggestion":"1","relevance-suggest'
                'ion-metadata":{"type":"model","score":0.5,"agent":"gpt-x"},"why":[{"user_id":"00'
                '000000-0000-0000-0000-000000000002","value":"so","status":"submitted"}],"why-sug'
                'gestion":null,"why-suggestion-metadata":{"type":null,"score":null,"agent":null},'
                '"external_id":null,"metadata":"{\\"query_id\\": \\"za\\\\u017c\\\\u00f3\\\\u0142'
                '\\\\u0107\\", \\"doc_id\\": \\"d3\\"}"}\n'
                '{"text":"a text","relevance":[{"user_id":"00000000-0000-0000-0000-000000000001",'
                '"value":"1","status":"submitted"},{"user_id":"00000000-0000-0000-0000-0000000000'
                '02","value":"0","status":"discarded"}],"relevance-suggestion":"1","relevance-sug'
                'gestion-metadata":{"type":"model","score":0.5,"agent":"gpt-x"},"why":[{"user_id"'
                ':"00000000-0000-0000-0000-000000000001","value":"so","status":"submitted"}],"why'
                '-suggestion":null,"why-suggestion-metadata":{"type":null,"score":null,"agent":nu'
                'll},"external_id":null,"metadata":"{\\"query_id\\": \\"q 1\\", \\"doc_id\\": \\"'
                'd 2\\"}"}\n'
                '{"text":"a text","relevance":[{"user_id":"00000000-0000-0000-0000-000000000001",'
                '"value":"2","status":"submitted"},{"user_id":"00000000-0000-0000-0000-0000000000'
                '02","value":"0","status":"submitted"}],"relevance-suggestion":"1","relevance-sug'
                'gestion-metadata":{"type":"model","score":0.5,"agent":"gpt-x"},"why":[{"user_id"'
                ':"00000000-0000-0000-0000-000000000001","value":"so","status":"submitted"},{"use'
                'r_id":"00000000-0000-0000-0000-000000000002","value":"so","status":"submitted"}]'
                ',"why-suggestion":null,"why-suggestion-metadata":{"type":null,"score":null,"agen'
                't":null},"external_id":null,"metadata":"{\\"query_id\\": \\"q 1\\", \\"doc_id\\"'
                ': \\"d\\/1\\"}"}\n'
            ),
        },
        [
            "q 1|d 2|00000000-0000-0000-0000-000000000001|1",
            "q 1|d 2|gpt-x|1",
            "q 1|d/1|00000000-0000-0000-0000-000000000001|2",
            "q 1|d/1|00000000-0000-0000-0000-000000000002|0",
            "q 1|d/1|gpt-x|1",
            "zażółć|d3|00000000-0000-0000-0000-000000000002|0",
            "zażółć|d3|gpt-x|1",
            "zażółć|d4|gpt-x|1",
        ],
    ),
    "the same as CSV": Case(
        "argilla 1.29.1, the same with to_csv",
        {
            "a.csv": (
                "text,relevance,relevance-suggestion,relevance-suggestion-metadata,why,why-sugges"
                "tion,why-suggestion-metadata,external_id,metadata\n"
                "a text,[],1,\"{'type': 'model', 'score': 0.5, 'agent': 'gpt-x'}\",[],,\"{"
                '\'type\': None, \'score\': None, \'agent\': None}",,"{""query_id"": ""za\\u017c'
                '\\u00f3\\u0142\\u0107"", ""doc_id"": ""d4""}"\n'
                "a text,\"[{'user_id': '00000000-0000-0000-0000-000000000002', 'value': '0"
                "', 'status': 'submitted'}]\",1,\"{'type': 'model', 'score': 0.5, 'agen"
                "t': 'gpt-x'}\",\"[{'user_id': '00000000-0000-0000-0000-000000000002', 'val"
                "ue': 'so', 'status': 'submitted'}]\",,\"{'type': None, 'score': None, "
                '\'agent\': None}",,"{""query_id"": ""za\\u017c\\u00f3\\u0142\\u0107"", ""doc_id"'
                '": ""d3""}"\n'
                "a text,\"[{'user_id': '00000000-0000-0000-0000-000000000001', 'value': '1"
                "', 'status': 'submitted'}\n"
                " {'user_id': '00000000-0000-0000-0000-000000000002', 'value': '0', 'status': 'di"
                "scarded'}]\",1,\"{'type': 'model', 'score': 0.5, 'agent': 'gpt-x'}\",\"[{"
                "'user_id': '00000000-0000-0000-0000-000000000001', 'value': 'so', 'status': 'sub"
                "mitted'}]\",,\"{'type': None, 'score': None, 'agent': None}\",,\"{\"\"query_id\""
                '": ""q 1"", ""doc_id"": ""d 2""}"\n'
                "a text,\"[{'user_id': '00000000-0000-0000-0000-000000000001', 'value': '2"
                "', 'status': 'submitted'}\n"
                " {'user_id': '00000000-0000-0000-0000-000000000002', 'value': '0', 'status': 'su"
                "bmitted'}]\",1,\"{'type': 'model', 'score': 0.5, 'agent': 'gpt-x'}\",\"[{"
                "'user_id': '00000000-0000-0000-0000-000000000001', 'value': 'so', 'status': 'sub"
                "mitted'}\n"
                " {'user_id': '00000000-0000-0000-0000-000000000002', 'value': 'so', 'status': 's"
                "ubmitted'}]\",,\"{'type': None, 'score': None, 'agent': None}\",,\"{\"\"query_i"
                'd"": ""q 1"", ""doc_id"": ""d/1""}"\n'
            ),
        },
        [
            "q 1|d 2|00000000-0000-0000-0000-000000000001|1",
            "q 1|d 2|gpt-x|1",
            "q 1|d/1|00000000-0000-0000-0000-000000000001|2",
            "q 1|d/1|00000000-0000-0000-0000-000000000002|0",
            "q 1|d/1|gpt-x|1",
            "zażółć|d3|00000000-0000-0000-0000-000000000002|0",
            "zażółć|d3|gpt-x|1",
            "zażółć|d4|gpt-x|1",
        ],
    ),
    "records as they are": Case(
        "argilla 1.29.1, FeedbackRecord.dict",
        {
            "a.json": (
                '[{"fields": {"text": "a text"}, "metadata": {"query_id": "q 1", "doc_id": "d/1"}'
                ', "vectors": {}, "responses": [{"user_id": "00000000-0000-0000-0000-000000000001'
                '", "values": {"relevance": {"value": "2"}, "why": {"value": "so"}}, "status": "s'
                'ubmitted"}, {"user_id": "00000000-0000-0000-0000-000000000002", "values": {"rele'
                'vance": {"value": "0"}, "why": {"value": "so"}}, "status": "submitted"}], "sugge'
                'stions": [{"question_name": "relevance", "value": "1", "score": 0.5, "type": "mo'
                'del", "agent": "gpt-x"}], "external_id": null}, {"fields": {"text": "a text"}, "'
                'metadata": {"query_id": "q 1", "doc_id": "d 2"}, "vectors": {}, "responses": [{"'
                'user_id": "00000000-0000-0000-0000-000000000001", "values": {"relevance": {"valu'
                'e": "1"}, "why": {"value": "so"}}, "status": "submitted"}, {"user_id": "00000000'
                '-0000-0000-0000-000000000002", "values": {"relevance": {"value": "0"}}, "status"'
                ': "discarded"}], "suggestions": [{"question_name": "relevance", "value": "1", "s'
                'core": 0.5, "type": "model", "agent": "gpt-x"}], "external_id": null}, {"fields"'
                ': {"text": "a text"}, "metadata": {"query_id": "zażółć", "doc_id": "d3"}, "vecto'
                'rs": {}, "responses": [{"user_id": "00000000-0000-0000-0000-000000000002", "valu'
                'es": {"relevance": {"value": "0"}, "why": {"value": "so"}}, "status": "submitted'
                '"}], "suggestions": [{"question_name": "relevance", "value": "1", "score": 0.5, '
                '"type": "model", "agent": "gpt-x"}], "external_id": null}, {"fields": {"text": "'
                'a text"}, "metadata": {"query_id": "zażółć", "doc_id": "d4"}, "vectors": {}, "re'
                'sponses": [], "suggestions": [{"question_name": "relevance", "value": "1", "scor'
                'e": 0.5, "type": "model", "agent": "gpt-x"}], "external_id": null}]'
            ),
        },
        [
            "q 1|d 2|00000000-0000-0000-0000-000000000001|1",
            "q 1|d 2|gpt-x|1",
            "q 1|d/1|00000000-0000-0000-0000-000000000001|2",
            "q 1|d/1|00000000-0000-0000-0000-000000000002|0",
            "q 1|d/1|gpt-x|1",
            "zażółć|d3|00000000-0000-0000-0000-000000000002|0",
            "zażółć|d3|gpt-x|1",
            "zażółć|d4|gpt-x|1",
        ],
    ),
    "records before there were questions": Case(
        "argilla 1.29.1, DatasetForTextClassification.to_datasets",
        {
            "a.jsonl": (
                '{"text":"a","inputs":{"text":"a"},"prediction":[{"label":"1","score":0.7},{"labe'
                'l":"0","score":0.3}],"prediction_agent":"gpt-x","annotation":"2","annotation_age'
                'nt":"ann","vectors":null,"multi_label":false,"explanation":null,"id":"0","metada'
                'ta":{"doc_id":"d\\/1","query_id":"q 1"},"status":"Validated","event_timestamp":1'
                '794982800,"metrics":null}\n'
                '{"text":"a","inputs":{"text":"a"},"prediction":[{"label":"1","score":0.7},{"labe'
                'l":"0","score":0.3}],"prediction_agent":"gpt-x","annotation":"1","annotation_age'
                'nt":"ann","vectors":null,"multi_label":false,"explanation":null,"id":"1","metada'
                'ta":{"doc_id":"d 2","query_id":"q 1"},"status":"Validated","event_timestamp":179'
                '4982800,"metrics":null}\n'
                '{"text":"a","inputs":{"text":"a"},"prediction":[{"label":"1","score":0.7},{"labe'
                'l":"0","score":0.3}],"prediction_agent":"gpt-x","annotation":"0","annotation_age'
                'nt":"ann","vectors":null,"multi_label":false,"explanation":null,"id":"2","metada'
                'ta":{"doc_id":"d3","query_id":"zażółć"},"status":"Validated","event_timestamp":1'
                '794982800,"metrics":null}\n'
            ),
        },
        [
            "q 1|d 2|ann|1",
            "q 1|d/1|ann|2",
            "zażółć|d3|ann|0",
        ],
    ),
    "the same as CSV of pandas": Case(
        "argilla 1.29.1, DatasetForTextClassification.to_pandas",
        {
            "a.csv": (
                "text,inputs,prediction,prediction_agent,annotation,annotation_agent,vectors,mult"
                "i_label,explanation,id,metadata,status,event_timestamp,metrics,search_keywords\n"
                "a,{'text': 'a'},\"[('1', 0.7), ('0', 0.3)]\",gpt-x,2,ann,,False,,0,\"{'que"
                "ry_id': 'q 1', 'doc_id': 'd/1'}\",Validated,2026-11-18 06:20:00.984405,,\n"
                "a,{'text': 'a'},\"[('1', 0.7), ('0', 0.3)]\",gpt-x,1,ann,,False,,1,\"{'que"
                "ry_id': 'q 1', 'doc_id': 'd 2'}\",Validated,2026-11-18 06:20:00.984452,,\n"
                "a,{'text': 'a'},\"[('1', 0.7), ('0', 0.3)]\",gpt-x,0,ann,,False,,2,\"{'que"
                "ry_id': 'zażółć', 'doc_id': 'd3'}\",Validated,2026-11-18 06:20:00.984483,,"
                "\n"
            ),
        },
        [
            "q 1|d 2|ann|1",
            "q 1|d/1|ann|2",
            "zażółć|d3|ann|0",
        ],
    ),
    "assignments, the first of which expired": Case(
        "toloka-kit 1.2.3, Assignment.to_json",
        {
            "a.jsonl": (
                '{"id":"a0","task_suite_id":"s1","pool_id":"21","user_id":"w0","status":"EXPIRED"'
                ',"reward":0.05,"tasks":[{"input_values":{"query":"q 1","docid":"d/1","text":"a t'
                'ext"},"id":"task-d/1","pool_id":"21"},{"input_values":{"query":"q 1","docid":"d '
                '2","text":"a text"},"id":"task-d 2","pool_id":"21"}],"automerged":false,"created'
                '":"2024-05-01T12:30:00","submitted":"2024-05-01T12:31:00","mixed":true}\n'
                '{"id":"a1","task_suite_id":"s1","pool_id":"21","user_id":"w1","status":"ACCEPTED'
                '","reward":0.05,"tasks":[{"input_values":{"query":"q 1","docid":"d/1","text":"a '
                'text"},"id":"task-d/1","pool_id":"21"},{"input_values":{"query":"q 1","docid":"d'
                ' 2","text":"a text"},"known_solutions":[{"output_values":{"result":"0"},"correct'
                'ness_weight":1}],"id":"task-d 2","pool_id":"21"}],"automerged":false,"created":"'
                '2024-05-01T12:30:00","submitted":"2024-05-01T12:31:00","solutions":[{"output_val'
                'ues":{"result":"2"}},{"output_values":{"result":"0"}}],"mixed":true}\n'
                '{"id":"a2","task_suite_id":"s1","pool_id":"21","user_id":"w2","status":"REJECTED'
                '","reward":0.05,"tasks":[{"input_values":{"query":"q 1","docid":"d/1","text":"a '
                'text"},"id":"task-d/1","pool_id":"21"},{"input_values":{"query":"q 1","docid":"d'
                ' 2","text":"a text"},"known_solutions":[{"output_values":{"result":"0"},"correct'
                'ness_weight":1}],"id":"task-d 2","pool_id":"21"}],"automerged":false,"created":"'
                '2024-05-01T12:30:00","submitted":"2024-05-01T12:31:00","solutions":[{"output_val'
                'ues":{"result":"0"}},{"output_values":{"result":"1"}}],"mixed":true}\n'
                '{"id":"a3","task_suite_id":"s1","pool_id":"21","user_id":"w3","status":"SUBMITTE'
                'D","reward":0.05,"tasks":[{"input_values":{"query":"zażółć","docid":"d3","text":'
                '"a text"},"id":"task-d3","pool_id":"21"},{"input_values":{"query":"q 1","docid":'
                '"d 2","text":"a text"},"known_solutions":[{"output_values":{"result":"0"},"corre'
                'ctness_weight":1}],"id":"task-d 2","pool_id":"21"}],"automerged":false,"created"'
                ':"2024-05-01T12:30:00","submitted":"2024-05-01T12:31:00","solutions":[{"output_v'
                'alues":{"result":"1"}},{"output_values":{"result":"1"}}],"mixed":true}\n'
            ),
        },
        [
            "q 1|d 2|w1|0",
            "q 1|d 2|w3|1",
            "q 1|d/1|w1|2",
            "zażółć|d3|w3|1",
        ],
    ),
    "a page of assignments": Case(
        "toloka-kit 1.2.3, Assignment.unstructure, in the service's documented answer",
        {
            "a.json": (
                '{"items": [{"id": "a0", "task_suite_id": "s1", "pool_id": "21", "user_id": "w0",'
                ' "status": "EXPIRED", "reward": "0.05", "tasks": [{"input_values": {"query": "q '
                '1", "docid": "d/1", "text": "a text"}, "id": "task-d/1", "pool_id": "21"}, {"inp'
                'ut_values": {"query": "q 1", "docid": "d 2", "text": "a text"}, "id": "task-d 2"'
                ', "pool_id": "21"}], "automerged": false, "created": "2024-05-01T12:30:00", "sub'
                'mitted": "2024-05-01T12:31:00", "mixed": true}, {"id": "a1", "task_suite_id": "s'
                '1", "pool_id": "21", "user_id": "w1", "status": "ACCEPTED", "reward": "0.05", "t'
                'asks": [{"input_values": {"query": "q 1", "docid": "d/1", "text": "a text"}, "id'
                '": "task-d/1", "pool_id": "21"}, {"input_values": {"query": "q 1", "docid": "d 2'
                '", "text": "a text"}, "known_solutions": [{"output_values": {"result": "0"}, "co'
                'rrectness_weight": 1}], "id": "task-d 2", "pool_id": "21"}], "automerged": false'
                ', "created": "2024-05-01T12:30:00", "submitted": "2024-05-01T12:31:00", "solutio'
                'ns": [{"output_values": {"result": "2"}}, {"output_values": {"result": "0"}}], "'
                'mixed": true}, {"id": "a2", "task_suite_id": "s1", "pool_id": "21", "user_id": "'
                'w2", "status": "REJECTED", "reward": "0.05", "tasks": [{"input_values": {"query"'
                ': "q 1", "docid": "d/1", "text": "a text"}, "id": "task-d/1", "pool_id": "21"}, '
                '{"input_values": {"query": "q 1", "docid": "d 2", "text": "a text"}, "known_solu'
                'tions": [{"output_values": {"result": "0"}, "correctness_weight": 1}], "id": "ta'
                'sk-d 2", "pool_id": "21"}], "automerged": false, "created": "2024-05-01T12:30:00'
                '", "submitted": "2024-05-01T12:31:00", "solutions": [{"output_values": {"result"'
                ': "0"}}, {"output_values": {"result": "1"}}], "mixed": true}, {"id": "a3", "task'
                '_suite_id": "s1", "pool_id": "21", "user_id": "w3", "status": "SUBMITTED", "rewa'
                'rd": "0.05", "tasks": [{"input_values": {"query": "zażółć", "docid": "d3", "text'
                '": "a text"}, "id": "task-d3", "pool_id": "21"}, {"input_values": {"query": "q 1'
                '", "docid": "d 2", "text": "a text"}, "known_solutions": [{"output_values": {"re'
                'sult": "0"}, "correctness_weight": 1}], "id": "task-d 2", "pool_id": "21"}], "au'
                'tomerged": false, "created": "2024-05-01T12:30:00", "submitted": "2024-05-01T12:'
                '31:00", "solutions": [{"output_values": {"result": "1"}}, {"output_values": {"re'
                'sult": "1"}}], "mixed": true}], "has_more": false}'
            ),
        },
        [
            "q 1|d 2|w1|0",
            "q 1|d 2|w3|1",
            "q 1|d/1|w1|2",
            "zażółć|d3|w3|1",
        ],
    ),
    "a frame by columns": Case(
        "pandas 3.1.1, to_json()",
        {
            "a.json": (
                '{"query_id":{"0":"q 1","1":"q 1","2":"q 1","3":"za\\u017c\\u00f3\\u0142\\u0107"}'
                ',"doc_id":{"0":"d\\/1","1":"d\\/1","2":"d 2","3":"d3"},"annotator":{"0":"ann","1'
                '":"bob","2":"ann","3":"bob"},"label":{"0":2,"1":0,"2":1,"3":0}}'
            ),
        },
        [
            "q 1|d 2|ann|1",
            "q 1|d/1|ann|2",
            "q 1|d/1|bob|0",
            "zażółć|d3|bob|0",
        ],
    ),
    "a frame by rows": Case(
        "pandas 3.1.1, to_json(orient='index')",
        {
            "a.json": (
                '{"0":{"query_id":"q 1","doc_id":"d\\/1","annotator":"ann","label":2},"1":{"query'
                '_id":"q 1","doc_id":"d\\/1","annotator":"bob","label":0},"2":{"query_id":"q 1","'
                'doc_id":"d 2","annotator":"ann","label":1},"3":{"query_id":"za\\u017c\\u00f3\\u0'
                '142\\u0107","doc_id":"d3","annotator":"bob","label":0}}'
            ),
        },
        [
            "q 1|d 2|ann|1",
            "q 1|d/1|ann|2",
            "q 1|d/1|bob|0",
            "zażółć|d3|bob|0",
        ],
    ),
    "a frame with its schema": Case(
        "pandas 3.1.1, to_json(orient='table')",
        {
            "a.json": (
                '{"schema":{"fields":[{"name":"query_id","type":"string","extDtype":"str"},{"name'
                '":"doc_id","type":"string","extDtype":"str"},{"name":"annotator","type":"string"'
                ',"extDtype":"str"},{"name":"label","type":"integer"}],"pandas_version":"1.4.0"},'
                '"data":[{"query_id":"q 1","doc_id":"d\\/1","annotator":"ann","label":2},{"query_'
                'id":"q 1","doc_id":"d\\/1","annotator":"bob","label":0},{"query_id":"q 1","doc_i'
                'd":"d 2","annotator":"ann","label":1},{"query_id":"za\\u017c\\u00f3\\u0142\\u010'
                '7","doc_id":"d3","annotator":"bob","label":0}]}'
            ),
        },
        [
            "q 1|d 2|ann|1",
            "q 1|d/1|ann|2",
            "q 1|d/1|bob|0",
            "zażółć|d3|bob|0",
        ],
        r"--columns '(?P<columns>doc=data\[\]\.doc_id,grade=data\[\]\.label,[^']*)'",
    ),
    "a frame without names": Case(
        "pandas 3.1.1, to_json(orient='values')",
        {
            "a.json": (
                '[["q 1","d\\/1","ann",2],["q 1","d\\/1","bob",0],["q 1","d 2","ann",1],["za\\u01'
                '7c\\u00f3\\u0142\\u0107","d3","bob",0]]'
            ),
        },
        [],
        r"no header that is known",
    ),
    "lists of objects in cells of CSV": Case(
        "datasets 5.2.0, to_csv",
        {
            "a.csv": (
                "query_id,doc_id,annotations\n"
                "q 1,d/1,\"[{'annotator': 'ann', 'label': 2} {'annotator': 'bob', 'labe"
                "l': 0}]\"\n"
                "q 1,d 2,\"[{'annotator': 'ann', 'label': 1}]\"\n"
                "zażółć,d3,\"[{'annotator': 'bob', 'label': 0}]\"\n"
            ),
        },
        [
            "q 1|d 2|ann|1",
            "q 1|d/1|ann|2",
            "q 1|d/1|bob|0",
            "zażółć|d3|bob|0",
        ],
        r"--columns '(?P<columns>doc=doc_id,[^']*)'",
    ),
    "lists in cells of CSV, without commas": Case(
        "datasets 5.2.0, to_csv",
        {
            "a.csv": (
                "query_id,doc_id,annotators,labels\n"
                "q 1,d/1,['ann' 'bob'],[2 0]\n"
                "q 1,d 2,['ann'],[1]\n"
                "zażółć,d3,['bob'],[0]\n"
            ),
        },
        [],
        r"rows are nested",
    ),
}

CASES |= {
    "buttons of two documents": Case(
        f"{MTURK}crowd-radio-group",
        batch(
            '[{"rel1":{"0":false,"1":true},"rel2":{"0":true,"1":false}}]',
            '[{"rel1":{"0":true,"1":false}}]',
            '[{"rel1":{"0":true,"1":false},"rel2":{"0":true,"1":false}}]',
        ),
        ["t|d|w1|1", "t|d|w2|0", "t|e|w1|0"],
    ),
    "a label": Case(
        f"{MTURK}crowd-classifier",
        batch('[{"category":{"label":"1"}}]', '[{"category":{"label":"0"}}]'),
        ["t|H|w1|1", "t|H|w2|0"],
        options={
            "columns": "topic=Input.topic,doc=HITId,assessor=WorkerId,"
            "grade=Answer.taskAnswers[0].category.label"
        },
    ),
    "numbers of two documents": Case(
        f"{MTURK}crowd-input",
        batch('[{"grade1":"2","grade2":"0"}]', '[{"grade1":1,"grade2":null}]'),
        ["t|d|w1|2", "t|d|w2|1", "t|e|w1|0"],
    ),
    "several answers, none called as grades are": Case(
        f"{MTURK}form",
        {
            "a.csv": "HITId,WorkerId,AssignmentStatus,Input.topic,Input.docno,Answer.a,Answer.b\n"
            "H,w1,Approved,t,d,1,5\nH,w2,Rejected,t,d,0,5\n"
        },
        ["t|d|w1|1"],
        r"nothing in it is called as grades are; .*--columns '(?P<columns>grade=PATH)'.*Answer\.a",
    ),
    "a survey whose columns are documents": Case(
        "documented, Qualtrics' CSV with the questions' ids in the third line",
        {
            "a.csv": "ResponseId,topic,Finished,d1,d2\n"
            'Response ID,Which?,Finished,"First, please?",Second?\n'
            '"{""ImportId"":""_recordId""}","{""ImportId"":""QID1""}","{""ImportId"":""finished""}",'
            '"{""ImportId"":""QID2""}","{""ImportId"":""QID3""}"\n'
            "R_1,t,1,2,0\nR_2,t,1,1,\nR_3,t,0,0,0\n"
        },
        ["t|d1|R_1|2", "t|d1|R_2|1", "t|d2|R_1|0"],
        options={"columns": "assessor=ResponseId,topic=topic", "wide": "d*", "where": "Finished=1"},
    ),
}


def found(path: Path, **options: Any) -> list[str]:
    rows = q.read_judgements(path, **options).to_polars()
    return [
        "|".join(map(str, row)) for row in rows.select("topic", "doc", "assessor", "grade").rows()
    ]


def written(case: Case, folder: Path) -> Path:
    for name, text in case.files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, newline="")
    (folder / "items.jsonl").write_text(ITEMS)
    return folder / next(iter(case.files)).split("/")[0]


@pytest.mark.parametrize("name", CASES)
def test_a_file_as_its_tool_wrote_it(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    path = written(case, tmp_path)
    options = dict(case.options)
    if case.by.startswith("potato"):
        options["documents"] = tmp_path / "items.jsonl"
    if case.refused:
        with pytest.raises(FormatError, match=case.refused) as refused:
            found(path, **options)
        remedy = re.search(case.refused, str(refused.value))
        assert remedy is not None
        if not case.truth:
            return
        options["columns"] = remedy["columns"].replace("PATH", "Answer.a")
    assert sorted(found(path, **options)) == case.truth


def test_what_is_left_out_or_doubtful_is_said(tmp_path: Path) -> None:
    for name, words in {
        "assignments, the first of which expired": "2 with expired, 2 with rejected",
        "datasets, whose first record nobody answered": "1 with discarded",
        "one label each of all members together": "nobody is named: one assessor",
        "buttons of two documents": "1 with rejected",
        "several answers, none called as grades are": "1 with rejected",
    }.items():
        path = written(CASES[name], tmp_path)
        columns = "grade=Answer.a" if "several answers" in name else None
        with pytest.warns(DataWarning, match=words):
            q.read_judgements(path, columns=columns)


def test_suggestions_of_argilla_1_are_those_of_machines(tmp_path: Path) -> None:
    for name in ("datasets, whose first record nobody answered", "records as they are"):
        crowd = q.read_judgements(written(CASES[name], tmp_path))
        assert crowd.kind_counts == {"machine": 1, "unknown": 2}


def test_a_snapshot_without_predictions_says_nothing_of_machines(tmp_path: Path) -> None:
    crowd = q.read_judgements(written(CASES["a snapshot with ids only"], tmp_path))
    assert crowd.kinds is None or set(crowd.kind_counts) == {"unknown"}


# --- records that are damaged ---------------------------------------------------------------------

ODD: list[Any] = [None, [], {}, 1, "x", [1], {"a": 1}, [[]], "[1]", "{'a': 1}", True, -1.5, [{}]]


def places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield at
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield from places(value[key], (*at, key))


def replaced(value: Any, at: tuple[Any, ...], odd: Any) -> Any:
    if not at:
        return odd
    changed = value.copy()
    changed[at[0]] = replaced(value[at[0]], at[1:], odd)
    return changed


@pytest.mark.parametrize("name", [name for name in CASES if "json" in str([*CASES[name].files])])
def test_a_record_with_something_odd_is_one_line_at_most(name: str, tmp_path: Path) -> None:
    chance = random.Random(name)
    file, text = next(iter(CASES[name].files.items()))
    lines = file.endswith("l")
    records = [json.loads(line) for line in text.splitlines()] if lines else json.loads(text)
    messages = []
    for _ in range(25):
        odd = replaced(records, chance.choice(list(places(records))), chance.choice(ODD))
        path = tmp_path / Path(file).name
        as_lines = lines and isinstance(odd, list)
        path.write_text("\n".join(map(json.dumps, odd)) if as_lines else json.dumps(odd))
        for read in (q.read_judgements, q.read_qrels, read_any):
            try:
                read(path)
            except QrowdError as error:
                messages.append(str(error))
    assert not [message for message in messages if "\n" in message]


# --- Parquet --------------------------------------------------------------------------------------

ROWS = [("q 1", "d 2", "ann", 1), ("q 1", "d/1", "ann", 2), ("q 1", "d/1", "bob", 0)]
TRUTH = ["|".join(map(str, row)) for row in ROWS]
NAMES = ("query_id", "doc_id", "annotator", "label")
# what datasets 5.2.0 writes into a file's metadata, of a column of labels
FEATURES = {
    "info": {
        "features": {
            "query_id": {"dtype": "string", "_type": "Value"},
            "doc_id": {"dtype": "string", "_type": "Value"},
            "annotator": {"dtype": "string", "_type": "Value"},
            "label": {
                "names": ["Highly relevant", "Relevant", "Not relevant"],
                "_type": "ClassLabel",
            },
        }
    }
}


@pytest.mark.parametrize("packed", ["", ".gz"])
def test_labels_that_datasets_has_numbered(packed: str, tmp_path: Path) -> None:
    import gzip

    path = tmp_path / f"a.parquet{packed}"
    numbered = pl.DataFrame(
        [(*row[:3], 2 - row[3]) for row in ROWS] + [("q 1", "d3", "bob", -1)],
        schema=list(NAMES),
        orient="row",
    )
    numbered.write_parquet(tmp_path / "x", metadata={"huggingface": json.dumps(FEATURES)})
    content = (tmp_path / "x").read_bytes()
    path.write_bytes(gzip.compress(content) if packed else content)
    with pytest.warns(DataWarning, match="grades are words: Not relevant = 0, Relevant = 1"):
        assert found(path) == TRUTH
    columns = "topic=query_id,doc=doc_id,assessor=annotator,grade=label"
    assert found(path, columns=columns) == TRUTH


@pytest.mark.parametrize("metadata", ["", "[]", '{"info": 1}', '{"info": {"features": [1]}}'])
def test_metadata_that_are_something_else(metadata: str, tmp_path: Path) -> None:
    frame = pl.DataFrame(ROWS, schema=list(NAMES), orient="row")
    frame.write_parquet(tmp_path / "a.parquet", metadata={"huggingface": metadata})
    assert found(tmp_path / "a.parquet") == TRUTH


PAIRS = {"query_id": ["q 1", "q 1"], "doc_id": ["d 2", "d/1"]}
NESTED: dict[str, tuple[dict[str, Any], str]] = {
    "wide": ({"ann": [1, 2], "bob": [None, 0]}, ""),
    "lists": (
        {"annotators": [["ann"], ["ann", "bob"]], "labels": [[1], [2, 0]]},
        "doc=doc_id,grade=labels[],topic=query_id,assessor=annotators[]",
    ),
    "objects in lists": (
        {
            "votes": [
                [{"annotator": "ann", "label": 1}],
                [{"annotator": "ann", "label": 2}, {"annotator": "bob", "label": 0}],
            ]
        },
        "doc=doc_id,grade=votes[].label,topic=query_id,assessor=votes[].annotator",
    ),
    "keys and values": (
        {
            "grades": [
                [{"key": "ann", "value": 1}],
                [{"key": "ann", "value": 2}, {"key": "bob", "value": 0}],
            ]
        },
        "doc=doc_id,grade=grades[].value,topic=query_id,assessor=grades[].key",
    ),
}


@pytest.mark.parametrize("name", NESTED)
def test_nested_parquet_by_the_columns_that_are_suggested(name: str, tmp_path: Path) -> None:
    more, columns = NESTED[name]
    pl.DataFrame({**PAIRS, **more}).write_parquet(tmp_path / "a.parquet")
    if columns:
        with pytest.raises(FormatError) as refused:
            found(tmp_path / "a.parquet")
        assert f"--columns '{columns}'" in str(refused.value)
    assert found(tmp_path / "a.parquet", **({"columns": columns} if columns else {})) == TRUTH


def test_maps_and_structs_of_pyarrow(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow", reason="writes the file")
    parquet = pytest.importorskip("pyarrow.parquet", reason="writes the file")
    maps = [[("ann", 1)], [("ann", 2), ("bob", 0)]]
    structs = [{"ann": 1, "bob": None}, {"ann": 2, "bob": 0}]
    columns = "topic=query_id,doc=doc_id,assessor=grades{key},grade=grades{}"
    for grades in (pa.array(maps, pa.map_(pa.string(), pa.int64())), pa.array(structs)):
        parquet.write_table(pa.table({**PAIRS, "grades": grades}), tmp_path / "a.parquet")
        with pytest.raises(FormatError, match=r"a\{key\} and a\{\} for each name of an object"):
            found(tmp_path / "a.parquet")
        assert found(tmp_path / "a.parquet", columns=columns) == TRUTH


def test_a_menu_that_potato_2_loses_in_parquet(tmp_path: Path) -> None:
    frame = pl.DataFrame({"instance_id": ["i1"], "user_id": ["ann"], "relevance": ["select-one"]})
    frame.write_parquet(tmp_path / "a.parquet")
    with pytest.raises(FormatError, match=r"lost what was said .* export the project as csv or"):
        q.read_judgements(tmp_path / "a.parquet", documents=tmp_path)


# --- other things that pandas and datasets write --------------------------------------------------


def test_a_frame_of_numbers_by_columns_is_no_table_of_topics(tmp_path: Path) -> None:
    ids = '"query_id":{"0":1,"1":1},"doc_id":{"0":5,"1":6},"worker":{"0":7,"1":8}'
    (tmp_path / "a.json").write_text(f'{{{ids},"label":{{"0":2,"1":0}}}}')
    assert found(tmp_path / "a.json") == ["1|5|7|2", "1|6|8|0"]
    rows = '{"0":{"query_id":1,"doc_id":5,"worker":7,"label":2}}'
    (tmp_path / "a.json").write_text(rows)
    assert found(tmp_path / "a.json") == ["1|5|7|2"]


@pytest.mark.parametrize(
    ("start", "words"),
    [
        (b"ARROW1\0\0", r"Feather.*\.to_parquet"),  # pandas 3.1.1, to_feather
        (b"\xff\xff\xff\xff\xd8\x01\0\0", r"save_to_disk.*\.to_parquet"),  # datasets 5.2.0
        (b"ORC\0\0", r"ORC; save it again: \.to_parquet"),  # pyarrow 26
        (b"\x80\x05\x95\0\0", r"a pickle.*\.to_parquet"),  # pandas 3.1.1, to_pickle
        (b'<table border="1" class="dataframe">\n', "HTML or XML, and no table; save it as CSV"),
        (b"<?xml version='1.0' encoding='utf-8'?>\n<data>\n", "HTML or XML"),
    ],
)
def test_forms_that_are_no_tables_here(start: bytes, words: str, tmp_path: Path) -> None:
    (tmp_path / "a.x").write_bytes(start)
    with pytest.raises(FormatError, match=words):
        q.read_judgements(tmp_path / "a.x")


def test_splits_and_parts_are_not_assessors(tmp_path: Path) -> None:
    """As beir 2.2.0 reads them from `qrels/`, and as datasets 5.2.0 pushes them."""
    for names in (
        ("train.tsv", "test.tsv"),
        ("test-00000-of-00002.tsv", "test-00001-of-00002.tsv"),
    ):
        folder = tmp_path / names[0]
        folder.mkdir()
        for at, name in enumerate(names):
            (folder / name).write_text(f"query-id\tcorpus-id\tscore\nq\td{at}\t1\n")
        assert kind_of_path(folder) == "qrels"
        gold = read_any(folder)
        assert isinstance(gold, q.Qrels)
        assert len(gold) == 2
        with pytest.warns(DataWarning, match="parts of a dataset are, not after assessors"):
            assert len(q.read_judgements(folder).assessors) == 1


def test_numbers_are_names_of_assessors(tmp_path: Path) -> None:
    for name in ("1.qrels", "2.qrels"):
        (tmp_path / name).write_text("t 0 d 1\n")
    assert list(q.read_judgements(tmp_path).assessors) == ["1", "2"]


def test_a_folder_of_folders(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As MTEB's datasets are: Parquet in the folders corpus, queries, default."""
    from qrowd.cli.main import main

    tables: dict[str, dict[str, list[Any]]] = {
        "corpus": {"_id": ["d"], "title": ["T"], "text": ["x"]},
        "queries": {"_id": ["q"], "text": ["y"]},
        "default": {"query-id": ["q"], "corpus-id": ["d"], "score": [1.0]},
    }
    for name, columns in tables.items():
        (tmp_path / name).mkdir()
        pl.DataFrame(columns).write_parquet(tmp_path / name / "test-00000-of-00001.parquet")
    with pytest.raises(
        FormatError, match="name one of the folders in it: corpus, default, queries"
    ):
        q.read_qrels(tmp_path)
    main(["check", str(tmp_path)])
    kinds = {line.split("\t")[1] for line in capsys.readouterr().out.splitlines()[1:]}
    assert kinds == {"documents", "topics", "qrels", "overlap"}


class ClassLabel:
    """As `datasets.ClassLabel`."""

    names = ("Highly relevant", "Relevant", "Not relevant")


def test_a_dataset_with_labels() -> None:
    class Dataset(list):  # type: ignore[type-arg]
        @property
        def features(self) -> dict[str, ClassLabel]:
            return {"label": ClassLabel()}

    Dataset.__module__ = "datasets.arrow_dataset"
    rows = Dataset(dict(zip(NAMES, (*row[:3], 2 - row[3]), strict=True)) for row in ROWS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        crowd = q.read_judgements(rows)
    kept = crowd.to_polars().select("topic", "doc", "assessor", "grade").rows()
    assert ["|".join(map(str, row)) for row in kept] == TRUTH


def test_a_real_dataset() -> None:
    datasets = pytest.importorskip("datasets", reason="makes the object")
    rows = datasets.Dataset.from_list([dict(zip(NAMES, row, strict=True)) for row in ROWS])
    labels = datasets.ClassLabel(names=["Not relevant", "Relevant", "Highly relevant"])
    for source in (rows, rows.cast_column("label", labels)):
        assert len(q.read_judgements(source)) == 3
