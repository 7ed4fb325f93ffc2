"""The pages and what is behind them.

GET  /                          the list: ?q=words&verdict=bad&page=2&sort=worst
GET  /compare                   two runs beside each other: ?run=A&run=B
GET  /compare/plot              its curves
GET  /api/v1/runs               the list as JSON, with the same options
GET  /api/v1/runs/NAME          what `premortem report --format json` prints
GET  /api/v1/compare            likewise of two runs: ?run=A&run=B
GET  /events                    a word whenever the list has changed
GET  /runs/NAME                 the report's page of a run, without its plots
GET  /runs/NAME/plots/PLOT      one of them
GET  /runs/NAME/events          a word whenever the run has gone on; "gone" when it was deleted
POST /runs/NAME/ask/save|stop   the only thing that is written: an empty file in the run's folder
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from premortem.errors import JournalError
from premortem.files import run_requests
from premortem.report import comparison, html, story
from premortem.report import record as report
from premortem.ui import record
from premortem.ui.runs import NEWEST, ORDERS, VERDICTS, Runs
from premortem.ui.stories import Stories

HOME = Path(__file__).parent
TICK = 0.5  # seconds between two looks
STILL_THERE = 15.0  # seconds after which something is sent, so that the connection is not taken for dead


class Pages:
    def __init__(self, runs: Runs, over: Callable[[], bool]) -> None:
        self._runs = runs
        self._over = over
        self._stories = Stories()
        self._scene = html.scene(HOME)
        self._files = {
            "bokeh.js": html.library(),
            "page.js": html.HOME / "page.js",
            "page.css": html.HOME / "page.css",
            **{name: HOME / name for name in ("ui.css", "live.js", "list.js", "run.js")},
        }

    def routes(self) -> list[Route]:
        return [
            Route("/", self.all_runs),
            Route("/events", self.list_events),
            Route("/compare", self.compare),
            Route("/compare/plot", self.compare_plot),
            Route("/api/v1/runs", self.api_runs),
            Route("/api/v1/runs/{name}", self.api_run),
            Route("/api/v1/compare", self.api_compare),
            Route("/runs/{name}", self.run),
            Route("/runs/{name}/plots/{plot}", self.plot),
            Route("/runs/{name}/events", self.run_events),
            Route("/runs/{name}/ask/{what}", self.ask, methods=["POST"]),
            Route("/static/{name}", self.static),
        ]

    # Functions that are not `async` run in a thread of their own.

    def all_runs(self, request: Request) -> Response:
        query, wanted, order = _asked(request)
        listing = self._runs.listing(query, wanted, _page_number(request), order)
        return self._page(
            "list.html",
            listing=listing,
            query=query,
            wanted=wanted,
            order=order,
            orders=list(ORDERS),
            verdicts=VERDICTS,
            folders=[str(each) for each in (*self._runs.folders, *self._runs.shelves)],
            problems=[
                f"{each} cannot be read now ({each.problem})." for each in self._runs.shelves if each.problem
            ],
            # The plots take longer to load than the list: after it, and before the first run is opened.
            then=BackgroundTask(html.ready),
        )

    def api_runs(self, request: Request) -> Response:
        query, wanted, order = _asked(request)
        return _json(record.listing(self._runs.listing(query, wanted, _page_number(request), order)))

    def api_run(self, request: Request) -> Response:
        journal = self._runs.find(request.path_params["name"])
        if journal is None:
            return JSONResponse({"error": "there is no such run"}, 404)
        try:
            return _json(report.page(self._stories.open(journal).story))
        except JournalError as error:
            return JSONResponse({"error": str(error)}, 422)

    def compare(self, request: Request) -> Response:
        found = self._compared(request)
        if isinstance(found, str):
            return self._sorry("two runs", found, 404)
        items = sorted(html.comparison_drawings(found))
        return self._page("compare.html", comparison=found, items=items, query=str(request.url.query))

    def compare_plot(self, request: Request) -> Response:
        found = self._compared(request)
        drawing = None if isinstance(found, str) else html.comparison_drawings(found).get("timeline")
        if drawing is None:
            return PlainTextResponse("there is no such plot", 404)
        return _json(json.dumps(html.encoded(drawing), allow_nan=False))

    def api_compare(self, request: Request) -> Response:
        found = self._compared(request)
        if isinstance(found, str):
            return JSONResponse({"error": found}, 404)
        return _json(report.comparison_page(found))

    def _compared(self, request: Request) -> comparison.Comparison | str:
        """The two runs that are asked for; a sentence where that cannot be."""
        names = request.query_params.getlist("run")
        journals = [journal for name in names if (journal := self._runs.find(name)) is not None]
        if len(names) != 2 or len(journals) != 2:
            return "Two runs are compared, and both must be in this list."
        try:
            with story.readable(*journals):
                return comparison.compare(*journals)
        except JournalError as error:
            return str(error)

    def run(self, request: Request) -> Response:
        name = request.path_params["name"]
        journal = self._runs.find(name)
        if journal is None:
            return self._sorry(name, "There is no such run in this folder. It may have been deleted.", 404)
        try:
            opened = self._stories.open(journal)
            with story.readable(journal):
                return self._page(
                    "run.html",
                    name=name,
                    story=opened.story,
                    items=sorted(opened.drawings),
                    running=opened.running,
                    reached=self._runs.reaches(name),
                    state=self._stories.state(journal),
                    waiting=run_requests.waiting(journal.parent) if opened.running else [],
                    answer=opened.story.meta.get("asked"),
                )
        except JournalError as error:
            return self._sorry(name, str(error), 422 if journal.is_file() else 404)

    def plot(self, request: Request) -> Response:
        journal = self._runs.find(request.path_params["name"])
        if journal is None:
            return PlainTextResponse("there is no such run", 404)
        try:
            opened = self._stories.open(journal)
            if request.path_params["plot"] not in opened.drawings:
                return PlainTextResponse("there is no such plot", 404)
            with story.readable(journal):
                text = opened.plot(request.path_params["plot"])
        except JournalError:
            return PlainTextResponse("there is no such plot", 404)
        return _json(text)

    def ask(self, request: Request) -> Response:
        what = request.path_params["what"]
        name = request.path_params["name"]
        journal = self._runs.find(name)
        if not self._runs.reaches(name):
            return JSONResponse(
                {"status": "This run is on another machine; it cannot be asked from here."}, 409
            )
        if journal is None or what not in run_requests.ALL:
            return JSONResponse({"status": "There is no such run, or no such request."}, 404)
        try:
            if not self._stories.open(journal).running:
                return JSONResponse({"status": "This run is over."}, 409)
            run_requests.ask(journal.parent, what)
        except (JournalError, OSError) as error:
            return JSONResponse({"status": f"This request cannot be sent to the run ({error})."}, 409)
        return JSONResponse({"status": "Sent. The run will do it at the end of its current step."}, 202)

    def static(self, request: Request) -> Response:
        file = self._files.get(request.path_params["name"])
        if file is None:
            return PlainTextResponse("there is no such file", 404)
        kind = "text/css" if file.suffix == ".css" else "text/javascript"
        # The library is large, and another one has another address.
        kept = "private, max-age=604800, immutable" if "v" in request.query_params else "no-cache"
        return Response(file.read_bytes(), media_type=kind, headers={"cache-control": kept})

    async def list_events(self, request: Request) -> Response:
        def state() -> str:
            self._runs.look()
            return str(self._runs.changes)

        return self._stream(request, state)

    async def run_events(self, request: Request) -> Response:
        journal = await run_in_threadpool(self._runs.find, request.path_params["name"])
        return self._stream(request, lambda: self._stories.state(journal) if journal is not None else "gone")

    def _page(
        self, template: str, status: int = 200, *, then: BackgroundTask | None = None, **values: Any
    ) -> Response:
        import bokeh

        text = self._scene.get_template(template).render(library_version=bokeh.__version__, **values)
        return HTMLResponse(text, status, headers={"cache-control": "no-store"}, background=then)

    def _sorry(self, name: str, sentence: str, status: int) -> Response:
        return self._page("sorry.html", status, name=name, sentence=sentence)

    def _stream(self, request: Request, state: Callable[[], str]) -> Response:
        """Server-sent events: the state at once, and then whenever it is another one."""

        async def events() -> AsyncIterator[str]:
            known, silent = "", 0.0
            while not self._over() and not await request.is_disconnected():
                now = await run_in_threadpool(state)
                if now != known:
                    known, silent = now, 0.0
                    yield f"data: {now}\n\n"
                elif silent >= STILL_THERE:
                    silent = 0.0
                    yield ": still there\n\n"
                await asyncio.sleep(TICK)
                silent += TICK

        headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
        return StreamingResponse(events(), media_type="text/event-stream", headers=headers)


def _asked(request: Request) -> tuple[str, str, str]:
    """Words, verdict and order; what there is no such thing of is left out."""
    given = request.query_params
    wanted, order = given.get("verdict", ""), given.get("sort", "")
    return (
        given.get("q", "")[:200],
        wanted if wanted in VERDICTS else "",
        order if order in ORDERS else NEWEST,
    )


def _json(text: str) -> Response:
    return Response(text, media_type="application/json", headers={"cache-control": "no-store"})


def _page_number(request: Request) -> int:
    """1 for what is not a number; a number that is too large gives the last page."""
    text = request.query_params.get("page", "1")
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else 1


def make(runs: Runs, over: Callable[[], bool]) -> Starlette:
    """`over` is set when the server is about to end: there are no listeners then."""
    return Starlette(routes=Pages(runs, over).routes())
