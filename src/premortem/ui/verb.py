"""`premortem ui`: which folder, which port, and the address with its token."""

import argparse
import secrets
import socket
import sys
from contextlib import suppress
from pathlib import Path

from premortem.errors import MissingExtra, UsageError
from premortem.journal import schema
from premortem.journal.folders import HOME
from premortem.shelf.reader import Shelf, is_shelf
from premortem.ui.runs import Runs


def run(options: argparse.Namespace) -> int:
    given = list(dict.fromkeys([*options.folders, *options.folder]))
    shelves = [Shelf(each) for each in given if is_shelf(each)]
    folders = [folder_of(Path(each)) for each in given if not is_shelf(each)] or (
        [] if shelves else [folder_of(None)]
    )
    for shelf in shelves:
        shelf.follow()
    try:
        import uvicorn

        from premortem.ui import app
        from premortem.ui.gate import Gate

        pages = app.make(Runs(*dict.fromkeys(folders), shelves=shelves), lambda: server.should_exit)
    except ModuleNotFoundError as error:
        raise MissingExtra("`premortem ui`", "ui") from error
    listening = listen(options.port)
    port = listening.getsockname()[1]
    token = secrets.token_urlsafe(24)
    server = uvicorn.Server(
        uvicorn.Config(
            Gate(pages, token=token, port=port),
            log_level="warning",
            access_log=False,
            server_header=False,
            lifespan="off",
            ws="none",
            timeout_graceful_shutdown=2,  # a page that listens does not keep us
        )
    )
    sys.stdout.write(f"http://127.0.0.1:{port}/?token={token}\n")
    sys.stdout.flush()
    sys.stderr.write(
        f"runs of {', '.join(map(str, [*folders, *shelves]))}; only this machine can open it, and only with the token. Ctrl-C ends it.\n"
    )
    with listening, suppress(KeyboardInterrupt):
        server.run(sockets=[listening])
    return 0


def folder_of(given: Path | None) -> Path:
    """Runs need not be there yet, where they are made by default."""
    if given is None:
        return Path.cwd() / HOME / "runs"
    if not given.is_dir():
        raise UsageError(f"there is no folder `{given}`; give one that holds runs, or a project with {HOME}")
    homes = (given / "runs", given / HOME / "runs")
    holds = any(given.glob(f"*/{schema.FILE}")) or (given / schema.FILE).is_file()
    return given if holds else next((home for home in homes if home.is_dir()), given)


def listen(port: int) -> socket.socket:
    """On this machine alone, whatever its network is."""
    made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind(("127.0.0.1", port))
        made.listen()  # a browser that opens the address at once waits, and is not refused
    except (OSError, OverflowError) as error:
        made.close()
        raise UsageError(
            f"port {port} cannot be used ({error}); without --port a free one is chosen"
        ) from error
    return made
