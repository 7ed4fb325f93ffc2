"""How long a report takes, and how large it is: synthetic journals of 100 000 and 1 000 000 kept steps.

    python bench/report.py [--json FILE]

"data" is everything up to the first line of a page: opening the journal, all curves, findings, layers. The rest is
Bokeh making JSON of it. Seconds are those of the processor, so that a busy machine changes little.
"""

from __future__ import annotations

import argparse
import json
import math
import platform
import random
import sqlite3
import tempfile
import time
from pathlib import Path

from premortem.events import Custody, Link
from premortem.findings import Certainty, Finding, Severity
from premortem.journal import Journal
from premortem.report import html, markdown, story


def journal(folder: Path, steps: int, layers: int = 40) -> Path:
    """A run with one spike of one step, and NaN in its last thousand steps."""
    made = Journal.open(
        folder, meta={"argv": ["train.py"], "reason": "finished", "steps": steps}, on_problem=print
    )
    for step in [*range(1, 9), *range(500, steps, max(500, steps // 200))]:
        made.event(Custody(step=step, optimizer=1, links=tuple(link(step, layer) for layer in range(layers))))
    for number in range(20):
        made.finding(
            Finding(
                code=f"PM4{number:02}",
                name="bench",
                family="numerics-nan",
                severity=Severity.ERROR,
                certainty=Certainty.MEASURED,
                step=steps - 1000,
                message=f"finding {number}",
            )
        )
    made.close()
    drawn = random.Random(0)
    rows = (
        (
            step,
            1,
            1e9 + step * 0.01,
            "nan"
            if step > steps - 1000
            else 40.0
            if step == steps // 2 + 17
            else 2 * math.exp(-step / steps) + drawn.random(),
            1 + drawn.random(),
            1e-3 * (1 - step / steps),
        )
        for step in range(1, steps + 1)
    )
    connection = sqlite3.connect(made.path)
    connection.executemany("INSERT INTO steps VALUES (?, ?, ?, ?, ?, ?)", rows)
    connection.commit()
    connection.close()
    return made.path


def link(step: int, layer: int) -> Link:
    return Link(
        key=layer,
        name=f"model.blocks.{layer}.linear.weight",
        model=1,
        numel=4096,
        trainable=True,
        ran=True,
        ran_without_grad=False,
        reached=True,
        graded=True,
        gradient=1.0 / (1 + step % 7 + layer),
        owners=(1,),
        moved=True,
        weight=1.0,
        update=1e-3,
        loaded=False,
        trained=True,
        born_after=False,
        hidden="",
        head=False,
    )


def measure(steps: int) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as scratch:
        path = journal(Path(scratch), steps)
        began = time.process_time()
        told = story.read(path)
        data = time.process_time() - began
        began = time.process_time()
        page = html.page(told)
        drawing = time.process_time() - began
        began = time.process_time()
        text = markdown.page(told)
        writing = time.process_time() - began
        return {
            "steps": steps,
            "data_seconds": round(data, 3),
            "html_seconds": round(drawing, 3),
            "markdown_seconds": round(writing, 3),
            "html_bytes": len(page.encode()),
            "markdown_bytes": len(text.encode()),
            "spike_kept": float(told.curves["loss"][""].high == 40.0),
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    found = [measure(steps) for steps in (100_000, 1_000_000)]
    for each in found:
        print(
            f"{each['steps']:>9,} steps: data {each['data_seconds']:.2f} s, page {each['html_seconds']:.2f} s and "
            f"{each['html_bytes'] / 1e6:.2f} MB, Markdown {each['markdown_seconds']:.2f} s and "
            f"{each['markdown_bytes'] / 1e3:.0f} kB"
        )
    if options.json:
        record = {"machine": platform.machine(), "python": platform.python_version(), "measured": found}
        options.json.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
