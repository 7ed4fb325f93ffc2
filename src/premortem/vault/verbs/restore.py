"""`premortem ckpt restore`: bring a kept version or a mirror's copy back to a path, verified first."""

import os
import shutil
import time
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.text import Text

from premortem.amounts import size
from premortem.command_line import Parser
from premortem.errors import UsageError, VaultError
from premortem.files import private
from premortem.files.trust import shown as shown_path
from premortem.terminal.pages import terminal
from premortem.vault import formats
from premortem.vault.atomic import draft_beside, drafted, in_one_sentence, publish_folder, sweep
from premortem.vault.kept_versions import slug
from premortem.vault.links import link_or_copy
from premortem.vault.listing import SUFFIXES, Found, copied, recorded
from premortem.vault.manifest import Manifest, saved_at
from premortem.vault.mirror import SUFFIX
from premortem.vault.places import PASSED_BY, Place
from premortem.vault.records import HOME
from premortem.vault.verbs.base import FAILED, Verb, parser, print_json, progress, words
from premortem.vault.verbs.choosing import candidates
from premortem.vault.verify import Verdict, checksum, verify

_PUT_ASIDE = 3  # of what was replaced at one path, the newest


def restore_parser() -> Parser:
    made = parser(
        "restore",
        "[options] PATH|URL [--to TARGET]",
        "Bring a checkpoint back: a version that a run kept, one of a vault, or a mirror's copy. It is verified first; "
        "if the newest is damaged, the newest undamaged one is restored. The target is replaced completely or not at all.",
    )
    made.add_argument(
        "path", nargs="?", metavar="PATH", help="a kept file, a run, a vault, or a mirror's address"
    )
    made.add_argument("--to", type=Path, metavar="PATH", help="where to (default: where it was saved)")
    made.add_argument("--step", type=int, metavar="N", help="the version of this step")
    made.add_argument(
        "--file", default="", metavar="NAME", help="the file that is meant, when there are several"
    )
    made.add_argument(
        "--force", action="store_true", help="replace what is there; it is put aside in .premortem"
    )
    return made


def call(tokens: Sequence[str]) -> int:
    options = restore_parser().parse(tokens)
    if options.path is None:
        raise UsageError("what? premortem ckpt restore PATH --to TARGET")
    place, versions = candidates(options.path, step=options.step, file=options.file, option="--file NAME")
    target = options.to or _where_it_was(versions[0])
    if target.is_dir() and not (
        versions[0].is_folder and any(each.recognises(target) for each in formats.ALL)
    ):
        # Into the folder: only another checkpoint is ever replaced as a whole.
        name = Path(versions[0].source or versions[0].name).name
        target /= name if name not in {"", ".."} else place.title
    if target.exists() and not options.force:
        raise UsageError(f"`{target}` exists; `--force` replaces it")
    passed_over: list[str] = []
    for version in versions:
        verdict = _brought(place, version, target)
        if verdict.ok:
            _show(version, target, passed_over, options.json)
            return 0
        passed_over.append(f"{version.name}: {verdict.reason}")
    if options.json:
        print_json({"restored": None, "to": str(target), "passed_over": passed_over})
    else:
        for sentence in passed_over:
            terminal().print(Text("damaged  ", "bold red") + words(sentence), soft_wrap=True)
        terminal().print(words(f"Nothing was restored; {target} is as it was."))
    return FAILED


def _where_it_was(version: Found) -> Path:
    """The path that its manifest names. Raises UsageError when there is none, or when it may be a stranger's choice.

    One's own goes wherever it was. A stranger's may become a checkpoint in the current folder, and nothing else: not a file
    of another kind, and not one that Python or the shell reads by itself."""
    if not version.source or version.manifest is None:
        raise UsageError("it does not say where it was saved; give it a place with --to")
    path = Path(version.source)
    if not version.manifest.doubt:
        return path
    real, here = Path(os.path.realpath(path)), Path(os.path.realpath(Path.cwd()))
    below = real.relative_to(here).parts if real.is_relative_to(here) else ()
    hidden = any(part.startswith(".") or part in PASSED_BY for part in below)
    if not below or hidden or version.is_folder or path.suffix.lower() not in SUFFIXES:
        raise UsageError(
            f"it says that it was saved as {shown_path([version.source])}, but it may not be yours: {version.manifest.doubt}. "
            "Say where to put it: --to PATH"
        )
    return path


def _brought(place: Place, version: Found, target: Path) -> Verdict:
    """Copy beside the target, verify the copy, then let it take its place."""
    if version.problem:
        return Verdict(target, False, version.problem)
    with in_one_sentence(target), progress(f"restoring {version.name}", 4 * version.bytes) as advance:
        target.parent.mkdir(parents=True, exist_ok=True)
        sweep(target.parent)
        folder = draft_beside(target)
        folder.mkdir()
        try:
            copy = copied(place, version, folder, advance)
            verdict = verify(copy, recorded=recorded(version), advance=advance)
            if verdict.ok:
                _set_aside(target)
                _published(copy, target)
        except VaultError as error:
            return Verdict(target, False, str(error))
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    return verdict


def _set_aside(target: Path) -> None:
    """What is replaced stays for a second thought: `ckpt list` shows it, and it can be restored in turn."""
    if target.is_file():
        kept = _aside(target)
        link_or_copy(target, kept)
        about = Manifest(time=time.time(), kind="kept", **saved_at(target.resolve()))
        about.files[kept.name] = checksum(kept)
        about.write(kept.with_name(kept.name + SUFFIX), ours=True)


def _aside(target: Path) -> Path:
    home = Path.cwd() / HOME
    folder = private.make_folder(home / "replaced" / slug(target.resolve()), within=home)
    for old in sorted(each for each in folder.iterdir() if not each.name.endswith(SUFFIX))[: 1 - _PUT_ASIDE]:
        shutil.rmtree(old) if old.is_dir() else old.unlink()
        old.with_name(old.name + SUFFIX).unlink(missing_ok=True)
    stamp = time.strftime("%Y%m%dT%H%M%S", time.gmtime())
    return folder / f"{stamp}-{uuid.uuid4().hex[:4]}{target.suffix}"


def _published(copy: Path, target: Path) -> None:
    if copy.is_dir():
        replaced = publish_folder(copy, target)
        if replaced is not None:
            shutil.move(replaced, _aside(target))
        return
    with drafted(target) as draft:
        copy.replace(draft)


def _show(version: Found, target: Path, passed_over: list[str], as_json: bool) -> None:
    if as_json:
        shown: dict[str, Any] = {"restored": version.name, "step": version.step, "to": str(target)}
        print_json({**shown, "bytes": version.bytes, "passed_over": passed_over})
        return
    screen = terminal()
    for sentence in passed_over:
        screen.print(Text("skipped  ", "yellow") + words(sentence), soft_wrap=True)
    step = "" if version.step is None else f" of step {version.step:,}"
    sentence = f"{target}  from {version.name}{step}, {size(version.bytes)}, verified"
    screen.print(Text("restored  ", "bold green") + words(sentence), soft_wrap=True)


RESTORE = Verb("bring a kept version or a mirror's copy back", restore_parser, call)
