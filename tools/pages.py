"""Write what comes from elsewhere: docs/units/ and the tables of rules from the units, numbers from bench/.

`python tools/pages.py` rewrites what is stale; with `--check` it only says what is, and exits with 1.
"""

from __future__ import annotations

import json
import statistics
import sys
from pathlib import Path
from typing import Any

from premortem import catalog
from premortem.lint import problems, rules

ROOT = Path(__file__).resolve().parent.parent
MODELS = {"decoder": "GPT-2 sized decoder", "conv": "conv net", "mlp": "32-layer MLP, launch-bound"}
NOTE = "<!-- Written by `make docs` from the unit's docstring: change it there. -->"


def unit_page(entry: catalog.Entry) -> str:
    return f"{NOTE}\n# {entry.page}"


def table(entries: tuple[catalog.Entry, ...]) -> str:
    rows = [
        f"| {_link(e)} | {e.card.family} | {e.card.severity.value} | {_cell(e.summary)} |" for e in entries
    ]
    return "\n".join(["| finding | family | severity | what it means |", "|---|---|---|---|", *rows])


def lint_rules(entries: tuple[catalog.Entry, ...]) -> str:
    """For docs/lint.md: what is on by default, then what `--preview` adds."""
    parts = []
    for preview, title in ((False, "On by default"), (True, "With `--preview`")):
        rows = [
            f"| {_link(e, 'units')} | {e.card.family} | {e.card.severity.value} | {_cell(e.summary)} |"
            for e in entries
            if e.card.preview is preview
        ]
        head = ["| rule | family | severity | what it finds |", "|---|---|---|---|"]
        parts.append("\n".join([f"### {title}", "", *(head + rows if rows else ["None at the moment."])]))
    return "\n\n".join(parts)


def is_of_lint(entry: catalog.Entry) -> bool:
    return entry.unit in {*rules.ALL, *problems.ALL}


def _link(entry: catalog.Entry, folder: str = "docs/units") -> str:
    return f"[{entry.card.code} {entry.card.name}]({folder}/{entry.card.name}.md)"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def overhead(result: dict[str, Any]) -> str:
    """One machine's measurements, as bench/overhead.py wrote them."""
    steps = [f"{name}, {result['step_ms'][key]} ms" for key, name in MODELS.items()]
    rows = [f"| {' | '.join(['watched by', *steps])} |", "|---|" + "---|" * len(MODELS)]
    for way, ratios in result["ratio"].items():
        rows.append(f"| {way} | " + " | ".join(f"{ratios[key]:.3f}" for key in MODELS) + " |")
    waits = sorted(set(result["added_synchronisations"].values()))
    notes = f"{result['machine']}, torch {result['torch']}, `{result['command']}`; "
    notes += f"host synchronisations added in cruise: {', '.join(waits)}; "
    added = result["startup_seconds"]
    notes += (
        f"start-up: {added} s more than importing torch." if added > 0 else "start-up: lost in the noise."
    )
    if "note" in result:
        notes += f" {result['note']}"
    return "\n".join([*rows, "", notes])


def overheads(root: Path) -> str:
    results = sorted((root / "bench" / "results").glob("overhead-*.json"), reverse=True)
    return "\n\n".join(overhead(json.loads(path.read_text())) for path in results)


def lint_costs(result: dict[str, Any]) -> str:
    """One machine's measurements, as bench/lint.py wrote them."""
    rows = ["| read by | lines | CPU | lines per CPU second | largest process |", "|---|---|---|---|---|"]
    for corpus, measured in result["corpora"].items():
        rows.append(f"| **{corpus}** | {measured['lines']:,} | | | |")
        for tool, cost in measured["tools"].items():
            numbers = f"{cost['cpu_s']:.2f} s | {cost['lines_per_cpu_s']:,} | {cost['peak_mib']} MiB"
            rows.append(f"| {tool} | | {numbers} |")
    numbers = ", ".join(f"{name} {number}" for name, number in result["versions"].items())
    warm, one = result["warm_cache"], result["one_file"]
    notes = (
        f"{numbers}; {result['machine']}; `{result['command']}`. "
        f"All of transformers again with a warm cache: {warm['wall_s']:.2f} s ({warm['cpu_s']:.2f} s CPU). "
        f"A single file: {one['wall_s']:.2f} s ({one['cpu_s']:.2f} s CPU)."
    )
    return "\n".join([*rows, "", notes])


def numerics(result: dict[str, Any]) -> str:
    """What bench/numerics.py has counted."""
    counts, faults = result["counts"], result["faults"]
    return (
        f"Measured on {faults} planted faults (`python bench/numerics.py`): {counts['detected']} are told within two steps; "
        f"the run or the replay names the exact operation of {counts['op']} and the exact line of {counts['line']}; "
        f"{counts['bitwise']} of {counts['capsule']} capsules replay to the very bits of the loss."
    )


def casebook(result: dict[str, Any]) -> str:
    """What casebook/run.py has seen."""
    quick = result["quick"]
    rows = [
        "| case | fault | asked with | said first | detected | right cause | moment | recovered | final quality |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    healthy: dict[str, dict[str, Any]] = {}
    for row in result["rows"]:
        first = row["said"][0] if row["said"] else "nothing"
        if row["id"] == "healthy":
            healthy[row["case"]] = row
            alarm = "**false alarm**" if row["said"] else "no alarm"
            reached = f"{_figure(row['quality'])} (baseline {_figure(row['baseline'])}) {row['metric']}"
            rows.append(f"| **{row['case']}** | none | run, lint | {first} | {alarm} | | | | {reached} |")
            continue
        marks = [("yes" if row[key] else "**no**") for key in ("detected", "right")]
        when = ("before" if row["step"] is None else f"step {row['step']}") + (
            "" if row["in_time"] else " (**late**)"
        )
        ended = row.get("ending") or ("recovered" if row["recovered"] else "no")
        reached = _reached(row, healthy[row["case"]], quick=quick)
        rows.append(
            f"| {row['case']} | {row['id']} | {row['verb']} | {first} | {marks[0]} | {marks[1]} | {when} | {ENDINGS.get(ended, ended)} "
            f"| {reached} |"
        )
    faulty = [row for row in result["rows"] if row["id"] != "healthy"]
    green = sum(row["green"] for row in faulty)
    alarms = sum(bool(row["said"]) for row in healthy.values())
    scale = "`python casebook/run.py --quick`: less data, fewer epochs" if quick else "`premortem casebook`"
    notes = (
        f"{green} of {len(faulty)} faults green, {alarms} false alarms on {len(healthy)} healthy runs ({scale}). "
        + (
            "At this scale the final quality says nothing, so that it is left out."
            if quick
            else "All runs are at the default scale, those of `python train.py`."
        )
    )
    return "\n".join([*rows, "", notes])


ENDINGS = {"recovered": "yes", "stopped": "stopped by premortem", "worse": "no", "not begun": "was not begun"}


def _figure(value: float | str) -> str:
    return f"{float(value):.3g}"


def _reached(row: dict[str, Any], healthy: dict[str, Any], *, quick: bool) -> str:
    if "quality" not in row:
        return "none: it was told before" if row.get("ending") == "not begun" else "none"
    return "" if quick else f"{_figure(row['quality'])}, healthy {_figure(healthy['quality'])}"


def drilled(result: dict[str, Any]) -> str:
    """What bench/drill.py has scored: a row for each mutant, a column for each case."""
    cases = result["cases"]
    cells = {name: {each["name"]: each for each in case["mutants"]} for name, case in cases.items()}
    mutants = list(dict.fromkeys(each["name"] for case in cases.values() for each in case["mutants"]))
    rows = [f"| mutant | {' | '.join(cases)} |", "|---|" + "---|" * len(cases)]
    rows += [
        f"| {name} | {' | '.join(_scored(cells[case].get(name)) for case in cases)} |" for name in mutants
    ]
    caught = [
        f"**{sum(each['caught'] for each in case['mutants'])} of {sum(each['took_effect'] for each in case['mutants'])}**"
        for case in cases.values()
    ]
    alarms = [str(len(case["clean"]["false_alarms"])) for case in cases.values()]
    rows += [
        f"| **caught of those that took effect** | {' | '.join(caught)} |",
        f"| **false alarms as it is** | {' | '.join(alarms)} |",
    ]
    return "\n".join([*rows, "", "A number is the step at which it was told. `python bench/drill.py`."])


def _scored(told: dict[str, Any] | None) -> str:
    if told is None:
        return ""
    if not told["took_effect"]:
        outcome: str = told["outcome"]
        return {"does not apply here": "", "changes nothing here": "no change"}.get(outcome, outcome)
    if not told["caught"]:
        return "**missed**"
    where = "survived" if told["step"] is None else str(told["step"] or "end")
    return where if told["right_family"] else f"{where} (other cause)"


def checkpoints(result: dict[str, Any]) -> str:
    """What bench/checkpoints.py has counted and timed."""
    rows = ["| killed with SIGKILL while it saved | times | torn | lost |", "|---|---|---|---|"]
    rows += [f"| {k['way']} | {k['kills']} | {k['torn']} | {k['lost']} |" for k in result["kills"]]
    flips, disks, mirror = result["flips"], result["disks"], result["mirrors"]
    loads = flips["loads under run"]
    broken = sum(count for fate, count in mirror["connections"].items() if fate != "pass")
    arrived = "arrived" if mirror["newest there"] else "did not arrive"
    survived = ", ".join(f"{kind} {d['survived']} of {d['saves']} times" for kind, d in disks.items())
    notes = [
        (
            f"{flips['caught']} of {flips['flips']} flipped bits were caught: by `ckpt verify`, by a vault when it loads, and by "
            f"`premortem run` when a script calls `torch.load`. That alone took {loads['torch.load silent']} of {loads['flips']} without "
            f"a word; premortem told {loads['told']}, and the rest raised or lay in bytes that nothing reads."
        ),
        f"The last good checkpoint survived {survived}.",
        (
            f"An S3 mirror behind a proxy that broke {broken} of {sum(mirror['connections'].values())} connections, whose "
            f"process was killed {mirror['kills']} times: the newest of {mirror['checkpoints']} checkpoints {arrived}; "
            f"moments in which none was whole over there: {mirror['times that nothing was there']}."
        ),
    ]
    if speed := result.get("speed"):
        stall, load = speed["stall"], speed["load"]
        notes.append(
            f"An asynchronous save of {stall['MiB']} MiB stalls {stall['ratio']:.2f} of a {stall['beside']}; a verified load "
            f"takes {load['ratio']:.2f} of `torch.load`."
        )
        if watched := speed.get("load under run"):
            notes.append(
                f"Under `premortem run`, `torch.load` takes {watched['ratio']:.2f} of its time alone."
            )
    if note := result.get("note"):
        notes.append(note)
    machine = f"{result['device']}, torch {result['torch']}, `python bench/checkpoints.py`."
    return "\n".join([*rows, "", " ".join([*notes, machine])])


def checked(cases: list[dict[str, Any]]) -> str:
    """What bench/check.py has found."""
    named, silent = (sum(bool(case["named"]) for case in cases), sum(not case["alarms"] for case in cases))
    seconds = [took for case in cases for took in case["seconds"].values()]
    return (
        f"Of {len(cases)} projects with one broken thing each, {named} are named before their first epoch; of their {len(cases)} healthy "
        f"twins, {silent} pass without an error or a warning. A check took {statistics.median(seconds):.0f} s in the median and "
        f"{max(seconds):.0f} s at most, on two cores that others used too (`python bench/check.py`)."
    )


def ram_cache(result: dict[str, Any]) -> str:
    """What bench/ram_cache.py has measured."""
    rows = [
        "| read from | CPU of one read | CPU of one image in a batch | images/s | copies |",
        "|---|---|---|---|---|",
    ]
    for way, found in result["ways"].items():
        rows.append(
            f"| {way} | {found['read_us']:,.0f} µs | {found['cpu_us_per_image']:,.0f} µs "
            f"| {found['images_per_s']:,.0f} | {max(0.0, found['copies']):.1f} |"
        )
    notes = (
        f"{result['images']:,} PNG images of {result['side']}×{result['side']}, {result['decoded_mib']:.0f} MiB decoded, "
        f"{result['workers']} workers on {result['machine']}; the page cache reads decoded `.npy` files, the dictionary is one in the "
        f"dataset, so in each worker. All of it in the fourth epoch; torch {result['torch']}, `python bench/ram_cache.py`."
    )
    return "\n".join([*rows, "", notes])


def fit_table(guesses: dict[str, Any], truths: dict[str, Any]) -> str:
    """Predicted beside measured, one configuration a row, with what else is used to guess."""
    rows = [
        "| configuration | batch | allocated, MiB | error | reserved, MiB | error | MemTracker | weights ×4 | largest batch, truth |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for name, truth in truths.items():
        guess = guesses.get(name)
        if guess is None or "allocated" not in truth:
            rows.append(f"| {name} | | {truth.get('error', 'not predicted')} | | | | | | |")
            continue
        errors = [f"{guess[key] / truth[key] - 1:+.2%}" for key in ("allocated", "reserved")]
        others = [
            f"{guess[key] / truth['allocated'] - 1:+.0%}"
            if key in guess
            else "fails" * ("memtracker_error" in guess)
            for key in ("memtracker", "weights_times_four")
        ]
        both = [str(guess.get("largest_batch", "")), str(truth.get("largest_batch", ""))]
        mib = [f"{truth[key] / 2**20:.0f}" for key in ("allocated", "reserved")]
        mark = _HALVES[_half(guess)][0]
        cells = [name + mark, str(guess["batch"]), mib[0], errors[0], mib[1], errors[1], *others]
        rows.append(f"| {' | '.join(cells)} | {', '.join(filter(None, both))} |")
    return "\n".join(rows)


_HALVES = {
    "fresh": (" **", "written and predicted when all others had been measured, before they were measured"),
    "held-out": (" *", "held out: predicted before they were measured"),
    "tuned": ("", "tuned on"),
}


def _half(guess: dict[str, Any]) -> str:
    return str(guess.get("half") or ("held-out" if guess["held_out"] else "tuned"))


def fit_summary(guesses: dict[str, Any], truths: dict[str, Any]) -> str:
    """The numbers a person asks for, each part of the set apart."""
    both = {n: (guesses[n], t) for n, t in truths.items() if n in guesses and "allocated" in t}
    sentences = []
    for half, (_, title) in _HALVES.items():
        pairs = [pair for pair in both.values() if _half(pair[0]) == half]
        if not pairs:
            continue
        parts = []
        for key, source in (
            ("allocated", "allocated"),
            ("reserved", "reserved"),
            ("allocated", "memtracker"),
        ):
            sizes = [abs(guess[source] / truth[key] - 1) for guess, truth in pairs if source in guess]
            if sizes:
                what = "torch's MemTracker" if source == "memtracker" else f"{key} memory"
                parts.append(f"{what} {sum(sizes) / len(sizes):.1%} on average, {max(sizes):.1%} at worst")
        sentences.append(f"{len(pairs)} configurations ({title}): error of {'; '.join(parts)}.")
    batches = [
        (guess["largest_batch"], truth["largest_batch"])
        for guess, truth in both.values()
        if "largest_batch" in guess and "largest_batch" in truth
    ]
    if batches:
        near = sum(abs(guess - truth) <= 1 for guess, truth in batches)
        above = [f"{guess - truth}" for guess, truth in batches if guess > truth]
        worst = f", too large by {', '.join(above)} in {len(above)}" if above else ", never too large"
        sentences.append(
            f"The largest batch on a card of limited size, searched for on the card: right to within one in {near} of "
            f"{len(batches)}{worst}. `premortem fit` stays four percent below that."
        )
    return "\n".join(f"- {sentence}" for sentence in sentences)


def fit_verdicts(truths: dict[str, Any]) -> str:
    """How the runs ended that had as much memory as the smallest card with each verdict."""
    words = {
        "fits": "the smallest card with the verdict *fits*",
        "four_percent": "four percent more than *tight*",
        "tight": "the smallest card with *tight*",
        "below": "five percent less than that",
    }
    rows = ["| memory | ran | out of memory | another error |", "|---|---|---|---|"]
    for key, title in words.items():
        ends = [row[key]["ended"] for row in truths.values() if key in row]
        counts = [ends.count("ran"), ends.count("out of memory")]
        rows.append(f"| {title} | {counts[0]} | {counts[1]} | {len(ends) - sum(counts)} |")
    return "\n".join(rows)


def precision(verdicts: list[dict[str, Any]], names: dict[str, str]) -> str:
    """For each rule: how many of its reports on other people's code were read, and how many were right."""
    rows = [
        "| rule | right | wrong, and silent since a repair | wrong | repositories and packages |",
        "|---|---|---|---|---|",
    ]
    for code, name in names.items():
        mine = [verdict for verdict in verdicts if verdict["rule"] == code]
        right = sum(verdict["true"] for verdict in mine)
        repaired = sum(verdict.get("repaired", False) for verdict in mine)
        places = len({verdict["repository"] for verdict in mine})
        counts = f"{right} | {repaired} | {len(mine) - right - repaired} | {places}"
        rows.append(f"| {code} {name} | {counts if mine else 'never spoke | | | '} |")
    return "\n".join(rows)


def between(text: str, name: str, inner: str, file: str = "README.md") -> str:
    """The text with `inner` between its two marks of that name."""
    begin, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
    before, found, rest = text.partition(begin)
    _old, closed, after = rest.partition(end)
    if not found or not closed:
        raise SystemExit(f"{file} needs the lines `{begin}` and `{end}`, in this order")
    return f"{before}{begin}\n{inner}\n{end}{after}"


def wanted(root: Path = ROOT) -> dict[Path, str | None]:
    """Every generated file and what must be in it; None for one that must not be there."""
    entries = catalog.entries()
    units = root / "docs" / "units"
    readme = root / "README.md"
    pages: dict[Path, str | None] = dict.fromkeys(units.glob("*.md"))
    pages.update({units / f"{entry.card.name}.md": unit_page(entry) for entry in entries})
    watched = tuple(entry for entry in entries if not is_of_lint(entry))
    text = between(readme.read_text(encoding="utf-8"), "catalog table", table(watched))
    if measured := overheads(root):
        text = between(text, "overhead table", measured)
    costs = root / "bench" / "results" / "lint.json"
    if costs.exists():
        text = between(text, "lint table", lint_costs(json.loads(costs.read_text(encoding="utf-8"))))
    planted = root / "bench" / "results" / "numerics.json"
    if planted.exists():
        text = between(text, "numerics", numerics(json.loads(planted.read_text(encoding="utf-8"))))
    kept = root / "bench" / "results" / "checkpoints.json"
    if kept.exists():
        text = between(text, "checkpoints table", checkpoints(json.loads(kept.read_text(encoding="utf-8"))))
    rehearsed = root / "bench" / "results" / "check.json"
    if rehearsed.exists():
        text = between(text, "check", checked(json.loads(rehearsed.read_text(encoding="utf-8"))))
    cached = root / "bench" / "results" / "ram_cache.json"
    if cached.exists():
        text = between(text, "ram cache table", ram_cache(json.loads(cached.read_text(encoding="utf-8"))))
    guessed, true = (root / "bench" / "results" / f"fit-{word}.json" for word in ("predicted", "measured"))
    if guessed.exists() and true.exists():
        found = [json.loads(path.read_text(encoding="utf-8"))["configurations"] for path in (guessed, true)]
        text = between(text, "fit", fit_summary(*found))
        fitted = root / "docs" / "fit.md"
        inner = between(fitted.read_text(encoding="utf-8"), "fit table", fit_table(*found), "docs/fit.md")
        ended = root / "bench" / "results" / "fit-verdicts-measured.json"
        if ended.exists():
            truths = json.loads(ended.read_text(encoding="utf-8"))
            inner = between(inner, "fit verdicts", fit_verdicts(truths), "docs/fit.md")
        pages[fitted] = inner
    book, seen = root / "casebook" / "README.md", root / "bench" / "results" / "casebook.json"
    if book.exists() and seen.exists():
        inner = casebook(json.loads(seen.read_text(encoding="utf-8")))
        page = between(book.read_text(encoding="utf-8"), "casebook table", inner, "casebook/README.md")
        scored = root / "bench" / "results" / "drill.json"
        if scored.exists():
            inner = drilled(json.loads(scored.read_text(encoding="utf-8")))
            page = between(page, "drill table", inner, "casebook/README.md")
        pages[book] = page
    guide = root / "docs" / "lint.md"
    if guide.exists():
        inner = lint_rules(tuple(entry for entry in entries if is_of_lint(entry)))
        pages[guide] = between(guide.read_text(encoding="utf-8"), "rules table", inner, "docs/lint.md")
    read = root / "docs" / "lint" / "precision.md"
    if read.exists():
        verdicts = json.loads((root / "docs" / "lint" / "verdicts.json").read_text(encoding="utf-8"))
        names = {entry.card.code: entry.card.name for entry in entries if is_of_lint(entry)}
        inner = precision(verdicts, names)
        pages[read] = between(
            read.read_text(encoding="utf-8"), "precision table", inner, "docs/lint/precision.md"
        )
    return {**pages, readme: text}


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
