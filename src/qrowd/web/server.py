"""Running the application: uvicorn's processes, and one process for background jobs.

Only a process that answers requests imports the application: the one that looks after several of
them, and the one for jobs, have no use for it, nor for the 40 MB that it takes.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Self

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.supervisors import Multiprocess

from qrowd.collection.database.opening import open_store
from qrowd.web import logs
from qrowd.web.settings import Settings

if TYPE_CHECKING:
    from fastapi import FastAPI

HEADER_SECONDS = 30.0  # a request's headers come within these, or twice as many
START_SECONDS = 60  # uvicorn's 5 are too few on a busy machine: it would end each before it began
AGAIN_AFTER = 5.0  # seconds after which a process that has ended is missed
# seconds that stopping waits: for requests, for the job under way, for a job that is given back
LAST_REQUESTS, LAST_JOB, LAST_WORDS = 30, 60, 5
# settings that several processes learn from the environment: QROWD_FOLDER, ...
_SHARED = ("folder", "database", "address", "log_level", "log_format", "mail")
_log = logging.getLogger(__name__)


def serve(
    settings: Settings, host: str, port: int, processes: int = 1, proxies: Sequence[str] = ()
) -> None:
    """Serve until interrupted or terminated; then finish requests and the job under way.

    `proxies` are the addresses whose word is taken on whom a request comes from, and by https.
    """
    logs.set_up(settings.log_level, settings.log_format)
    ending = Ending()

    def end(*_: object) -> None:
        ending.asked = True
        sys.exit(0)

    # uvicorn ends on SIGTERM, then raises it again: the process for jobs has to be ended, too
    signal.signal(signal.SIGTERM, end)
    open_store(settings.database, new=True).close()  # made once, before anybody asks
    # what uvicorn logs of requests, and of sockets that stay open, has their whole addresses
    quiet = {"log_config": None, "access_log": False, "ws": "none", "server_header": False}
    options: dict[str, Any] = {
        "host": host,
        "port": port,
        "http": PatientProtocol,
        "proxy_headers": bool(proxies),
        "forwarded_allow_ips": list(proxies),
        "timeout_graceful_shutdown": LAST_REQUESTS,
        **quiet,
    }
    with JobsProcess(settings), TemporaryDirectory(prefix="qrowd-counts-") as counts:
        if processes == 1:
            from qrowd.web.app import make_app

            app = make_app(settings)
            # an exit is lost that is raised in a callback of a weak reference, while starting
            if not ending.asked:
                uvicorn.run(app, **options)
            return
        for field in _SHARED:
            os.environ[f"QROWD_{field.upper()}"] = str(getattr(settings, field))
        os.environ["QROWD_COUNTS"] = counts
        name = "qrowd.web.server:app_of_environment"
        config = uvicorn.Config(
            name,
            factory=True,
            workers=processes,
            timeout_worker_healthcheck=START_SECONDS,
            **options,
        )
        if not ending.asked:
            Multiprocess(config, sockets=[listening_socket(config)]).run()


class PatientProtocol(H11Protocol):
    """A connection that is closed when no request comes whole: uvicorn would wait for ever for the
    end of a request's headers (and, once it has replied, of its body).
    """

    def connection_made(self, transport: Any) -> None:
        """Look after it from now on."""
        super().connection_made(transport)
        self._look_again(None)

    def _look_again(self, seen: object) -> None:
        self.loop.call_later(HEADER_SECONDS, self._look, seen)

    def _look(self, seen: object) -> None:
        """Close it if nothing was answered since the last look and nothing is being answered."""
        if self.transport.is_closing():
            return
        waits = self.cycle is None or self.cycle.response_complete
        if waits and self.cycle is seen:
            self.transport.close()
        else:
            self._look_again(self.cycle)


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
    from qrowd.web.app import make_app

    folder, *others = (os.environ[f"QROWD_{field.upper()}"] for field in _SHARED)
    settings = Settings.of_folder(Path(folder), *others)
    logs.set_up(settings.log_level, settings.log_format)
    return make_app(replace(settings, counts=os.environ["QROWD_COUNTS"]))


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
        # it finishes its job when it is asked once to end, and gives the job back at a second time
        for patience in (LAST_JOB, LAST_WORDS):
            self.process.terminate()
            self.process.join(patience)
        self.process.kill()

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.process = context.Process(target=_do_jobs, args=(self.settings,), daemon=True)
        self.process.start()

    def _keep(self) -> None:
        while not self.over.wait(AGAIN_AFTER):
            if self.process.is_alive():
                continue
            _log.warning("jobs process ended", extra={"exit": self.process.exitcode})
            try:
                self._start()
            except Exception:  # no memory, say: tried again
                _log.warning("jobs process did not start", exc_info=True)
            else:
                _log.warning("jobs process started again")


class Ending:
    """Whether a process was asked to end, by SIGTERM; when it is asked again, it does at once.

    A handler that set an Event might wait for ever: for the code that it interrupts.
    """

    def __init__(self) -> None:
        self.asked = False

    def is_set(self) -> bool:
        """Whether it was."""
        return self.asked

    def wait(self, seconds: float) -> None:
        """Sleep so long, or until it is asked."""
        until = time.monotonic() + seconds
        while not self.asked and time.monotonic() < until:
            time.sleep(min(0.2, seconds))

    def ask(self, *_: object) -> None:
        """The handler of the signal."""
        if self.asked:
            sys.exit(0)
        self.asked = True


def _do_jobs(settings: Settings) -> None:
    ending = Ending()
    signal.signal(signal.SIGTERM, ending.ask)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of a terminal: the server says when to end
    logs.set_up(settings.log_level, settings.log_format)
    try:
        from qrowd.web.tasks import work_forever  # the whole library: only this process needs it

        work_forever(settings, ending)
    except Exception:  # its message would be printed otherwise
        _log.error("jobs process failed", exc_info=True)
        sys.exit(1)
