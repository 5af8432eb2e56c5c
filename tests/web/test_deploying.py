"""The files of the page on running a server, as they stand there: nginx, the backup, the units."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import ssl
import subprocess
import sys
import tarfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.web.test_stopping import free_port, started, wait_for

from qrowd.collection.database import verification
from qrowd.collection.database.opening import open_store
from qrowd.web import accounts
from qrowd.web.settings import MONITORING_VARIABLE, Settings
from qrowd.web.trial import make_trial

if TYPE_CHECKING:
    import httpx
else:
    httpx = pytest.importorskip("httpx")
PAGE = Path(__file__).parents[2] / "docs" / "reference" / "server.md"
LOGIN, PASSWORD, TOKEN = "zwetschgenbaum", "a long password", "a-monitoring-token-2718281828"


def file_of(name: str) -> str:
    """A file that the page shows; its name is in the first lines."""
    for block in re.findall(r"^```\w+\n(.*?)^```", PAGE.read_text(), re.DOTALL | re.MULTILINE):
        if any(line.startswith(f"# {name}") for line in block.splitlines()[:2]):
            return str(block)
    raise AssertionError(name)


# --- behind nginx ---------------------------------------------------------------------------------


@dataclass
class Site:
    """A server behind nginx, and the logs of both."""

    address: str
    plain: str  # without TLS
    behind: str  # past the proxy
    bare: str  # through a proxy that adds no header
    link: str
    folder: Path
    process: subprocess.Popen[str]

    def client(self, host: str = "127.0.0.1") -> httpx.Client:
        """Somebody's browser, at an address of this machine."""
        trusting = ssl.create_default_context()
        trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
        transport = httpx.HTTPTransport(verify=trusting, local_address=host)
        return httpx.Client(base_url=self.address, transport=transport, timeout=60)

    def logs(self) -> str:
        """Everything that was logged; the server has ended."""
        assert self.process.stderr is not None
        files = [path.read_text() for path in (self.folder / "log").iterdir()]
        return "".join([*files, self.process.stderr.read()])


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    nginx, openssl = shutil.which("nginx") or "/usr/sbin/nginx", shutil.which("openssl")
    if not Path(nginx).exists() or openssl is None:
        pytest.skip("no nginx, or no openssl")
    monkeypatch.setenv(MONITORING_VARIABLE, TOKEN)
    port, plain, behind, bare = (free_port() for _ in range(4))
    address = f"https://127.0.0.1:{port}"
    settings = Settings.of_folder(tmp_path / "data", "", address)
    link = make_trial(settings)
    with open_store(settings.database) as store, store.transaction() as db:
        accounts.new_account(db, store.clock(), LOGIN, PASSWORD, administrator=True)
    for name in ("certs", "private", "log"):
        (tmp_path / name).mkdir()
    made = re.search(r"^openssl .*?(?=^nginx)", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    assert made
    subprocess.run(made[0].replace("/etc/ssl", str(tmp_path)), shell=True, check=True)
    file = file_of("/etc/nginx/conf.d/qrowd.conf")
    for old, new in {
        "listen 80": f"listen 127.0.0.1:{plain}",
        "listen 443": f"listen 127.0.0.1:{port}",
        "127.0.0.1:8000": f"127.0.0.1:{behind}",
        "/etc/ssl": str(tmp_path),
        "/var/log/nginx": str(tmp_path / "log"),
    }.items():
        assert old in file
        file = file.replace(old, new)
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    temporary = "".join(f"{kind}_temp_path {tmp_path}/{kind};" for kind in kinds)
    user = "user root;" if os.getuid() == 0 else ""
    file += (
        f"server {{ listen 127.0.0.1:{bare}; access_log off;"
        f"location / {{ proxy_pass http://127.0.0.1:{behind}; }} }}"
    )
    (tmp_path / "nginx.conf").write_text(
        f"daemon off; {user} pid {tmp_path}/pid; error_log {tmp_path}/log/main crit;"
        f"events {{}} http {{ {temporary}\n{file} }}"
    )
    command = [nginx, "-e", f"{tmp_path}/log/start", "-c", f"{tmp_path}/nginx.conf"]
    options = ("--port", str(behind), "--address", address, "--proxy", "127.0.0.1")
    with started(str(tmp_path / "data"), *options) as process, subprocess.Popen(command) as proxy:
        wait_for(process, "Application startup complete.")
        here = "http://127.0.0.1"
        others = f"{here}:{plain}", f"{here}:{behind}", f"{here}:{bare}"
        made_site = Site(address, *others, link, tmp_path, process)
        try:
            for _ in range(600):
                with contextlib.suppress(httpx.TransportError), made_site.client() as client:
                    client.get("/health")
                    break
                time.sleep(0.1)
            yield made_site
        finally:
            proxy.terminate()
            process.terminate()


def test_a_server_behind_nginx(site: Site) -> None:
    secrets = {LOGIN, PASSWORD, TOKEN, site.link.partition("link=")[2]}
    page = site.link.removeprefix(site.address)
    moved = httpx.get(site.plain + page)
    assert (moved.status_code, moved.headers["location"][:8]) == (301, "https://")
    with site.client() as organiser:
        form = {"login": LOGIN, "password": PASSWORD}
        signed_in = organiser.post("/sign-in", data=form, headers={"Origin": site.address})
        assert signed_in.status_code == 303
        assert "Secure" in signed_in.headers["set-cookie"]
        assert organiser.get("/accounts").status_code == 200
        secrets |= set(organiser.cookies.values())
        foreign = organiser.post("/sign-in", data=form, headers={"Origin": "https://evil.example"})
        assert foreign.status_code == 403
    with site.client() as worker:
        assert worker.get(page).status_code == 200
        entry = {"link": site.link.partition("link=")[2]}
        entered = worker.post("/api/campaigns/try/enter", json=entry)
        secrets.add(entered.json()["token"])
        headers = {"Authorization": f"Bearer {entered.json()['token']}"}
        batch = worker.post("/api/campaigns/try/judging/next", headers=headers)
        assert batch.status_code == 200
        ticket = worker.get(f"/reset?link={TOKEN}")  # a wrong link is no less private
        assert ticket.status_code == 403
    # strangers learn little, also those who say that they come from here
    for headers in ({}, {"X-Forwarded-For": "127.0.0.1"}, {"Host": "localhost"}):
        with site.client() as stranger:
            assert stranger.get("/health", headers=headers).json() == {"live": True}
            assert stranger.get("/metrics", headers=headers).status_code == 401
            watcher = {"Authorization": f"Bearer {TOKEN}", **headers}
            assert stranger.get("/metrics", headers=watcher).status_code == 200
    assert httpx.get(f"{site.behind}/health").json()["ready"]
    assert httpx.get(f"{site.bare}/health").json() == {"live": True}
    assert httpx.get(f"{site.bare}/metrics").status_code == 401
    # tries are counted by the visitor's address, which nobody can choose
    guess = {"code": "no", "login": "eve", "password": PASSWORD}
    with site.client("127.0.0.2") as guessing, site.client("127.0.0.3") as other:
        seen = {
            guessing.post(
                "/api/set-up", json=guess, headers={"X-Forwarded-For": f"203.0.113.{at}"}
            ).status_code
            for at in range(30)
        }
        assert 429 in seen
        assert other.post("/api/set-up", json=guess).status_code != 429
    # what nginx says when the server is away quotes no address, either
    site.process.terminate()
    site.process.wait()
    with site.client() as worker:
        assert worker.get(page).status_code == 502
    logs = site.logs()
    assert [secret for secret in secrets if secret in logs] == []
    assert logs.count(" 502 ") == 1
    assert "POST /sign-in" not in logs


# --- backups --------------------------------------------------------------------------------------


def test_the_backup_script_and_its_restore(tmp_path: Path) -> None:
    data, kept, again = (tmp_path / name for name in ("data", "backups", "again"))
    settings = Settings.of_folder(data)
    make_trial(settings)
    (data / "drafts").mkdir()
    (data / "drafts" / "one").write_text("a draft")
    (tmp_path / "bin").mkdir()
    kept.mkdir()
    program = tmp_path / "bin" / "qrowd"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m qrowd "$@"\n')
    tar = tmp_path / "bin" / "tar"  # it says that a file was renamed before it was read
    tar.write_text(f'#!/bin/sh\n{shutil.which("tar")} "$@"\nexit 1\n')
    for each in (program, tar):
        each.chmod(0o755)
    path = f"{tmp_path}/bin:{os.environ['PATH']}"
    script = file_of("/usr/local/bin/qrowd-backup")
    names = {"/usr/local/lib/qrowd": tmp_path, "/var/lib/qrowd": data, "/var/backups/qrowd": kept}
    for old, new in names.items():
        assert old in script
        script = script.replace(old, str(new))
    for at in range(16):  # older ones, of which some have to go
        for suffix in (".db", ".tar.gz"):
            earlier = kept / f"2020-01-{at + 1:02}{suffix}"
            earlier.write_text("old")
            os.utime(earlier, (at, at))
    subprocess.run(["sh", "-c", script], check=True, env={**os.environ, "PATH": path})
    databases, archives = sorted(kept.glob("*.db")), sorted(kept.glob("*.tar.gz"))
    assert (len(databases), len(archives)) == (14, 14)
    assert (databases[-1].stat().st_mode & 0o777, archives[-1].stat().st_mode & 0o777) == (
        0o600,
        0o600,
    )
    # as the page restores it
    again.mkdir()
    restored = str(again / "qrowd.db")
    command = [str(program), "campaign", "restore", str(databases[-1]), "-o", restored]
    subprocess.run(command, check=True)
    with tarfile.open(archives[-1]) as archive:
        archive.extractall(again, filter="data")
    assert (again / "drafts" / "one").read_text() == "a draft"
    assert (again / "secret.key").read_text() == (data / "secret.key").read_text()
    with open_store(again / "qrowd.db") as store, store.read("try") as work:
        assert (work.state, verification.broken(work)) == ("running", [])


# --- units ----------------------------------------------------------------------------------------


def test_units_are_valid(tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("no systemd-analyze")
    for name in ("qrowd.service", "qrowd-backup.service", "qrowd-backup.timer"):
        text = file_of(f"/etc/systemd/system/{name}")
        # the programs that they start are not installed here, nor is the user made
        text = re.sub(r"^ExecStart=\S+", "ExecStart=/bin/true", text, flags=re.MULTILINE)
        (tmp_path / name).write_text(text.replace("User=qrowd", "User=root"))
    paths = [str(path) for path in sorted(tmp_path.iterdir())]
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", *paths], capture_output=True, text=True
    )
    ours = [line for line in done.stderr.splitlines() if "qrowd" in line]
    assert (done.returncode, ours) == (0, [])
