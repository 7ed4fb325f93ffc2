"""`premortem mcp`: the tools and pages that a coding agent is offered."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations

from premortem import __version__
from premortem.agents.project import MOST, Progress, Project
from premortem.agents.text import INSTRUCTIONS
from premortem.errors import PremortemError, UsageError

READS = ToolAnnotations(read_only_hint=True, open_world_hint=False)
STARTS = ToolAnnotations(read_only_hint=False, destructive_hint=False, open_world_hint=False)
STOPS = ToolAnnotations(read_only_hint=False, destructive_hint=True, open_world_hint=False)


def tool(server: MCPServer[Any], annotations: ToolAnnotations) -> Callable[[Any], Any]:
    """Offers a function as a tool. One sentence says what is wrong with a call, without a traceback."""

    def offer(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        async def call(*given: Any, **named: Any) -> Any:
            try:
                done = function(*given, **named)
                return await done if inspect.isawaitable(done) else done
            except PremortemError as error:
                raise ToolError(str(error)) from None

        server.add_tool(call, annotations=annotations)
        return call

    return offer


def serve(root: Path, *, allow_run: bool) -> None:
    build(root, allow_run=allow_run).run("stdio")


def build(root: Path, *, allow_run: bool) -> MCPServer[Any]:
    project = Project(root)
    server: MCPServer[Any] = MCPServer(
        "premortem", title="premortem", instructions=INSTRUCTIONS, version=__version__, log_level="WARNING"
    )
    _add_readers(server, project)
    _add_pages(server, project)
    if allow_run:
        _add_starters(server, project)
    return server


def _add_readers(server: MCPServer[Any], project: Project) -> None:
    @tool(server, READS)
    async def lint(paths: list[str] | None = None, limit: int = MOST) -> dict[str, Any]:
        """Read training code and configs for faults that raise nothing. Nothing is run. `paths`: files or folders of the
        project (default: all of it)."""
        return await project.lint(paths or [], limit)

    @tool(server, READS)
    async def explain(finding: str) -> dict[str, Any]:
        """What a finding means, why it matters and what to do. `finding`: its code (PM103) or its name."""
        return (await project.explain([finding]))[0]

    @tool(server, READS)
    def runs(limit: int = MOST) -> dict[str, Any]:
        """The runs of this project that premortem has watched, newest first: state, steps, loss, verdict."""
        return project.runs(limit)

    @tool(server, READS)
    async def findings(run: str | None = None, code: str | None = None, limit: int = MOST) -> dict[str, Any]:
        """What was found in a run (default: the newest): the root causes, each with its line, cause and remedy. With `code`
        one of them whole, with its evidence and, where there is one, the fix as a diff."""
        return await project.findings(run, code, limit)

    @tool(server, READS)
    async def numbers(run: str | None = None) -> dict[str, Any]:
        """Loss, metrics, learning rate and gradient norms of a run (default: the newest): first, last and lowest values,
        where they were not finite, and which checkpoints are whole."""
        return await project.numbers(run)

    @tool(server, READS)
    async def ckpt_list(path: str = ".") -> dict[str, Any]:
        """The checkpoints of a folder, a run or a vault of the project, oldest first."""
        return {"checkpoints": await project.checkpoints(path)}


def _add_starters(server: MCPServer[Any], project: Project) -> None:
    def progress(context: Context[Any, Any]) -> Progress:
        async def tell(seconds: float, sentence: str) -> None:
            await context.report_progress(seconds, None, sentence)

        return tell

    @tool(server, STARTS)
    async def check(
        context: Context[Any, Any], script: str, arguments: list[str] | None = None, seconds: float = 300
    ) -> dict[str, Any]:
        """A dress rehearsal of a training script in a sandbox: environment, configuration, data, a few real steps, a save
        and a resume. What the script writes is thrown away."""
        return await project.check(script, arguments or [], seconds, progress(context))

    @tool(server, STARTS)
    async def fit(
        context: Context[Any, Any],
        script: str,
        arguments: list[str] | None = None,
        device: str = "h100",
        seconds: float = 120,
    ) -> dict[str, Any]:
        """The peak GPU memory of a training script on a card that need not be there, the largest batch, and what saves
        memory. Runs two steps on tensors without contents, in a sandbox."""
        return await project.fit(script, arguments or [], device, seconds, progress(context))

    @tool(server, STARTS)
    async def replay(
        context: Context[Any, Any], run: str | None = None, seconds: float = 300
    ) -> dict[str, Any]:
        """Run the first failed step of a run again (default: the newest), operation by operation and with one thing changed
        at a time, until its cause is proved."""
        return await project.replay(run, seconds, progress(context))

    @tool(server, STARTS)
    async def why(
        context: Context[Any, Any], script: str, arguments: list[str] | None = None, minutes: float = 10
    ) -> dict[str, Any]:
        """Why does a script not learn? It is run in a sandbox as it is under several seeds, then with one thing changed at a
        time, until the cause is proved. `patch` is a verified fix, where there is one. Nothing is edited."""
        return await project.why(script, arguments or [], minutes, (), (), progress(context))

    @tool(server, STARTS)
    async def try_fix(
        context: Context[Any, Any],
        script: str,
        arguments: list[str] | None = None,
        diffs: list[str] | None = None,
        settings: list[str] | None = None,
        minutes: float = 10,
    ) -> dict[str, Any]:
        """Does a fix help, before anyone believes it? Each of `diffs` (unified diffs, as text) and of `settings` (KEY=VALUE)
        is run in a sandbox under several seeds, beside the script as it is: helps, hurts, nothing, or cheats."""
        if not diffs and not settings:  # without one it would be `why`, which takes minutes
            raise UsageError("which fix? give `diffs` (unified diffs, as text) or `settings` (KEY=VALUE)")
        return await project.why(
            script, arguments or [], minutes, diffs or (), settings or (), progress(context)
        )

    @tool(server, STARTS)
    async def run(
        context: Context[Any, Any], script: str, arguments: list[str] | None = None, seconds: float = 600
    ) -> dict[str, Any]:
        """Train: start the script for real, watched, in the project's folder. It saves and stops before `seconds` are over.
        Not in a sandbox: what the script writes stays."""
        return await project.run(script, arguments or [], seconds, progress(context))

    @tool(server, STOPS)
    def stop(run: str) -> dict[str, Any]:
        """Ask a run that is training to save its state and end after its current step."""
        return project.stop(run)


def _add_pages(server: MCPServer[Any], project: Project) -> None:
    @server.resource("premortem://findings/{finding}", mime_type="text/markdown")
    async def page(finding: str) -> str:
        """The page of a finding, by its code or name."""
        return str((await project.explain([finding]))[0]["page"])

    @server.resource("premortem://runs/{run}", mime_type="application/json")
    async def report(run: str) -> dict[str, Any]:
        """What was found in a run."""
        return await project.findings(run, None, MOST)
