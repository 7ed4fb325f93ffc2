"""Pictures of all pages in a real browser, to be looked at before each release: `python tools/screens.py [FOLDER]`.

Report, list, live page, comparison and `why`, each as on a desk and on a telephone, light and dark. They are made of real runs of
two small scripts. `--docs` takes the few that the documentation shows, into docs/_static/screens.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
SHOWN = ROOT / "docs" / "_static" / "screens"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
SCREENS = {"desk": (1280, 900), "phone": (390, 844)}
# What the documentation keeps: small files, and each page once.
KEPT = (
    "report-desk-light report-phone-dark list-desk-light live-desk-dark comparison-desk-light why-desk-light"
).split()
# All plots that can be seen, also where the machine is busy.
DRAWN = """() => [...document.querySelectorAll('.plot')].every(
    plot => plot.childElementCount || plot.getBoundingClientRect().top > innerHeight || plot.getBoundingClientRect().bottom < 0)"""
SCRIPT = """import sys
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def loss_of(score, y):
    p = torch.sigmoid(score).squeeze(1)
    return -(y * torch.log(p) + (1 - y) * torch.log1p(-p)).mean()


def main(scale, pause, epochs):
    torch.manual_seed(0)
    x = torch.randn(2048, 16)
    x[::97] *= scale
    y = (x[:, 0] > 0).float()
    loader = DataLoader(TensorDataset(x, y), batch_size=32, shuffle=True)
    net = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 1))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1 if scale > 1 else 0.005)
    for epoch in range(epochs):
        for xb, yb in loader:
            optimizer.zero_grad()
            loss = loss_of(net(xb), yb)
            loss.backward()
            optimizer.step()
            time.sleep(pause)
        print(f"epoch {epoch} loss {loss.item():.4f}")
        torch.save(net.state_dict(), "net.pt")


main(float(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3]))
"""


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT / "build" / "screens")
    parser.add_argument("--docs", action="store_true", help="take those that the documentation shows")
    options = parser.parse_args()
    if CHROMIUM is None:
        sys.exit("there is no chromium here")
    options.folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="premortem-screens-") as folder:
        made = dict(pictures(Path(folder), options.folder))
    print(f"{len(made)} pictures in {options.folder}")
    if options.docs:
        SHOWN.mkdir(parents=True, exist_ok=True)
        for name in KEPT:
            shutil.copy(made[name], SHOWN)
    return 0


def pictures(home: Path, target: Path) -> Iterator[tuple[str, Path]]:
    from playwright.sync_api import TimeoutError as PlaywrightTimeout
    from playwright.sync_api import sync_playwright

    (home / "train.py").write_text(SCRIPT)
    premortem(home, "run", "--quiet", "--folder", "runs/broken", "train.py", "400", "0", "8")
    premortem(home, "run", "--quiet", "--folder", "runs/healthy", "train.py", "1", "0", "8")
    premortem(home, "why", "--quiet", "--minutes", "2", "runs/broken")
    premortem(home, "report", "runs/broken", "-o", "report.html")
    live = started(home, "run", "--quiet", "--folder", "runs/live", "train.py", "1", "0.02", "1000")
    server = started(home, "ui", "runs", stdout=subprocess.PIPE)
    try:
        address = str(server.stdout.readline()).strip()
        base = address.partition("/?")[0]
        pages = {
            "report": (home / "report.html").as_uri(),
            "list": f"{base}/",
            "live": f"{base}/runs/live",
            "comparison": f"{base}/compare?run=broken&run=healthy",
            "why": f"{(home / 'report.html').as_uri()}#why",
        }
        time.sleep(5)  # until the live run has made some steps
        with sync_playwright() as driver, opened(driver) as browser:
            for size, (width, height) in SCREENS.items():
                for scheme in ("light", "dark"):
                    context = browser.new_context(
                        viewport={"width": width, "height": height},
                        color_scheme=scheme,
                        reduced_motion="reduce",
                    )
                    page = context.new_page()
                    page.goto(address)
                    for name, where in pages.items():
                        page.goto(where)
                        page.wait_for_timeout(1500)
                        with suppress(PlaywrightTimeout):  # below the window nothing may be drawn at all
                            page.wait_for_function(DRAWN, timeout=20_000)
                        path = target / f"{name}-{size}-{scheme}.png"
                        page.screenshot(path=path)
                        yield path.stem, path
                    context.close()
    finally:
        for process in (server, live):
            process.terminate()
            process.wait()


@contextmanager
def opened(driver: Any) -> Iterator[Any]:
    browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
    yield browser
    browser.close()


def premortem(home: Path, *words: str) -> None:
    started(home, *words).wait()


def started(home: Path, *words: str, stdout: Any = subprocess.DEVNULL) -> Any:
    command = [sys.executable, "-m", "premortem", *words]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(command, cwd=home, env=environment, stdout=stdout, text=True)


if __name__ == "__main__":
    sys.exit(main())
