"""How the server is: `/health` tells everybody that it lives, and whoever watches it the rest;
`/metrics` has figures in the text form that Prometheus reads.

Whoever watches it is on the same machine, or sends the monitoring token (`QROWD_MONITORING_TOKEN`).
Figures hold no names: requests are counted by the template of their address.
"""

from __future__ import annotations

import hmac
import ipaddress
import mmap
import os
import shutil
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse, PlainTextResponse

import qrowd
from qrowd.collection.books.gauges import Gauge, gauges
from qrowd.collection.database import opening
from qrowd.collection.database.store import Store
from qrowd.errors import QrowdError, RuleError
from qrowd.web.access import TheSettings, TheStore, header_token, settings_of
from qrowd.web.settings import Settings

router = APIRouter(include_in_schema=False)
OTHER = "other"  # a request that fits no route
BOUNDS = (0.025, 0.1, 0.25, 1.0, 5.0)  # seconds: of a page that is quick, good, slow, ...
STATUSES = ("none", "1xx", "2xx", "3xx", "4xx", "5xx")
WIDTH = len(STATUSES) + len(BOUNDS) + 2  # cells of a route: the last two are inf and all seconds
LEAST_FREE = 100 * 2**20  # bytes of a disk; with less, answers may soon not be stored
#: a request that has one of these came through a proxy
FORWARDED = ("forwarded", "via", "x-forwarded-for", "x-real-ip")


class RequestCounts:
    """How many requests each route had, and how long they took.

    Each process of a server counts in a file of its own, in a `folder` that they share: whichever
    of them is asked adds all of these up, also those of processes that have ended. Cells are
    written to memory alone; only the thread of the event loop counts.
    """

    def __init__(self, routes: Iterable[str], folder: str = "") -> None:
        self.routes = [*routes, OTHER]
        self.starts = {route: at * WIDTH for at, route in enumerate(self.routes)}
        self.folder = Path(folder) if folder else None
        size = 8 * WIDTH * len(self.routes)
        space: Any = bytearray(size)
        if self.folder is not None:
            with (self.folder / str(os.getpid())).open("w+b") as file:
                file.truncate(size)
                space = mmap.mmap(file.fileno(), size)
        self.cells = memoryview(space).cast("d")

    def add(self, route: str, status: int, seconds: float) -> None:
        """Count a request; status 0 had no reply."""
        start = self.starts.get(route, self.starts[OTHER])
        self.cells[start + status // 100] += 1
        self.cells[start + len(STATUSES) + bisect_left(BOUNDS, seconds)] += 1
        self.cells[start + WIDTH - 1] += seconds

    def families(self) -> list[Gauge]:
        """Requests by route and status, and the histogram of their seconds."""
        cells = self._sums()
        requests, seconds = dict[tuple[str, ...], float](), dict[tuple[str, ...], float]()
        for route, start in self.starts.items():
            row = cells[start : start + WIDTH]
            by_status, buckets = row[: len(STATUSES)], row[len(STATUSES) : -1]
            if not any(by_status):
                continue
            requests |= {(route, name): n for name, n in zip(STATUSES, by_status, strict=True) if n}
            below = 0.0
            for bound, n in zip((*map(str, BOUNDS), "+Inf"), buckets, strict=True):
                below += n
                seconds["_bucket", route, bound] = below
            seconds["_sum", route], seconds["_count", route] = row[-1], below
        return [
            Gauge("requests_total", "Requests.", ("route", "status"), requests, "counter"),
            Gauge(
                "request_seconds",
                "Seconds from a request to the end of its reply.",
                ("route", "le"),
                seconds,
                "histogram",
            ),
        ]

    def _sums(self) -> list[float]:
        if self.folder is None:
            return list(self.cells)
        sums = [0.0] * len(self.cells)
        for path in self.folder.iterdir():
            values = array("d", path.read_bytes())
            if len(values) == len(sums):  # else it is just being made
                sums = [a + b for a, b in zip(sums, values, strict=True)]
        return sums


def text_form(families: Iterable[Gauge]) -> str:
    """Figures in the text form of Prometheus; a histogram's first value is the end of its name."""
    return "".join(f"{line}\n" for family in families for line in _lines(family))


def _lines(family: Gauge) -> Iterator[str]:
    name = f"qrowd_{family.name}"
    yield f"# HELP {name} {family.help}"
    yield f"# TYPE {name} {family.kind}"
    for values, number in family.of.items():
        end, values = (values[0], values[1:]) if family.kind == "histogram" else ("", values)
        pairs = zip(family.labels, values, strict=False)  # sums and counts have no bound
        labels = ",".join(f'{label}="{_escaped(value)}"' for label, value in pairs)
        yield f"{name}{end}{{{labels}}} {number:.17g}" if labels else f"{name}{end} {number:.17g}"


def _escaped(value: str) -> str:
    return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


# --- who may know ---------------------------------------------------------------------------------


def watches(request: Request) -> bool:
    """Whether whoever asks is on this machine, or has the monitoring token."""
    wanted, sent = settings_of(request).monitoring_token, header_token(request)
    if sent is not None:
        return bool(wanted) and hmac.compare_digest(sent.encode(), wanted.encode())
    return is_local(request)


def is_local(request: Request) -> bool:
    """Whether a request comes from this machine and through no proxy, which would be on it, too.

    A proxy that adds no header is known where it speaks HTTP/1.0, as nginx does by default; whoever
    watches speaks 1.1.
    """
    try:
        near = ipaddress.ip_address(request.client.host if request.client else "").is_loopback
    except ValueError:
        return False
    asked = request.url.hostname in ("localhost", "127.0.0.1", "::1")
    passed_on = any(name in request.headers for name in FORWARDED)
    return near and asked and not passed_on and request.scope["http_version"] != "1.0"


# --- routes ---------------------------------------------------------------------------------------


@router.get("/health")
def health(request: Request, store: TheStore, settings: TheSettings) -> Response:
    """That the server lives; whoever watches it learns whether it can work, too."""
    if not watches(request):
        return JSONResponse({"live": True})
    schema, problem = "", ""
    try:
        schema = opening.version(store)
    except QrowdError as error:
        problem = str(error)
    free = free_disk(store, settings)
    if not problem and schema != opening.newest_version():
        problem = "the database has another schema; run `qrowd campaign upgrade` on it"
    if not problem and free < LEAST_FREE:
        problem = f"the disk has {free // 2**20} MB left; make room"
    told = {
        "live": True,
        "ready": not problem,
        "problem": problem,
        "version": qrowd.__version__,
        "schema": schema,
        "free_disk": free,
    }
    return JSONResponse(told, 503 if problem else 200)


@router.get("/metrics")
def metrics(request: Request, store: TheStore, settings: TheSettings) -> Response:
    """Requests of all processes of this server; jobs, leases, answers and rules of its database."""
    if not watches(request):
        message = "figures are for this machine and for whoever has the monitoring token"
        raise RuleError("no-sign-in", message)
    free = float(free_disk(store, settings))
    server = [
        Gauge("info", "The version of qrowd.", ("version",), {(qrowd.__version__,): 1.0}),
        Gauge("disk_free_bytes", "Room on the disk of the data.", (), {(): free}),
    ]
    with store.snapshot() as db:
        told = gauges(db, store.clock())
    counts: RequestCounts = request.app.state.counts
    text = text_form([*server, *counts.families(), *told])
    return PlainTextResponse(text, media_type="text/plain; version=0.0.4")


def free_disk(store: Store, settings: Settings) -> int:
    """Bytes that are free where the data are: the least, if that is on several disks."""
    folders = [settings.folder, *([Path(store.shown).parent] if store.is_sqlite else [])]
    return min(shutil.disk_usage(folder).free for folder in folders)
