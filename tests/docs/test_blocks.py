"""Every command and every code block of the README and the docs is run, or says in its source why it cannot be."""

import ast
import importlib.util
import json
import re
import shlex
import subprocess
import sys

import pytest
import yaml

from premortem import catalog, cli
from tests.docs import blocks
from tests.docs.session import Session, agree

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

# The pages that every change is tried on. The others take minutes: `make exhaustive`.
QUICK = ("README.md", "docs/lint.md")
ELSEWHERE = (
    "CONTRIBUTING.md",
    "casebook/README.md",
)  # test_contributing.py and test_casebook.py run what they say
SILENT = {"text", "lua", "{toctree}", "{image}"}  # nothing to run: outputs, drawings, an editor's settings
RUNS = {"python", "ipython", "console", "diff"}
LOADED = {"json": json.loads, "yaml": yaml.safe_load, "toml": tomllib.loads}
NOT_RUN = 9  # so many blocks cannot be run here; let it fall, not rise

WRITTEN = [page for page in blocks.PAGES if not page.startswith("docs/units/")]  # by hand
BLOCKS = [block for page in blocks.PAGES for block in blocks.of(page)]


def _cases():
    for page in blocks.PAGES:
        if page in ELSEWHERE:
            continue
        found = [block for block in blocks.of(page) if block.language in RUNS or block.title]
        for package in sorted({block.marks.get("needs", "") for block in found}):
            slow = [] if page in QUICK and not package else [pytest.mark.exhaustive, pytest.mark.slow]
            yield pytest.param(page, package, id=f"{page}-{package}".rstrip("-"), marks=slow)


@pytest.mark.parametrize(("page", "package"), list(_cases()))
def test_what_the_page_says_happens(page, package, tmp_path):
    if package and importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed; `make doors` installs it")
    session = Session(page, tmp_path)
    for block in blocks.of(page):
        if "not run" not in block.marks and (block.title or block.marks.get("needs", "") == package):
            session.follow(block)


def test_every_block_can_be_read():
    for block in BLOCKS:
        where = f"{block}, {block.language}"
        if block.language == "python":
            ast.parse(block.text, where)
        elif block.language in {"console", "sh"}:
            script = block.text if block.language == "sh" else "\n".join(line for line, _ in block.commands)
            done = subprocess.run(["bash", "-n"], input=script, text=True, capture_output=True, check=False)
            assert done.returncode == 0, f"{where}: {done.stderr}"
        elif block.language in LOADED:
            LOADED[block.language](block.text)
        elif block.language == "diff":
            assert block.title, f"{where}: name the file that it changes"
        else:
            assert block.language in {*SILENT, "ipython"}, f"{where}: say what it is"
            assert not re.search(r"^\$ ", block.text, re.MULTILINE), f"{where}: a command is a console block"


@pytest.mark.parametrize("page", WRITTEN)
def test_every_verb_option_and_code_exists(page):
    text = (blocks.ROOT / page).read_text(encoding="utf-8")
    sessions = [block for block in blocks.of(page) if block.language == "console"]
    typed = [line for block in sessions for line, _ in block.commands]
    for line in [*typed, *re.findall(r"`(premortem [^`\n]+)`", text)]:
        for words in _calls(line):
            _exists(words, f"{page}: {line}")
    codes = {entry.card.code for entry in catalog.entries()}
    assert set(re.findall(r"(?<!to )\bPM\d{3}\b", text)) <= codes


def _calls(line):
    """What follows `premortem` in each of the commands of a line."""
    tokens = shlex.shlex(line, posix=True, punctuation_chars=True)
    tokens.whitespace_split = True
    words = list(tokens)
    for at, word in enumerate(words):
        if word == "premortem" and (at == 0 or words[at - 1] in {"-m", "srun", "&&", "||", ";", "|"}):
            rest = words[at + 1 :]
            ends = [i for i, other in enumerate(rest) if set(other) <= set(";|&<>")]
            yield rest[: min(ends, default=None)]


def _exists(words, where):
    verb, *rest = words
    if verb.startswith("-"):
        return
    assert verb in cli.VERBS, where
    if verb == "ckpt":
        known = cli.VERBS[verb].below()
        for word in re.split(r"[ ,/]+", rest[0]) if rest else ():
            assert word in known, where
        return
    options = cli.VERBS[verb].parser()._option_string_actions
    for word in rest:
        if word.endswith(".py") or word == "-m":
            return  # what follows is the script's
        if word.startswith("--"):
            assert word.partition("=")[0] in options, where


def test_few_blocks_are_not_run_and_each_says_why():
    reasons = {str(block): block.marks["not run"] for block in BLOCKS if "not run" in block.marks}
    assert all(len(reason.split()) >= 3 for reason in reasons.values())
    assert len(reasons) <= NOT_RUN, reasons


@pytest.mark.parametrize("page", WRITTEN)
def test_every_link_leads_somewhere(page):
    here = blocks.ROOT / page
    for link in re.findall(r"\]\(([^)\s]+)\)", here.read_text(encoding="utf-8")):
        path, _hash, anchor = link.partition("#")
        if "://" in link or link.startswith("mailto:"):
            continue
        target = here.parent / path if path else here
        assert target.exists(), f"{page}: {link}"
        if anchor:
            headings = re.findall(r"^#+ (.+)$", target.read_text(encoding="utf-8"), re.MULTILINE)
            assert anchor in {
                re.sub(r"[^\w\- ]", "", head).strip().lower().replace(" ", "-") for head in headings
            }, f"{page}: {link}"


@pytest.mark.parametrize(
    ("shown", "said", "same"),
    [
        (["a", "b"], "a\nb\n", True),
        (["a", "b"], "a\nc\n", False),
        (["a"], "a\nb\n", False),
        (["a", "..."], "a\nb\nc\n", True),
        (["...", "c"], "a\nb\n", False),
        (["took … s"], "took 1.2 s\n", True),
        (["took … s"], "took 1.2 min\n", False),
        ([], "anything\n", True),
    ],
)
def test_what_is_shown_is_compared(shown, said, same):
    assert agree(shown, said) is same
