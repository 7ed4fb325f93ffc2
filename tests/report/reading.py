"""A page as a browser's parser sees it."""

from __future__ import annotations

import json
from html.parser import HTMLParser

VOID = {"meta", "link", "br", "img", "hr", "input"}


class Page(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.scripts: list[str] = []
        self.ids: set[str] = set()
        self.loads: list[str] = []
        self.words: list[str] = []
        self.tags: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == [], f"not closed: {self.open}"

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.tags.append(tag)
        if tag not in VOID:
            self.open.append(tag)
        if tag == "script":
            self.scripts.append("")
        if "id" in given:
            self.ids.add(given["id"])
        self.loads += [given[name] for name in ("src", "href") if name in given]
        assert not [name for name in given if name.startswith("on")], "no handlers in attributes"

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] == "script":
            self.scripts[-1] += data
        elif not self.open or self.open[-1] != "style":
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())

    @property
    def plots(self):
        return json.loads(self.scripts[0], parse_constant=lambda word: 1 / 0)

    @property
    def outside(self) -> list[str]:
        return [url for url in self.loads if not url.startswith(("#", "data:,"))]
