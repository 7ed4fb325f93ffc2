"""Write the pages that come from the units themselves: docs/units/ and the catalog table of the README.

`python tools/pages.py` rewrites what is stale; with `--check` it only says what is, and exits with 1.
"""

from __future__ import annotations

import sys
from pathlib import Path

from premortem import catalog

ROOT = Path(__file__).resolve().parent.parent
BEGIN, END = "<!-- catalog table -->", "<!-- end of catalog table -->"
NOTE = "<!-- Written by `make docs` from the unit's docstring: change it there. -->"


def unit_page(entry: catalog.Entry) -> str:
    return f"{NOTE}\n# {entry.page}"


def table(entries: tuple[catalog.Entry, ...]) -> str:
    rows = [
        f"| {_link(e)} | {e.card.family} | {e.card.severity.value} | {_cell(e.summary)} |" for e in entries
    ]
    return "\n".join(["| finding | family | severity | what it means |", "|---|---|---|---|", *rows])


def _link(entry: catalog.Entry) -> str:
    return f"[{entry.card.code} {entry.card.name}](docs/units/{entry.card.name}.md)"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def with_table(readme: str, entries: tuple[catalog.Entry, ...]) -> str:
    """The README with a fresh table between its two marks."""
    before, begin, rest = readme.partition(BEGIN)
    _old, end, after = rest.partition(END)
    if not begin or not end:
        raise SystemExit(f"README.md needs the lines `{BEGIN}` and `{END}`, in this order")
    return f"{before}{BEGIN}\n{table(entries)}\n{END}{after}"


def wanted(root: Path = ROOT) -> dict[Path, str | None]:
    """Every generated file and what must be in it; None for one that must not be there."""
    entries = catalog.entries()
    units = root / "docs" / "units"
    readme = root / "README.md"
    pages: dict[Path, str | None] = dict.fromkeys(units.glob("*.md"))
    pages.update({units / f"{entry.card.name}.md": unit_page(entry) for entry in entries})
    return {**pages, readme: with_table(readme.read_text(encoding="utf-8"), entries)}


def stale(root: Path = ROOT) -> dict[Path, str | None]:
    return {path: text for path, text in wanted(root).items() if _read(path) != text}


def _read(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.exists() else None


def write(path: Path, text: str | None) -> None:
    if text is None:
        path.unlink()
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def main(arguments: list[str]) -> int:
    old = stale()
    check = arguments == ["--check"]
    for path, text in old.items():
        print(f"{'stale' if check else 'wrote' if text else 'removed'} {path.relative_to(ROOT)}")
        if not check:
            write(path, text)
    return int(check and bool(old))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
