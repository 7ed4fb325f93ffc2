"""`premortem ckpt adopt`: record a checksum of a file that premortem did not write."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.text import Text

from premortem.command_line import Parser
from premortem.errors import UsageError, VaultError
from premortem.terminal.pages import terminal
from premortem.vault import records
from premortem.vault.atomic import copy_into, write_whole
from premortem.vault.kept_versions import size_of
from premortem.vault.manifest import FileRecord, HealthRecord, Manifest, saved_at
from premortem.vault.mirror import SUFFIX
from premortem.vault.verbs.base import FAILED, Verb, parser, print_json, progress, words
from premortem.vault.verify import Verdict, checksum, verify


def adopt_parser() -> Parser:
    made = parser(
        "adopt",
        "[options] PATH...",
        "Verify checkpoints that others wrote and remember their sha256 in .premortem/records, so that from now on "
        "`ckpt verify` and a resume notice a single flipped bit. Nothing is written beside them.",
    )
    made.add_argument("paths", nargs="*", metavar="PATH", help="files, or folders that are one checkpoint")
    made.add_argument(
        "--into", type=Path, metavar="DIR", help="also put a verified copy there, with its manifest"
    )
    return made


def call(tokens: Sequence[str]) -> int:
    options = adopt_parser().parse(tokens)
    if not options.paths:
        raise UsageError("which checkpoint? premortem ckpt adopt PATH")
    done: list[dict[str, Any]] = []
    screen = terminal()
    for where in options.paths:
        path = Path(where)
        if "://" in where or not path.exists():
            raise UsageError(f"`{where}` is not on this machine; `ckpt restore` brings a mirror's copy here")
        if options.into is not None and path.is_dir():
            raise UsageError(f"`{where}` is a folder; `--into` takes files")
        verdict = _whole(path)
        record = {"path": where, "adopted": False, "reason": verdict.reason, "files": {}}
        if not verdict.ok:
            _say(options.json, screen, "not adopted", "bold red", f"{where}  {verdict.reason}")
        else:
            manifest = _adopted(path, verdict, options.into)
            record |= {"adopted": True, "files": {name: each.sha256 for name, each in manifest.files.items()}}
            first = next(iter(manifest.files.values()))
            what = f"sha256 {first.sha256}" if len(manifest.files) == 1 else f"{len(manifest.files)} files"
            _say(options.json, screen, "adopted", "bold green", f"{where}  {what}")
        done.append(record)
    if options.json:
        print_json(done)
    return 0 if all(each["adopted"] for each in done) else FAILED


def _whole(path: Path) -> Verdict:
    with progress(f"verifying {path.name}", 2 * size_of(path)) as advance:
        # An older record does not count: this is how a file that was saved again gets a new one.
        return verify(path, recorded=Manifest(), advance=advance)


def _adopted(path: Path, verdict: Verdict, into: Path | None) -> Manifest:
    health = verdict.health
    manifest = Manifest(
        time=time.time(),
        kind="adopted",
        **saved_at(path.resolve()),
        files=dict(_sums(path)),
        health=HealthRecord(True, [], health.all_zero if health else []),
    )
    records.remember(path, manifest)
    if into is not None:
        into.mkdir(parents=True, exist_ok=True)
        written = write_whole(into / path.name, lambda file: copy_into(file, path))
        if written.sha256 != manifest.files[path.name].sha256:
            raise VaultError(f"{path} changed while it was copied; adopt it again")
        manifest.write(into / f"{path.name}{SUFFIX}")
    return manifest


def _sums(path: Path) -> list[tuple[str, FileRecord]]:
    if path.is_file():
        return [(path.name, checksum(path))]
    files = sorted(each for each in path.rglob("*") if each.is_file())
    return [(each.relative_to(path).as_posix(), checksum(each)) for each in files]


def _say(quiet: bool, screen: Any, mark: str, style: str, sentence: str) -> None:
    if not quiet:
        screen.print(Text(f"{mark}  ", style) + words(sentence), soft_wrap=True)


ADOPT = Verb("record a checksum of a file that premortem did not write", adopt_parser, call)
