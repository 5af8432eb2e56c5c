"""Running the application: uvicorn's processes, and one process for background jobs."""

from __future__ import annotations

import multiprocessing
import os
import signal
import socket
import sys
import threading
from contextlib import suppress
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Self

import uvicorn
from fastapi import FastAPI
from uvicorn.supervisors import Multiprocess

from qrowd.collection.database.opening import open_store
from qrowd.web.app import make_app
from qrowd.web.settings import Settings

AGAIN_AFTER = 5.0  # seconds after which a process that has ended is missed
_VARIABLES = {"folder": "QROWD_FOLDER", "database": "QROWD_DATABASE", "address": "QROWD_ADDRESS"}


def serve(settings: Settings, host: str, port: int, processes: int = 1) -> None:
    """Serve until interrupted or terminated."""
    # uvicorn ends on SIGTERM, then raises it again: the process for jobs has to be ended, too
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    open_store(settings.database, new=True).close()  # made once, before anybody asks
    quiet = {"log_level": "warning", "access_log": False, "server_header": False}
    with JobsProcess(settings):
        if processes == 1:
            uvicorn.run(make_app(settings), host=host, port=port, **quiet)  # type: ignore[arg-type]
            return
        for field, variable in _VARIABLES.items():
            os.environ[variable] = str(getattr(settings, field))
        name = "qrowd.web.server:app_of_environment"
        config = uvicorn.Config(
            name,
            factory=True,
            workers=processes,
            host=host,
            port=port,
            **quiet,  # type: ignore[arg-type]
        )
        Multiprocess(config, sockets=[listening_socket(config)]).run()


def listening_socket(config: uvicorn.Config) -> socket.socket:
    """The socket of several processes; replies leave it at once.

    asyncio sees to that only for sockets that name TCP, which uvicorn's does not: every reply would
    take 40 ms longer.
    """
    listener = config.bind_socket()
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


def app_of_environment() -> FastAPI:
    """The application of one of several processes, which learn their settings this way."""
    folder, database, address = (os.environ[variable] for variable in _VARIABLES.values())
    return make_app(Settings.of_folder(Path(folder), database, address))


class JobsProcess:
    """The process for background jobs: started again whenever it ends, until the server does."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.over = threading.Event()
        self.keeper = threading.Thread(target=self._keep, name="jobs", daemon=True)

    def __enter__(self) -> Self:
        self._start()
        self.keeper.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.over.set()
        self.keeper.join()
        if self.process.is_alive():  # `set` waits for whoever waits: a dead process would for ever
            self.stop.set()
            self.process.join(10)
        if self.process.is_alive():
            self.process.terminate()

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.stop = context.Event()
        self.process = context.Process(
            target=_do_jobs, args=(self.settings, self.stop), daemon=True
        )
        self.process.start()

    def _keep(self) -> None:
        while not self.over.wait(AGAIN_AFTER):
            if not self.process.is_alive():
                with suppress(OSError):  # no memory, say: tried again
                    self._start()


def _do_jobs(settings: Settings, stop: Event) -> None:
    from qrowd.web.tasks import work_forever  # the whole library: only this process needs it

    work_forever(settings, stop)
