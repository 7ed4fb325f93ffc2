"""`premortem server`: a language server. Reports while you type, fixes, and pages on hover.

pygls speaks the protocol, and `live.Live` checks the text. This module joins the two and translates
places: reports count characters from 1, the protocol counts UTF-16 units (or what the editor agreed to) from 0.
"""

from __future__ import annotations

import asyncio
import io
import tokenize
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from lsprotocol import types as lsp
from pygls.lsp.server import LanguageServer
from pygls.workspace import TextDocument

from premortem import __version__
from premortem.errors import UsageError
from premortem.findings import Finding
from premortem.lint import settings
from premortem.lint.actions import actions, hover
from premortem.lint.diagnostics import Diagnostic
from premortem.lint.listing import Listing
from premortem.lint.live import SUFFIXES, Live
from premortem.lint.places import Places

# (project, file, its text) → what a run has found in it, with the lines of that text
RunFindings = Callable[[Path, Path, str], list[Finding]]
PATIENCE = 0.15  # seconds without a keystroke before a changed text is read
LANGUAGES = {"python": ".py", "yaml": ".yaml", "toml": ".toml", "json": ".json"}


@dataclass(frozen=True, slots=True)
class Shown:
    """What the editor shows for a document."""

    text: str
    reports: list[Diagnostic]


class Server(LanguageServer):
    """The documents that are open, and the projects they belong to."""

    def __init__(self, run_findings: RunFindings) -> None:
        self._run_findings = run_findings
        # Whole texts instead of changes: pygls would apply changes by other ends of lines than Python has.
        super().__init__("premortem", __version__, lsp.TextDocumentSyncKind.Full)
        self.shown: dict[str, Shown] = {}
        self._projects: dict[Path, Live] = {}
        self._turn = asyncio.Lock()

    def project(self, path: Path) -> Live:
        """The project a file belongs to. Wrong settings are reported once; then the defaults are used."""
        root = settings.project_root(path) or path.parent
        if root not in self._projects:
            try:
                self._projects[root] = Live(root)
            except UsageError as problem:
                self.window_show_message(
                    lsp.ShowMessageParams(lsp.MessageType.Warning, f"premortem: {problem}")
                )
                self._projects[root] = Live(root, settings.Settings())
        return self._projects[root]

    def changed_on_disk(self, paths: list[str]) -> None:
        """Facts are read again; settings and the target torch too, when they can have changed."""
        if all(path.endswith(".py") for path in paths):
            for live in self._projects.values():
                live.forget()
        else:
            self._projects.clear()

    async def look(self, uri: str) -> Shown | None:
        """Check a document as it stands now, and show the result."""
        document = self.workspace.get_text_document(uri)
        path, text = path_of(document), document.source
        if not path.endswith(SUFFIXES):
            return None
        # In a thread, because keystrokes must not wait for a large project; one at a time, because they share it.
        async with self._turn:
            reports = await asyncio.to_thread(self.project(Path(path)).check, path, encoded(path, text))
            root = settings.project_root(Path(path)) or Path(path).parent
            seen = await asyncio.to_thread(self._run_findings, root, Path(path), text)
        if uri not in self.workspace.text_documents or document.source != text:
            return None  # closed, or changed since: what was found stands elsewhere by now
        self.shown[uri] = Shown(text, reports)
        places = self.places(uri)
        found = [places.diagnostic(report) for report in reports]
        found += [places.of_run(finding, text) for finding in seen]
        self.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, found, document.version))
        return self.shown[uri]

    async def up_to_date(self, uri: str) -> Shown:
        """The reports for the document as it is now."""
        shown = self.shown.get(uri)
        if shown is None or shown.text != self.workspace.get_text_document(uri).source:
            shown = await self.look(uri)
        return shown or Shown("", [])

    def places(self, uri: str) -> Places:
        document = self.workspace.get_text_document(uri)
        path = path_of(document)
        listing = Listing.of(path, encoded(path, document.source))
        return Places(listing, document.position_codec.client_num_units)


def path_of(document: TextDocument) -> str:
    """A document that was never saved has no file; its language says how to read it."""
    if document.uri.startswith("file:"):
        return str(document.path)
    return str(Path.cwd() / f"untitled{LANGUAGES.get(document.language_id or '', '')}")


def encoded(path: str, text: str) -> bytes:
    """The bytes that the file would hold: a declared encoding is taken at its word, as it is on disk."""
    data = text.encode(errors="replace")
    if not path.endswith(".py") or b"coding" not in data[:400]:
        return data
    try:
        encoding, _lines = tokenize.detect_encoding(io.BytesIO(data).readline)
        return text.encode(encoding, errors="replace")
    except (SyntaxError, LookupError):
        return data


def build(run_findings: RunFindings = lambda project, file, text: []) -> Server:
    server = Server(run_findings)

    @server.feature(lsp.TEXT_DOCUMENT_DID_OPEN)
    async def opened(ls: Server, params: lsp.DidOpenTextDocumentParams) -> None:
        await ls.look(params.text_document.uri)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CHANGE)
    async def changed(ls: Server, params: lsp.DidChangeTextDocumentParams) -> None:
        await asyncio.sleep(PATIENCE)
        uri = params.text_document.uri
        if uri in ls.workspace.text_documents:
            if ls.workspace.get_text_document(uri).version == params.text_document.version:
                await ls.look(uri)

    @server.feature(lsp.TEXT_DOCUMENT_DID_SAVE)
    async def saved(ls: Server, params: lsp.DidSaveTextDocumentParams) -> None:
        ls.changed_on_disk([params.text_document.uri])
        for uri in list(ls.workspace.text_documents):
            await ls.look(uri)

    @server.feature(lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    async def changed_elsewhere(ls: Server, params: lsp.DidChangeWatchedFilesParams) -> None:
        ls.changed_on_disk([change.uri for change in params.changes])
        for uri in list(ls.workspace.text_documents):
            await ls.look(uri)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CLOSE)
    def closed(ls: Server, params: lsp.DidCloseTextDocumentParams) -> None:
        ls.shown.pop(params.text_document.uri, None)
        ls.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(params.text_document.uri, []))

    kinds = [lsp.CodeActionKind.QuickFix, lsp.CodeActionKind.SourceFixAll]

    @server.feature(lsp.TEXT_DOCUMENT_CODE_ACTION, lsp.CodeActionOptions(code_action_kinds=kinds))
    async def offered(ls: Server, params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
        uri = params.text_document.uri
        shown = await ls.up_to_date(uri)
        path = path_of(ls.workspace.get_text_document(uri))
        return actions(ls.project(Path(path)), path, shown.reports, ls.places(uri), params)

    @server.feature(lsp.TEXT_DOCUMENT_HOVER)
    async def hovered(ls: Server, params: lsp.HoverParams) -> lsp.Hover | None:
        shown = await ls.up_to_date(params.text_document.uri)
        return hover(shown.reports, ls.places(params.text_document.uri), params.position)

    return server


def serve(run_findings: RunFindings) -> int:
    build(run_findings).start_io()
    return 0
