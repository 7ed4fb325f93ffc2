"""What an editor offers at a report: its fix, a comment that silences it, all fixes at once, and its page."""

import inspect
from collections.abc import Sequence

from lsprotocol import types as lsp

from premortem.lint import problems, rules
from premortem.lint.diagnostics import Diagnostic
from premortem.lint.live import Live
from premortem.lint.places import Places, touch


def actions(
    live: Live, path: str, reports: Sequence[Diagnostic], places: Places, params: lsp.CodeActionParams
) -> list[lsp.CodeAction]:
    """What can be done about the reports in the range that is asked for."""
    uri = params.text_document.uri
    only = params.context.only
    found: list[lsp.CodeAction] = []
    if _asked(only, lsp.CodeActionKind.QuickFix):
        for report in reports:
            if touch(places.range(report), params.range):
                found += _quick_fixes(live, path, report, places, uri)
    if _asked(only, lsp.CodeActionKind.SourceFixAll) and any(one.fix and one.fix.safe for one in reports):
        edits = places.edits_to(live.fixed(path, places.listing.data))
        if edits:
            found.append(
                lsp.CodeAction(
                    "premortem: make all safe fixes",
                    kind=lsp.CodeActionKind.SourceFixAll,
                    edit=lsp.WorkspaceEdit({uri: edits}),
                )
            )
    return found


def _asked(only: Sequence[lsp.CodeActionKind | str] | None, kind: lsp.CodeActionKind) -> bool:
    """An editor that asks for `source` also gets `source.fixAll`."""
    return not only or any(f"{kind.value}.".startswith(f"{_text(one)}.") for one in only)


def _text(kind: lsp.CodeActionKind | str) -> str:
    return kind.value if isinstance(kind, lsp.CodeActionKind) else kind


def _quick_fixes(live: Live, path: str, report: Diagnostic, places: Places, uri: str) -> list[lsp.CodeAction]:
    shown = [places.diagnostic(report)]
    code = report.card.code
    found = []
    if report.fix:
        care = "" if report.fix.safe else " (unsafe: read the change)"
        found.append(
            lsp.CodeAction(
                f"premortem: fix {code} {report.card.name}{care}",
                kind=lsp.CodeActionKind.QuickFix,
                diagnostics=shown,
                is_preferred=report.fix.safe,
                edit=lsp.WorkspaceEdit({uri: [places.edit(edit) for edit in report.fix.edits]}),
            )
        )
    if comment := live.ignoring(path, places.listing.data, report):
        found.append(
            lsp.CodeAction(
                f"premortem: ignore {code} on this line",
                kind=lsp.CodeActionKind.QuickFix,
                diagnostics=shown,
                edit=lsp.WorkspaceEdit({uri: [places.edit(comment)]}),
            )
        )
    return found


def hover(reports: Sequence[Diagnostic], places: Places, position: lsp.Position) -> lsp.Hover | None:
    """The reports under the cursor, each with the page of its rule."""
    here = lsp.Range(position, position)
    under = [one for one in reports if touch(places.range(one), here)]
    if not under:
        return None
    text = "\n\n---\n\n".join(map(_page, under))
    return lsp.Hover(lsp.MarkupContent(lsp.MarkupKind.Markdown, text), places.range(under[0]))


def _page(report: Diagnostic) -> str:
    (unit,) = [unit for unit in (*rules.ALL, *problems.ALL) if unit.card.code == report.card.code]
    page = (inspect.getdoc(unit) or "").replace("\n## ", "\n#### ")
    card = report.card
    text = f"{report.message}. {report.remedy}".strip()
    return f"**{card.code} {card.name}** ({report.severity.value}, {card.family})\n\n{text}\n\n{page}"
