"""Every operation of the interface: made-up requests as each role, and who is refused."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from tests.web.serving import Server, make_server

from qrowd.collection.people import workers

schemathesis = pytest.importorskip("schemathesis", reason="schemathesis makes up the requests")

PATIENCE = 300  # seconds, on a busy machine
ROLES = ("worker", "expert", "organiser", "administrator", "nobody")
PUBLIC = {
    ("get", "/api/campaigns/{name}/about"),
    ("post", "/api/campaigns/{name}/enter"),
    ("post", "/api/set-up"),
    ("post", "/api/sign-in"),
    ("post", "/api/join"),
}


SERVER = ("/api/accounts", "/api/invitations", "/api/roles")


def headers_of(server: Server, role: str) -> dict[str, str]:
    """The headers of somebody in the role."""
    if role == "nobody":
        return {}
    if role == "administrator":
        return server.token("organiser", campaign_id=None)
    return server.worker("ann") if role == "worker" else server.token(role)


def operations(server: Server) -> list[tuple[str, str]]:
    """Every method and path."""
    paths = server.client.get("/api/openapi.json").json()["paths"]
    return [(method, path) for path, methods in paths.items() for method in methods]


def belongs_to(method: str, path: str) -> str:
    """Which role an operation is for."""
    if (method, path) in PUBLIC:
        return "all"
    if path in ("/api/me", "/api/password", "/api/sign-out") or (method, path) == (
        "get",
        "/api/campaigns",
    ):
        return "signed in"
    if (method, path) == ("post", "/api/campaigns") or path in SERVER:
        return "administrator"
    if "/judging/" in path:
        return "worker"
    for_organisers = ("/experts/error-rate", "/experts/all-decisions", "/experts/draw")
    return "expert" if "/experts/" in path and not path.endswith(for_organisers) else "organiser"


def ask(server: Server, method: str, path: str, name: str, headers: dict[str, str]) -> int:
    """The status of a request with an empty body, in a campaign."""
    filled = path.replace("{name}", name).replace("{kind}", "merge").replace("{file}", "a.b")
    filled = re.sub(r"\{(number|position)\}", "1", filled)
    filled = re.sub(r"\{\w+\}", "x", filled)
    body: Any = None if method == "get" else {}
    return server.client.request(method.upper(), filled, json=body, headers=headers).status_code


def test_every_operation_is_refused_where_it_must_be(server: Server) -> None:
    """As each role, and as a member of another campaign: 401, 403 or 404, never anything else."""
    found = operations(server)
    assert len(found) > 40
    for role in ROLES:
        headers = headers_of(server, role)
        allowed = {"all", role} | ({"signed in"} if role != "nobody" else set())
        allowed |= {"organiser"} if role == "administrator" else set()
        for method, path in found:
            if (method, path) == ("post", "/api/sign-out"):
                continue
            status = ask(server, method, path, "tiny", headers)
            if belongs_to(method, path) not in allowed:
                assert status in (401, 403), (role, method, path, status)
            else:
                by_secret = path.endswith(("/set-up", "/enter", "/join", "/sign-in"))
                assert status not in (401, 403) or by_secret, (role, method, path, status)
            assert status < 500, (role, method, path, status)
            if "{name}" in path and role not in ("nobody", "administrator"):
                other = ask(server, method, path, "other", headers)
                assert other in (403, 404) or (method, path) in PUBLIC, (role, method, path, other)


def values_of(server: Server, role: str) -> dict[str, Any]:
    """Names that exist, so that made-up requests reach something."""
    worker = server.site.work(workers.enter, "own", "ann").id
    offer = server.site.next(worker)
    return {
        "name": "tiny",
        "key": offer.sets[0].key,
        "position": 1,
        "number": 1,
        "kind": "merge",
        "file": "merged.qrels",
        "role": role,
    }


@pytest.mark.parametrize("role", ROLES)
def test_made_up_requests(role: str, tmp_path: Path) -> None:
    """No request, however odd, makes an error of the server, or one without the one shape."""
    with make_server(tmp_path) as server:
        headers = headers_of(server, role)
        values = values_of(server, role)
        reached: defaultdict[str, set[int]] = defaultdict(set)
        schema = schemathesis.openapi.from_asgi(
            "/api/openapi.json", server.client.app, timeout=PATIENCE
        )
        for result in schema.get_all_operations():
            operation = result.ok()
            _fuzz(operation, headers, values, reached)
        assert len(reached) > 40


def _fuzz(operation: Any, headers: dict[str, str], values: dict[str, Any], reached: Any) -> None:
    from hypothesis import HealthCheck, Phase, given, settings

    quiet = list(HealthCheck)

    @settings(
        max_examples=4,
        deadline=None,
        suppress_health_check=quiet,
        database=None,
        derandomize=True,
        phases=(Phase.generate,),
    )
    @given(case=operation.as_strategy())
    def check(case: Any) -> None:
        for name in case.path_parameters or {}:
            case.path_parameters[name] = values.get(name, "x")
        if "sign-out" in operation.path:
            return
        response = case.call(headers=headers, timeout=PATIENCE)
        reached[operation.label].add(response.status_code)
        case.validate_response(response, excluded_checks=_excluded())

    check()


def _excluded() -> list[Any]:
    """Checks that do not fit: a key that is reused is refused although it fits the schema."""
    from schemathesis.checks import not_a_server_error
    from schemathesis.specs.openapi import checks

    names = (
        "positive_data_acceptance",
        "negative_data_rejection",
        "ignored_auth",
        "unsupported_method",
        "missing_required_header",
        "use_after_free",
        "ensure_resource_availability",
    )
    found = [getattr(checks, name) for name in names if hasattr(checks, name)]
    assert not_a_server_error not in found
    return found
