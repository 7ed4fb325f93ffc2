"""The language server, spoken to by a real client over a real process's stdin and stdout."""

import asyncio
import contextlib
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("pygls")

from lsprotocol import types as lsp
from pygls.lsp.client import LanguageClient

from premortem.findings import Certainty, Finding, Severity, Where
from premortem.journal import Journal

CODE = "import torch\n\n\ndef move(x):\n    x.unsqueeze(0)\n    return x.shape\n"
TYPO = "import torch\n\n\ndef learn(w):\n    w.require_grad = True\n"
DROPPED = "PM501"
LIMIT = 60  # seconds; a machine that runs other tests beside this one is slow


class Editor(LanguageClient):
    """Keeps what the server says, and can wait for it."""

    def __init__(self):
        super().__init__("editor", "1")
        self.published = {}
        self.messages = []
        self.news = asyncio.Event()

        @self.feature(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        def publish(params):
            self.published[params.uri, params.version] = list(params.diagnostics)
            self.news.set()

        @self.feature(lsp.WINDOW_SHOW_MESSAGE)
        def show(params):
            self.messages.append(params.message)
            self.news.set()

    async def until(self, known):
        """Wait until `known()` is something, and return it."""
        async with asyncio.timeout(LIMIT) if hasattr(asyncio, "timeout") else contextlib.nullcontext():
            while (found := known()) is None:
                self.news.clear()
                await self.news.wait()
            return found

    async def open(self, path, text, language="python"):
        uri = path.as_uri() if isinstance(path, Path) else path
        item = lsp.TextDocumentItem(uri, language, 1, text)
        self.text_document_did_open(lsp.DidOpenTextDocumentParams(item))
        return uri, await self.said(uri, 1)

    async def said(self, uri, version):
        return await self.until(lambda: self.published.get((uri, version)))

    def type(self, uri, version, text):
        self.text_document_did_change(
            lsp.DidChangeTextDocumentParams(
                lsp.VersionedTextDocumentIdentifier(version, uri),
                [lsp.TextDocumentContentChangeWholeDocument(text)],
            )
        )

    async def offers(self, uri, line, character=0, only=None):
        here = lsp.Position(line, character)
        context = lsp.CodeActionContext(diagnostics=[], only=only)
        params = lsp.CodeActionParams(lsp.TextDocumentIdentifier(uri), lsp.Range(here, here), context)
        found = await self.text_document_code_action_async(params)
        return {action.title: action for action in found or ()}


@contextlib.asynccontextmanager
async def editor(folder, encodings=None):
    client = Editor()
    await client.start_io(sys.executable, "-m", "premortem", "server", "--stdio", cwd=str(folder))
    general = lsp.GeneralClientCapabilities(position_encodings=encodings) if encodings else None
    answer = await client.initialize_async(
        lsp.InitializeParams(
            capabilities=lsp.ClientCapabilities(general=general), root_uri=folder.as_uri(), process_id=None
        )
    )
    client.answer = answer
    client.initialized(lsp.InitializedParams())
    try:
        yield client
    finally:
        await client.shutdown_async(None)
        client.exit(None)
        await client.stop()
        assert client._server.returncode == 0
        client._server._transport.close()


def talk(conversation):
    """A test is a conversation; the event loop is its own and is closed after it."""

    def test(tmp_path, monkeypatch):
        monkeypatch.setenv("PREMORTEM_CACHE_DIR", str(tmp_path / "cache"))
        folder = tmp_path / "project"
        folder.mkdir()
        (folder / "pyproject.toml").write_text("")
        asyncio.run(conversation(folder))

    test.__name__ = conversation.__name__
    return test


def applied(text, edits):
    """A text after edits of the protocol, in UTF-16."""
    lines = [line.encode("utf-16-le") for line in text.splitlines(keepends=True)] + [b""]

    def offset(position):
        return sum(map(len, lines[: position.line])) + 2 * position.character

    data = b"".join(lines)
    for edit in sorted(edits, key=lambda edit: offset(edit.range.start), reverse=True):
        data = (
            data[: offset(edit.range.start)]
            + edit.new_text.encode("utf-16-le")
            + data[offset(edit.range.end) :]
        )
    return data.decode("utf-16-le")


@talk
async def test_a_text_is_checked_when_it_is_opened_changed_and_saved(folder):
    async with editor(folder) as client:
        uri, (found,) = await client.open(folder / "train.py", CODE)
        assert (found.code, found.source, found.severity) == (
            DROPPED,
            "premortem",
            lsp.DiagnosticSeverity.Error,
        )
        assert found.range == lsp.Range(lsp.Position(4, 4), lsp.Position(4, 18))
        assert "returns a new tensor" in found.message
        client.type(uri, 2, CODE.replace("x.unsqueeze(0)", "x = x.unsqueeze(0)"))
        assert await client.said(uri, 2) == []
        client.type(uri, 3, CODE)
        client.type(uri, 4, f"\n{CODE}")
        (moved,) = await client.said(uri, 4)
        assert moved.range.start == lsp.Position(5, 4)
        assert (uri, 3) not in client.published, "a text that was typed over is not read"
        client.published.clear()
        client.text_document_did_save(lsp.DidSaveTextDocumentParams(lsp.TextDocumentIdentifier(uri)))
        assert await client.said(uri, 4) == [moved]
        client.text_document_did_close(lsp.DidCloseTextDocumentParams(lsp.TextDocumentIdentifier(uri)))
        assert await client.said(uri, None) == []


@talk
async def test_places_are_in_utf_16_unless_agreed_otherwise(folder):
    line = '    名 = "😀"; x.unsqueeze(0)'
    text = CODE.replace("    x.unsqueeze(0)", line)
    async with editor(folder) as client:
        uri, (found,) = await client.open(folder / "train.py", text)
        assert found.range.start.character == len(line[: line.index("x.un")].encode("utf-16-le")) // 2 == 14
        fix = next(a for t, a in (await client.offers(uri, 4, 14)).items() if t.startswith("premortem: fix"))
        assert line.replace("x.un", "x = x.un") in applied(text, fix.edit.changes[uri])
    async with editor(folder, [lsp.PositionEncodingKind.Utf8]) as client:
        _uri, (found,) = await client.open(folder / "train.py", text)
        assert client.answer.capabilities.position_encoding == lsp.PositionEncodingKind.Utf8
        assert found.range.start.character == len(line[: line.index("x.un")].encode())


@talk
async def test_a_report_offers_its_fix_and_to_be_ignored(folder):
    async with editor(folder) as client:
        uri, (found,) = await client.open(folder / "train.py", TYPO)
        offered = await client.offers(uri, 4, 4)
        assert list(offered) == [
            "premortem: fix PM513 require-grad-typo",
            "premortem: ignore PM513 on this line",
            "premortem: make all safe fixes",
        ]
        fix, ignore, everything = offered.values()
        assert fix.is_preferred
        assert list(fix.diagnostics) == [found]
        mended = TYPO.replace("require_", "requires_")
        assert applied(TYPO, fix.edit.changes[uri]) == mended
        assert applied(TYPO, everything.edit.changes[uri]) == mended
        silenced = applied(TYPO, ignore.edit.changes[uri])
        assert silenced == TYPO.replace("= True", "= True  # premortem: ignore[PM513]")
        client.type(uri, 2, silenced)
        assert await client.said(uri, 2) == []
        assert await client.offers(uri, 4, 4) == {}
        client.type(uri, 3, TYPO)
        await client.said(uri, 3)
        only = await client.offers(uri, 0, only=[lsp.CodeActionKind.SourceFixAll])
        assert list(only) == ["premortem: make all safe fixes"]
        assert await client.offers(uri, 0, only=[lsp.CodeActionKind.Refactor]) == {}


@talk
async def test_a_fix_that_may_change_more_says_so(folder):
    async with editor(folder) as client:
        uri, _found = await client.open(folder / "train.py", CODE)
        offered = await client.offers(uri, 4, 8)
        assert list(offered) == [
            "premortem: fix PM501 dropped-tensor-result (unsafe: read the change)",
            "premortem: ignore PM501 on this line",
        ]
        fix = next(iter(offered.values()))
        assert not fix.is_preferred
        assert applied(CODE, fix.edit.changes[uri]) == CODE.replace("x.unsq", "x = x.unsq")


@talk
async def test_a_comment_goes_where_it_is_allowed(folder):
    text = CODE.replace("x.unsqueeze(0)", "x.unsqueeze( \\\n        0)")
    async with editor(folder) as client:
        uri, _found = await client.open(folder / "train.py", text)
        ignore = (await client.offers(uri, 4, 8))["premortem: ignore PM501 on this line"]
        silenced = applied(text, ignore.edit.changes[uri])
        compile(silenced, "train.py", "exec")
        client.type(uri, 2, silenced)
        assert await client.said(uri, 2) == []


@talk
async def test_fixing_all_mends_every_line_and_leaves_the_rest(folder):
    text = TYPO + TYPO.replace("import torch\n", "# é😀\n") + "\n\nend = 1\n"
    async with editor(folder) as client:
        uri, found = await client.open(folder / "train.py", text)
        assert len(found) == 2
        everything = (await client.offers(uri, 0))["premortem: make all safe fixes"]
        edits = everything.edit.changes[uri]
        assert applied(text, edits) == text.replace("require_", "requires_")
        assert len(edits) == 2


@talk
async def test_hovering_over_a_report_shows_its_page(folder):
    async with editor(folder) as client:
        uri, _found = await client.open(folder / "train.py", CODE)
        asked = lsp.HoverParams(lsp.TextDocumentIdentifier(uri), lsp.Position(4, 8))
        answer = await client.text_document_hover_async(asked)
        assert answer.contents.kind == lsp.MarkupKind.Markdown
        assert answer.contents.value.startswith("**PM501 dropped-tensor-result** (error, ")
        assert "#### What to do" in answer.contents.value
        elsewhere = lsp.HoverParams(lsp.TextDocumentIdentifier(uri), lsp.Position(0, 0))
        assert await client.text_document_hover_async(elsewhere) is None


@talk
async def test_settings_are_read_and_read_again(folder):
    project = folder / "pyproject.toml"
    project.write_text('[tool.premortem.lint]\nignore = ["PM501"]\n')
    async with editor(folder) as client:
        uri, found = await client.open(folder / "train.py", CODE)
        assert found == []
        project.write_text("")
        client.published.clear()
        change = lsp.FileEvent(project.as_uri(), lsp.FileChangeType.Changed)
        client.workspace_did_change_watched_files(lsp.DidChangeWatchedFilesParams([change]))
        assert [one.code for one in await client.said(uri, 1)] == [DROPPED]


@talk
async def test_what_other_files_do_counts_and_is_read_again(folder):
    script = folder / "train.py"
    script.write_text("import yaml\nwith open('a.yaml') as file:\n    rate = yaml.safe_load(file)['lr']\n")
    async with editor(folder) as client:
        uri, (found,) = await client.open(folder / "a.yaml", "lr: 1e-4\n", "yaml")
        assert (found.code, found.severity) == ("PM560", lsp.DiagnosticSeverity.Error)
        assert found.range == lsp.Range(lsp.Position(0, 4), lsp.Position(0, 8))
        offered = await client.offers(uri, 0, 5)
        fix = next(action for title, action in offered.items() if title.startswith("premortem: fix PM560"))
        assert applied("lr: 1e-4\n", fix.edit.changes[uri]) == "lr: 1.0e-4\n"
        script.write_text("from omegaconf import OmegaConf\nconfig = OmegaConf.load('a.yaml')\n")
        client.published.clear()
        change = lsp.FileEvent(script.as_uri(), lsp.FileChangeType.Changed)
        client.workspace_did_change_watched_files(lsp.DidChangeWatchedFilesParams([change]))
        assert all(one.severity != lsp.DiagnosticSeverity.Error for one in await client.said(uri, 1))


@talk
async def test_wrong_settings_are_told_and_linting_goes_on(folder):
    (folder / "pyproject.toml").write_text('[tool.premortem.lint]\nignroe = ["PM501"]\n')
    async with editor(folder) as client:
        _uri, found = await client.open(folder / "train.py", CODE)
        assert [one.code for one in found] == [DROPPED]
        assert len(client.messages) == 1
        assert client.messages[0].endswith("has no key `ignroe`; did you mean `ignore`?")


@talk
async def test_documents_that_were_never_saved_and_texts_that_do_not_parse(folder):
    async with editor(folder) as client:
        _uri, found = await client.open("untitled:Untitled-1", CODE)
        assert [one.code for one in found] == [DROPPED]
        uri, (broken,) = await client.open(folder / "half.py", "def f(:\n")
        assert "is not valid Python" in broken.message
        assert await client.offers(uri, 0, 6) == {}


@talk
async def test_a_declared_encoding_does_not_shift_places(folder):
    text = "# -*- coding: latin-1 -*-\n" + CODE.replace("    x.un", "    é = 'ü'; x.un")
    async with editor(folder) as client:
        _uri, (found,) = await client.open(folder / "train.py", text)
        assert found.range.start == lsp.Position(5, 13)


def test_without_the_extra_one_sentence_says_what_to_install():
    code = (
        "import sys; sys.modules['pygls'] = None; from premortem.cli import main; sys.exit(main(['server']))"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr == (
        "premortem: `premortem server` needs more than the base package: pip install 'premortem[server]'\n"
    )


@talk
async def test_what_a_run_has_found_stands_at_its_line_until_that_is_edited(folder):
    script = folder / "train.py"
    text = "import torch\n\n\ndef loss_of(p):\n    é = 1; return torch.log(p).mean()\n"
    script.write_text(text)
    found = Finding(
        code="PM442",
        name="non-finite-training",
        family="numerics-nan",
        severity=Severity.ERROR,
        certainty=Certainty.PROVED,
        step=7,
        message="the logarithm of 0 made -inf",
        remedy="Give it a number above 0.",
        where=Where(str(script), 5),
        evidence={"op": "log"},
    )
    journal = Journal.open(
        folder / ".premortem" / "runs" / "one",
        meta={"argv": ["train.py"], "steps": 9},
        on_problem=pytest.fail,
    )
    journal.finding(found)
    journal.close()
    async with editor(folder) as ide:
        uri, said = await ide.open(script, text)
        (own,) = [each for each in said if each.source == "premortem run"]
        assert (own.code, own.severity) == ("PM442", lsp.DiagnosticSeverity.Error)
        assert (own.range.start.line, own.range.start.character, own.range.end.character) == (4, 18, 30)
        assert "step 7, proved" in own.message
        assert "Give it a number above 0." in own.message
        ide.type(uri, 2, f"# a new line above\n{text}")
        (moved,) = [each for each in await ide.said(uri, 2) if each.source == "premortem run"]
        assert moved.range.start.line == 5
        ide.type(uri, 3, text.replace("torch.log(p)", "torch.log(p.clamp(min=1e-6))"))
        assert [each for each in await ide.said(uri, 3) if each.source == "premortem run"] == []
