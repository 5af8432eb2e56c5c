"""What columns mean by their names: `qid` is a topic, `worker_id` an assessor."""

from __future__ import annotations

from collections.abc import Sequence

SYNONYMS = {
    "topic": (
        "topic topic_id topicid topic_no qid q_id query_id queryid request_id query request "
        "question"
    ),
    "doc": (
        "doc docno doc_id docid doc_no document_id documentid corpus_id corpusid passage_id "
        "passageid pid item_id itemid document passage item"
    ),
    "assessor": (
        "assessor assessor_id assessorid worker worker_id workerid annotator annotator_id "
        "annotatorid judge judge_id judgeid rater rater_id raterid labeler labeler_id labeller "
        "coder coder_id expert reviewer participant participant_id participantid prolific_pid "
        "person user user_id userid model model_id model_name llm"
    ),
    "grade": (
        "grade label rel relevance relevancy judgment judgement rating relevance_label "
        "relevance_grade vote answer"
    ),
    "seconds": (
        "seconds duration duration_seconds work_time worktime work_time_in_seconds "
        "worktimeinseconds elapsed"
    ),
    "time": (
        "time timestamp datetime created created_at submitted submitted_at submit_time submittime"
    ),
    "weight": "weight",
    "kind": "kind assessor_kind",
    "run": "run run_id runid tag system system_id",
    "human_low": "human_low",
    "score": "score sim similarity",
    "rank": "rank",
    "place": "place rank",
    "set": "set set_id",
    "better": "better preferred winner",
    "worse": "worse loser",
    "tied": "tied tie",
    "left": "left model_a doc_a option_a",
    "right": "right model_b doc_b option_b",
    "won": "won winner label preferred",
    "chosen": "chosen selected is_best",
    "rest": "rest",
    "measure": "measure metric",
    "value": "value",
    "draw": "draw",
    "given": "given",
    "gold_hash": "gold_hash",
    "nominated_by": "nominated_by",
    "probability": "probability",
    "by": "by",
    "worth": "worth",
    "goal": "goal",
    "sentence": "sentence sentence_id sentence_no",
    "bucket": "bucket",
    "subtopic": "subtopic subtopic_id iteration intent",
    "topic_text": "topic_text",
    "doc_text": "doc_text",
    "instance": "instance",
}
_TEXTS = frozenset(["query", "request", "question", "document", "passage", "item"])
_TASK = ("task", "task_id", "taskid", "hit", "hit_id", "hitid", "unit", "unit_id")


def plain_name(name: str) -> str:
    """A column's name in small letters, with _ for blanks, hyphens and dots."""
    return name.strip().lower().translate(str.maketrans(" -.", "___"))


def recognised(names: Sequence[str], wanted: Sequence[str]) -> dict[str, str]:
    """Which of a header's names mean which of the wanted columns: {wanted: name}."""
    columns = {role: likeliest for role, (likeliest, *_) in candidates(names, wanted).items()}
    plain = {plain_name(name): name for name in names}
    lacking = [role for role in wanted if role not in columns]
    task = next((plain[name] for name in _TASK if name in plain), None)
    if task and "doc" in lacking:
        columns["doc"] = task
    elif task and "topic" in lacking:
        columns["topic"] = task
    if "grade" in lacking and "score" in plain and "score" not in wanted:
        columns["grade"] = plain["score"]  # BEIR's qrels call it so
    return columns


def candidates(names: Sequence[str], wanted: Sequence[str]) -> dict[str, list[str]]:
    """All names of a header that may mean a wanted column, the likeliest first.

    Where there is a column of ids, one that may hold texts (`query` beside `query_id`) is none.
    """
    plain = {plain_name(name): name for name in names}
    columns = {}
    for role in wanted:
        matches = [word for word in SYNONYMS[role].split() if word in plain]
        ids = [word for word in matches if word not in _TEXTS]
        if len(ids) > 1 and ids[0] == "doc":
            ids = ids[1:]  # beside an id it is the text
        if "docno" in ids and "docid" in ids:
            ids.remove("docid")  # PyTerrier's own number of what TREC calls docno
        if matches:
            columns[role] = [plain[word] for word in ids or matches]
    return columns


def is_header(fields: Sequence[str]) -> bool:
    """Whether these name columns: two known names, or one and no number."""
    columns = len(recognised(fields, tuple(SYNONYMS)))
    return columns >= 2 or (columns == 1 and not any(is_number(field) for field in fields))


def is_number(field: str) -> bool:
    """Whether this is a number."""
    try:
        float(field)
    except ValueError:
        return False
    return True
