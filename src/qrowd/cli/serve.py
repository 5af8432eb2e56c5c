"""`qrowd serve`: the web application."""

from __future__ import annotations

from importlib.util import find_spec

import click

from qrowd.errors import MissingExtraError, UsageError


@click.command()
@click.argument("place", default="campaigns", required=False)
@click.option(
    "--database",
    metavar="URL",
    default="",
    help="A database elsewhere: postgresql://...; without it, PLACE/qrowd.db.",
)
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option("--port", default=8000, show_default=True, type=click.IntRange(1, 65535),
              help="The port to listen on.")  # fmt: skip
@click.option(
    "--address",
    metavar="URL",
    default="",
    help="The public address of this server, if it is behind a proxy.",
)
@click.option("--processes", default=1, show_default=True, type=click.IntRange(1, 64),
              help="How many processes answer requests.")  # fmt: skip
def command(place: str, database: str, host: str, port: int, address: str, processes: int) -> None:
    """Run the web application on the campaigns in PLACE: a folder, or a database file.

    A folder is made if it is not there; its database is PLACE/qrowd.db. Prints where to go; the
    first time, a link to make the first account. Background jobs run in a process of their own.
    The server's secret is in QROWD_SECRET, or in secret.key beside the database.

    \b
    Examples:
      qrowd serve --help
    """
    if find_spec("fastapi") is None or find_spec("uvicorn") is None:
        raise MissingExtraError.needed("the web application", "serve")
    from pathlib import Path

    from qrowd.web.server import serve
    from qrowd.web.settings import Settings

    if not _free(host, port):
        raise UsageError(f"port {port} of {host} is in use; choose another with --port")
    folder = Path(place)
    if folder.is_file():
        folder, database = folder.resolve().parent, database or str(folder)
    settings = Settings.of_folder(folder, database, address or f"http://{host}:{port}")
    _welcome(settings)
    serve(settings, host, port, processes)


def _free(host: str, port: int) -> bool:
    import socket

    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
    return True


def _welcome(settings: object) -> None:
    """Where to go, and how to make the first account."""
    from qrowd.collection.store import open_store
    from qrowd.web.passwords import no_account_yet
    from qrowd.web.settings import Settings, set_up_code

    assert isinstance(settings, Settings)
    store = open_store(settings.database, new=True)
    with store.snapshot() as db:
        first = no_account_yet(db)
    store.engine.dispose()
    click.echo(f"qrowd: serving {settings.folder} at {settings.address}", err=True)
    if first:
        code = set_up_code(settings)
        click.echo(
            f"qrowd: make the first account: {settings.address}/set-up?code={code}", err=True
        )
