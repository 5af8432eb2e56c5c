"""Running the application: uvicorn's processes, and one process for background jobs."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fastapi import FastAPI

from qrowd.collection.store import open_store
from qrowd.web.app import make_app
from qrowd.web.jobs import work_forever
from qrowd.web.settings import Settings

_VARIABLES = {"folder": "QROWD_FOLDER", "database": "QROWD_DATABASE", "address": "QROWD_ADDRESS"}


def serve(settings: Settings, host: str, port: int, processes: int = 1) -> None:
    """Serve until interrupted or terminated."""
    import uvicorn

    # uvicorn ends on SIGTERM, then raises it again: the process for jobs has to be ended, too
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    open_store(settings.database, new=True).engine.dispose()  # made once, before anybody asks
    quiet = {"log_level": "warning", "access_log": False, "server_header": False}
    with _jobs(settings):
        if processes == 1:
            uvicorn.run(make_app(settings), host=host, port=port, **quiet)  # type: ignore[arg-type]
            return
        for field, variable in _VARIABLES.items():
            os.environ[variable] = str(getattr(settings, field))
        name = "qrowd.web.server:app_of_environment"
        uvicorn.run(name, factory=True, workers=processes, host=host, port=port, **quiet)  # type: ignore[arg-type]


def app_of_environment() -> FastAPI:
    """The application of one of several processes, which learn their settings this way."""
    given = {field: os.environ[variable] for field, variable in _VARIABLES.items()}
    folder = Path(given["folder"])
    return make_app(Settings.of_folder(folder, given["database"], given["address"]))


@contextmanager
def _jobs(settings: Settings) -> Iterator[None]:
    """The process for background jobs, ended with the server."""
    context = multiprocessing.get_context("spawn")
    stop = context.Event()
    process = context.Process(target=work_forever, args=(settings, stop), daemon=True)
    process.start()
    try:
        yield
    finally:
        stop.set()
        process.join(10)
        if process.is_alive():
            process.terminate()
