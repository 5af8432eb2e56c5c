"""The log of a server: one line an event on stderr, as text or as JSON.

    _log = logging.getLogger(__name__)
    _log.info("job done", extra={"kind": "merge", "number": 7, "seconds": 1.2})

An event is a fixed phrase, its values are numbers and names that stand in the code: never what
somebody said or is called, no link, no token. Messages of errors may hold any of these, so that a
traceback has its frames and the types of its errors only; of what other libraries say, only the
place in their code is shown.
"""

from __future__ import annotations

import errno
import json
import logging
import re
import traceback
import warnings
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

MOST_FRAMES = 100  # of one error: the last ones
_log = logging.getLogger(__name__)
# what every record has, or gets by other formatters
_STANDARD = {*vars(logging.makeLogRecord({})), "message", "asctime"}
_BARE = re.compile(r'[^\s"=]+')


def set_up(level: str, form: str) -> None:
    """Log what is of this level or above, in this form; of other libraries warnings at most."""
    handler = logging.StreamHandler()
    handler.setFormatter(EventFormatter(form))
    least = logging.getLevelNamesMapping()[level.upper()]
    logging.raiseExceptions = False  # an event that cannot be written would be printed as it is
    logging.basicConfig(handlers=[handler], level=max(least, logging.WARNING), force=True)
    for name in ("qrowd", "uvicorn"):
        logging.getLogger(name).setLevel(least)
    warnings.showwarning = show_warning


def show_warning(
    message: object, category: type[Warning], filename: str, lineno: int, *_: Any, **__: Any
) -> None:
    """Python's warnings are events as well; their messages may name a file or a judge."""
    place = f"{filename}:{lineno}"
    _log.warning("python warning", extra={"type": category.__name__, "place": place})


class EventFormatter(logging.Formatter):
    """An event as a line of text, a traceback below it; or all of it as one JSON object."""

    def __init__(self, form: str) -> None:
        super().__init__()
        self.form = form

    def format(self, record: logging.LogRecord) -> str:
        """The event without what it must not say."""
        family = record.name.partition(".")[0]
        event = f"{record.pathname}:{record.lineno}"
        if family in ("qrowd", "uvicorn"):
            event = record.getMessage().partition("\n")[0]
        head = {
            "time": datetime.fromtimestamp(record.created, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "level": record.levelname,
            "logger": record.name,
            "event": event,
        }
        values = {}
        if family == "qrowd":
            values = {key: each for key, each in vars(record).items() if key not in _STANDARD}
        error = record.exc_info[1] if record.exc_info else None
        frames = list(frames_of(error)) if error else []
        if self.form == "json":
            return json.dumps({**head, **values, **({"traceback": frames} if frames else {})})
        pairs = (f"{key}={_quoted(str(each))}" for key, each in values.items())
        return "\n    ".join((" ".join((*head.values(), *pairs)), *frames))


def _quoted(text: str) -> str:
    return text if _BARE.fullmatch(text) else json.dumps(text)


def frames_of(error: BaseException, *after: BaseException) -> Iterator[str]:
    """A traceback without messages: what caused it first, `after` which it was reached."""
    chain = (*after, error)
    cause = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    if cause is not None and cause not in chain:
        yield from frames_of(cause, *chain)
    for inner in error.exceptions if isinstance(error, BaseExceptionGroup) else ():
        yield from frames_of(inner, *chain)
    for frame in traceback.extract_tb(error.__traceback__, -MOST_FRAMES):
        yield f"{frame.filename}:{frame.lineno} {frame.name}: {frame.line}"
    yield _type_of(error)


def cause_of(error: BaseException) -> str:
    """The type of the error that an error began with: for one line instead of a traceback."""
    while error.__cause__ is not None:
        error = error.__cause__
    return _type_of(error)


def _type_of(error: BaseException) -> str:
    # these have too many reasons for one type
    code = getattr(error, "sqlite_errorname", "") or errno.errorcode.get(
        getattr(error, "errno", 0), ""
    )
    return f"{type(error).__module__}.{type(error).__qualname__} {code}".rstrip()
