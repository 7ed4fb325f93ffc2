"""Releases on the package index: which there are, and their sources."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

# Wheels for Apple silicon carry the same sources as the others and are the smallest by far.
PLATFORMS = ("macosx_11_0_arm64", "macosx_14_0_arm64")
PYTHON = "3.11"
KEPT = (".py", ".pyi", "/native_functions.yaml")


def releases(name: str, oldest: tuple[int, ...]) -> list[str]:
    """The latest patch of every minor release since `oldest`, oldest first."""
    found: set[str] = set()
    for platform in PLATFORMS:
        answer = _pip("index", "versions", name, "--platform", platform)
        for listed in re.findall(r"Available versions: (.*)", answer.stdout):
            found |= set(listed.split(", "))
    latest: dict[tuple[int, ...], str] = {}
    for version in sorted(found, key=_numbers):
        latest[_numbers(version)[:2]] = version
    return [version for minor, version in sorted(latest.items()) if minor >= oldest]


def _numbers(version: str) -> tuple[int, ...]:
    """`2.0.1.post0` is after `2.0.1`."""
    release, _, post = version.partition(".post")
    return (*map(int, release.split(".")), int(post or -1) + 1)


def sources(name: str, version: str, folder: Path) -> Path:
    """An archive with the sources of a release; the wheel they come from is not kept."""
    kept = folder / f"{name}-{version}.zip"
    if not kept.exists():
        with tempfile.TemporaryDirectory() as temporary:
            wheel = _download(name, version, Path(temporary))
            _keep(wheel, kept)
    return kept


def _download(name: str, version: str, folder: Path) -> Path:
    for platform in PLATFORMS:
        answer = _pip(
            "download", f"{name}=={version}", "--platform", platform, "--no-deps", "--dest", str(folder)
        )
        if answer.returncode == 0:
            return next(folder.glob("*.whl"))
    raise SystemExit(f"no wheel of {name} {version}: {answer.stderr.strip()}")


def _keep(wheel: Path, kept: Path) -> None:
    partial = kept.with_suffix(".part")
    with zipfile.ZipFile(wheel) as whole, zipfile.ZipFile(partial, "w", zipfile.ZIP_DEFLATED) as small:
        for entry in whole.namelist():
            if entry.endswith(KEPT):
                small.writestr(entry, whole.read(entry))
    partial.rename(kept)


def _pip(*arguments: str) -> subprocess.CompletedProcess[str]:
    options = ("--only-binary=:all:", "--python-version", PYTHON)
    command = [sys.executable, "-m", "pip", *arguments, *options]
    return subprocess.run(command, capture_output=True, text=True, check=False)
