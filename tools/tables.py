"""Tables and sentences from what the programs in bench/ have measured. tools/pages.py puts them into the pages."""

from __future__ import annotations

import statistics
from typing import Any

from premortem.fit.trials import RESERVE

MODELS = {"decoder": "GPT-2 sized decoder", "conv": "conv net", "mlp": "32-layer MLP, launch-bound"}


def overhead(result: dict[str, Any]) -> str:
    """One machine's measurements, as bench/overhead.py wrote them."""
    steps = [f"{name}, {result['step_ms'][key]} ms" for key, name in MODELS.items()]
    rows = [f"| {' | '.join(['watched by', *steps])} |", "|---|" + "---|" * len(MODELS)]
    for way, ratios in result["ratio"].items():
        rows.append(f"| {way} | " + " | ".join(f"{ratios[key]:.3f}" for key in MODELS) + " |")
    waits = sorted(set(result["added_synchronisations"].values()))
    notes = f"{result['machine']}, torch {result['torch']}, `{result['command']}`; "
    notes += f"host synchronisations added in cruise: {', '.join(waits)}"
    if "startup_seconds" in result:
        notes += f"; start-up: {result['startup_seconds']} s more than importing torch"
    notes += "."
    if "note" in result:
        notes += f" {result['note']}"
    return "\n".join([*rows, "", notes])


_LOOPS = {
    "gpt": "GPT-2 of 124 million weights, bfloat16, clipping, printing every loss",
    "deep": "16 layers, fused optimizer",
    "deep_default": "... default optimizer",
    "plain": "small MLP, default optimizer",
    "logged": "... printing every loss",
    "clip_schedule": "... with clipping and a schedule",
    "bf16": "... in bfloat16",
    "scaler": "... in float16 with a scaler",
    "accumulation": "... accumulating micro-batches",
    "loader_eval": "... from a loader, with evaluations",
    "q_learning": "Q-learning, with many small forward passes",
    "gan": "GAN, two optimizers",
}


def cost(result: dict[str, Any]) -> str:
    """`premortem run script` beside `python script`, as bench/cost.py wrote it."""
    rows = [
        "| loop | a turn | added late (each round) | ratio | added by the first 1000 turns |",
        "|---|---|---|---|---|",
    ]
    for key, name in _LOOPS.items():
        if key not in result["loops"]:  # a machine is lent for a limited time
            continue
        loop = result["loops"][key]
        few = f" (the first {loop['early_turns']})" if "early_turns" in loop else ""
        rows.append(
            f"| {name} | {loop['turn_us'] / 1000:.1f} ms | {_each_round(loop)} ms | {loop['late_ratio']:.2f} "
            f"| {loop['early_added_s']:.1f} s{few} |"
        )
    return "\n".join([*rows, "", f"{result['machine']}, torch {result['torch']}, `{result['command']}`."])


def _each_round(loop: dict[str, Any]) -> str:
    rounds = sorted(loop["late_added_us_all"])
    few = f"{loop['late_added_us'] / 1000:.2f}"
    return few if len(rounds) == 1 else f"{few} ({', '.join(f'{each / 1000:.2f}' for each in rounds)})"


def calls(result: dict[str, Any]) -> str:
    """Calls of Python functions in a turn, as bench/cost.py counted them."""
    rows = [
        "| loop | calls in a turn | added early | added late |",
        "|---|---|---|---|",
    ]
    for name, loop in result["loops"].items():
        rows.append(
            f"| {name} | {loop['late_calls']} | {loop['early_added_calls']} | {loop['late_added_calls']} |"
        )
    return "\n".join([*rows, "", f"torch {result['torch']}, `{result['command']}`."])


def overheads(*results: dict[str, Any]) -> str:
    return "\n\n".join(overhead(result) for result in results)


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


def unseen(result: dict[str, Any]) -> str:
    """What bench/numerics.py has counted on faults that were written after the code."""
    counts, faults = result["counts"], result["faults"]
    return (
        f"On {faults} faults that were written when the code was finished, and only counted (`--set unseen --half closed`), the run "
        f"alone detects {counts['detected']}, names the operation of {counts['run_op']} and the line of {counts['run_line']}; "
        f"{counts['alarm']} of their {faults} healthy twins got an alarm."
    )


def numerics(result: dict[str, Any]) -> str:
    """What bench/numerics.py has counted."""
    counts, faults = result["counts"], result["faults"]
    return (
        f"Measured on {faults} planted faults (`python bench/numerics.py`): {counts['detected']} are reported within two steps; "
        f"the run or the replay names the exact operation of {counts.get('op', counts.get('replay_op'))} and the exact line of {counts.get('line', counts.get('replay_line'))}; "
        f"{counts['bitwise']} of {counts['capsule']} capsules replay to the very bits of the loss."
    )


def trust(result: dict[str, Any]) -> str:
    """What bench/trust.py has counted."""
    rows = [f"| {what} | {found['tried']} | {found['failed']} |" for what, found in result["parts"].items()]
    return "\n".join(["| what was tried | cases | failed |", "|---|---|---|", *rows])


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
            f"a word; premortem reported {loads['told']}, and the rest raised or lay in bytes that nothing reads."
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


def kills(result: dict[str, Any]) -> str:
    """For the README: the first lines of that table, as a sentence."""
    alone, watched = result["kills"][:2]
    flips = result["flips"]
    return (
        f"Killed with SIGKILL while it saved, `{alone['way']}` left a torn file {alone['torn']} of {alone['kills']} times, "
        f"`premortem run` {watched['torn']} of {watched['kills']} times. {flips['caught']} of {flips['flips']} flipped bits in saved files "
        f"were reported (`python bench/checkpoints.py`)."
    )


def report_and_ui(report: dict[str, Any], ui: dict[str, Any]) -> str:
    """What bench/report.py and bench/ui.py have timed."""
    rows = [
        "| steps of the run | journal read | page made | page | Markdown made | a spike of one step is on it |",
        "|---|---|---|---|---|---|",
    ]
    for found in report["measured"]:
        kept = "yes" if found["spike_kept"] == 1 else "no"
        rows.append(
            f"| {found['steps']:,} | {found['data_seconds']:.2f} s | {found['html_seconds']:.2f} s "
            f"| {found['html_bytes'] / 1e6:.1f} MB | {found['markdown_seconds']:.3f} s | {kept} |"
        )
    many, long = ui["measured"]
    notes = (
        f"The live page over {many['runs']:,} runs: there after {many['first_page_seconds']:.2f} s, all of them read after "
        f"{many['all_read_seconds']:.1f} s, a search takes {many['search_seconds'] * 1000:.0f} ms. A run of {long['steps']:,} steps opens in "
        f"{long['open_seconds']:.2f} s. {report['machine']}, Python {report['python']}, `python bench/report.py`, `python bench/ui.py`."
    )
    return "\n".join([*rows, "", notes])


def matrix(result: dict[str, Any]) -> str:
    rows = []
    for pair, tried in result.items():
        python, torch = tried.get("python") or pair.split("-")[0], tried.get("torch") or pair.split("-")[1]
        counts = [f"{tried[word]} {word}" for word in ("passed", "failed", "skipped") if tried.get(word)]
        tests = ", ".join(counts) or tried.get("why", "")
        rows.append(f"| {python} | {torch} | {tried['result']} | {tests} | {tried.get('when', '–')} |")
    return "\n".join(["| Python | torch | quick suite | tests | when |", "|---|---|---|---|---|", *rows])


def ranks(result: dict[str, Any]) -> str:
    """What bench/ranks.py has measured: what watching adds to a step on two ranks."""
    titles = {
        "calm": "a run that has made a thousand steps",
        "told": "before that, every step",
        "audited": "a step that is looked at closely (the first eight, powers of two, every 500th)",
    }
    names = {"ddp": "`DistributedDataParallel`", "fsdp2": "FSDP2"}
    rows = [
        "| | added, by the clock | ratio | added processor time of the training thread | as a share of 50 ms |",
        "|---|---|---|---|---|",
    ]
    for kind, found in result["kinds"].items():
        own = f"a step of {found['step_ms']:.0f} ms, {found['step_cpu_ms']:.1f} ms of them processor time"
        rows.append(f"| **{names[kind]}**, {own} | | | | |")
        for gear, title in titles.items():
            more = found["gears"][gear]
            rows.append(
                f"| {title} | {more['added_ms']:.2f} ms | {more['ratio']:.3f} | {more['added_cpu_ms']:.2f} ms "
                f"| {more['cpu_share_of_50_ms']:.1%} |"
            )
        comparing = found["comparing"]
        rows.append(
            f"| of it, comparing the ranks; one digest: {comparing['digest_bytes']:,} bytes, {comparing['digest_ms']:.1f} ms | | "
            f"| {comparing['cpu_us_a_step'] / 1000:.2f} ms | {comparing['share_of_50_ms']:.2%} |"
        )
    rounds = [
        f"{names[kind]} {min(each):+.1f} to {max(each):+.1f} ms"
        for kind, found in result["kinds"].items()
        if (each := found["gears"]["calm"]["added_ms_in_each_round"])
    ]
    parameters = next(iter(result["kinds"].values()))["parameters"]
    notes = (
        f"Two gloo ranks, {parameters} parameters, AdamW; {result['machine']}, torch {result['torch']}, `{result['command']}`. By the "
        f"clock the rounds of the first row differ by what else the machine does: {', '.join(rounds)}."
    )
    if result["more"]:
        notes += " On more ranks than there are cores, by the processor's time of one rank's training thread:"
    return "\n".join([*rows, "", notes, *_on_more_ranks(result["more"], names)])


def _on_more_ranks(found: list[dict[str, Any]], names: dict[str, str]) -> list[str]:
    if not found:
        return []
    rows = [
        "",
        "| ranks | | a step | added after a thousand steps | added before that | of it, comparing the ranks |",
        "|---|---|---|---|---|---|",
    ]
    rows += [
        f"| {each['ranks']} | {names[each['kind']]} | {each['step_cpu_ms']:.1f} ms | {each['added_cpu_ms']['calm']:.2f} ms "
        f"| {each['added_cpu_ms']['told']:.2f} ms | {each['comparing_cpu_us_a_step'] / 1000:.2f} ms |"
        for each in found
    ]
    return rows


def ranks_measured(result: dict[str, Any]) -> str:
    """What bench/ranks_scale.py has measured, and the one number that is fitted to it."""
    rows = [
        "| ranks | operations a second | processor time of the store, share of one core | gathering a round |",
        "|---|---|---|---|",
    ]
    last = result["largest_world"]
    for found in result["measured"]:
        predicted = f" (predicted: {last['predicted']:.1%})" if found["ranks"] == last["ranks"] else ""
        took = "" if found["round_ms"] is None else f"{found['round_ms']:.0f} ms"
        rows.append(
            f"| {_spaced(found['ranks'])} | {_spaced(found['operations_a_second'])} | {found['store_cpu_share']:.1%}{predicted} | {took} |"
        )
    notes = (
        f"The model is one number, {result['microseconds_an_operation']:.0f} microseconds of the store's processor for an operation, "
        f"fitted to all but the last row."
    )
    return "\n".join([*rows, "", notes])


def ranks_modelled(result: dict[str, Any]) -> str:
    """The same, extended to more ranks than a machine has."""
    rows = [
        "| ranks | sent by a rank, a step | text in a round | of the store's core | every rank compared within | a stop lies ahead by |",
        "|---|---|---|---|---|---|",
    ]
    rows += [
        f"| {_spaced(found['ranks'])} | {found['bytes_a_rank_and_step']:.0f} bytes | {found['megabytes_a_round']:.2f} MB "
        f"| {found['store_cpu_share']:.2%} | {found['every_rank_compared_after_steps']} steps "
        f"| {found['stop_agreed_after_seconds']:.1f} s |"
        for found in result["model"]
    ]
    return "\n".join(rows)


def ranks_counted(result: dict[str, Any]) -> str:
    """What the agreement sends on this machine (bench/ranks_counts.py)."""
    rows = [
        "| ranks | segments sent by a rank, a step | bytes sent by a rank, a step | one digest | operations of the store, a second |",
        "|---|---|---|---|---|",
    ]
    rows += [
        f"| {found['ranks']} | {found['agreement_messages_a_step']:.1f} (most: {found['agreement_messages_a_step_most']:.1f}) "
        f"| {found['agreement_bytes_a_step']:.0f} | {found['digest_bytes']} bytes | {found['store_operations_a_second']:.0f} |"
        for found in result["counted"]
    ]
    return "\n".join(rows)


def ranks_played(result: dict[str, Any]) -> str:
    """The same agreement, played out for more ranks than a machine has."""
    rows = [
        "| ranks | messages that wait for each other | at 50 µs each | messages sent by a rank | gloo's own ring would need |",
        "|---|---|---|---|---|",
    ]
    rows += [
        f"| {_spaced(found['ranks'])} | {found['depth']} | {found['ms_at_50_us']:.2f} ms | {found['messages_a_rank']:.1f} "
        f"(most: {found['messages_a_rank_most']}) | {_spaced(found['ring_depth'])}, {found['ring_ms_at_50_us']:.1f} ms |"
        for found in result["played"]
    ]
    return "\n".join(rows)


def swept(result: dict[str, Any]) -> str:
    """What ending broken trials saves (bench/sweep.py)."""
    ended, left = result["ended_by_mistake"], result["not_ended_by_mistake"]
    went_on = [row for row in result["rows"] if row["mistake"] and not row["ended"]]
    named = sum(bool(row["codes"] or row["warnings"]) for row in went_on)
    rows = ["| mistake | trials | ended |", "|---|---|---|"]
    rows += [
        f"| {name.replace('_', ' ')} | {ended.get(name, 0) + left.get(name, 0)} | {ended.get(name, 0)} |"
        for name in sorted({*ended, *left})
    ]
    return "\n".join(
        [
            *rows,
            "",
            (
                f"{result['trials']} trials, {result['broken']} of them with a mistake: {result['ended']} were ended, at the median after "
                f"{result['steps_when_ended_median']:.0f} steps, and {result['broken_steps_not_made']:.0%} of the steps of broken trials were "
                f"not made. Of {result['healthy']} healthy trials {result['healthy_ended']} were ended and "
                f"{result['healthy_with_warnings']} had a warning. At {result['seconds_of_a_whole_trial']:.0f} s for a whole trial that is "
                f"{result['minutes_saved']:.0f} of {result['minutes_of_whole_trials']:.0f} minutes. Of the {len(went_on)} broken ones that "
                f"were not ended, {named} have a finding: a warning ends nothing, and some errors are certain only when the run is over."
            ),
        ]
    )


def shelved(result: dict[str, Any]) -> str:
    """A shelf of runs on an S3-compatible server (bench/shelf.py)."""
    listed, index, live, outage, killed = (
        result[name] for name in ("list", "index", "live", "outage", "killed")
    )
    near, far = index["near"], index["50ms"]
    return "\n".join(
        [
            "| | |",
            "|---|---|",
            (
                f"| a list of {_spaced(index['runs'])} runs, from an index of {index['index_bytes'] / 1e6:.1f} MB, over a new connection "
                f"| {near['seconds_best']:.2f} s, {near['processor_seconds_best']:.2f} s of them the processor's; "
                f"{far['seconds_best']:.2f} s where each answer comes 50 ms later. The best of {index['times']}; at the median "
                f"{near['seconds_median']:.2f} and {far['seconds_median']:.2f} s |"
            ),
            (
                f"| the same without an index, once | {_spaced(listed['no_index']['requests'])} requests, "
                f"{listed['no_index']['processor_seconds']:.0f} s of the processor |"
            ),
            (
                f"| a run of {live['seconds']} s and {live['steps']} steps | {live['bytes_sent'] / 1000:.0f} kB sent, "
                f"{live['missing']} steps missing |"
            ),
            f"| the server is away for {outage['away']} s, then slow | {outage['missing']} of {outage['steps']} steps missing |",
            (
                f"| {killed['runs']} runs killed with SIGKILL | {killed['readable']} can be read; "
                f"the last {killed['lost_seconds_median']:.1f} s are missing at the median, {killed['lost_seconds_worst']:.1f} s at the worst |"
            ),
            "",
            f"`{result['command']}`",
        ]
    )


def _spaced(number: float) -> str:
    return f"{number:,.0f}".replace(",", " ")


def checked(cases: list[dict[str, Any]]) -> str:
    """What bench/check.py has found."""
    named, silent = (sum(bool(case["named"]) for case in cases), sum(not case["alarms"] for case in cases))
    seconds = [took for case in cases for took in case["seconds"].values()]
    return (
        f"Of {len(cases)} projects with one broken thing each, {named} are named before their first epoch; of their {len(cases)} healthy "
        f"twins, {silent} pass without an error or a warning. A check took {statistics.median(seconds):.0f} s in the median and "
        f"{max(seconds):.0f} s at most, on two cores that others used too (`python bench/check.py`)."
    )


def worlds(result: dict[str, Any]) -> str:
    """What bench/worlds.py has found of all its cases on one commit."""
    again = result.get("again")
    if again is None:
        return "All cases on one commit: not counted yet (`python bench/worlds.py --half all --write`)."
    called = {
        "scripts": "the first",
        "further": "further",
        "strangers": "strangers",
        "besides": "beside the first input",
        "cells": "cells of the table",
    }
    rows = [
        f"All cases on one commit (`{again['commit']}`, {again['measured']}):",
        "",
        "| cases | half | number | named by `run` | by `check` | by either | alarms on good worlds |",
        "|---|---|---|---|---|---|---|",
    ]
    every = list(again["cases"].values())
    for name, shown in [*called.items(), ("", "all")]:
        for half in (False, True) if name else (None,):
            cases = [
                c for c in every if (not name or c["set"] == name) and (half is None or c["closed"] is half)
            ]
            if not cases:
                continue
            verbs = [[c.get(verb, {}) for verb in ("run", "check")] for c in cases]
            run, check = (sum(bool(pair[at].get("named")) for pair in verbs) for at in (0, 1))
            either = sum(any(v.get("named") for v in pair) for pair in verbs)
            alarms = sum(any(v.get("alarm") for v in pair) for pair in verbs)
            shown_half = "both" if half is None else "closed" if half else "open"
            rows.append(f"| {shown} | {shown_half} | {len(cases)} | {run} | {check} | {either} | {alarms} |")
    return "\n".join(rows)


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


def fit_table(predicted: dict[str, Any], measured: dict[str, Any]) -> str:
    """Predicted beside measured, one configuration a row, with what else is used to guess."""
    guesses, truths = predicted["configurations"], measured["configurations"]
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
    "last": (" ***", "written last, and predicted before anybody measured them"),
    "fresh": (" **", "unseen once, and learned from since"),
    "held-out": (" *", "held out once, and learned from since"),
    "tuned": ("", "tuned on"),
}


def _half(guess: dict[str, Any]) -> str:
    return str(guess.get("half") or ("held-out" if guess["held_out"] else "tuned"))


def fit_summary(predicted: dict[str, Any], measured: dict[str, Any]) -> str:
    """The numbers a person asks for, each part of the set apart."""
    guesses, truths = predicted["configurations"], measured["configurations"]
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
    for half in ("last", ""):
        batches = [
            (guess["largest_batch"], truth["largest_batch"])
            for guess, truth in both.values()
            if "largest_batch" in guess and "largest_batch" in truth and half in {"", _half(guess)}
        ]
        if batches:
            sentences.append(_batches(batches, "of the last ones" if half else "of all"))
    held = sum(truth["reserved"] <= RESERVE * guess["reserved"] for guess, truth in both.values())
    sentences.append(
        f"*Fits* asks for {RESERVE} times what is predicted to be reserved: {held} of {len(both)} reserved no more than that on the card."
    )
    return "\n".join(f"- {sentence}" for sentence in sentences)


def _batches(batches: list[tuple[int, int]], which: str) -> str:
    """The search on the card ends when it knows the answer to one part in 256."""
    near = sum(abs(guess - truth) <= max(1, truth // 256) for guess, truth in batches)
    above = [f"{guess / truth - 1:.1%}" for guess, truth in batches if guess > truth + max(1, truth // 256)]
    worst = f", too large by {', '.join(above)} in {len(above)}" if above else ", never too large"
    return (
        f"The largest batch on a card of limited size, searched for on the card, {which}: right to within one in {near} of "
        f"{len(batches)}{worst}. `premortem fit` stays four percent below that."
    )


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


EXAM = {
    "open": "open half (rules were repaired on it)",
    "closed": "closed half, at first sight",
    "closed-2": "46 more, at first sight",
    "closed-3": "30 more, at first sight",
    "open-4": "73 more, at first sight; rules were repaired on them afterwards",
    "closed-4": "74 after those repairs, at first sight",
    "open-5": "the open half of 39 more, at first sight; rules were repaired on it afterwards",
    "closed-5": "the closed half of the 39, at first sight after those repairs",
    "open-6": "the open half of 67 more, at first sight; rules were repaired on it afterwards",
    "closed-6": "the closed half of the 67, at first sight after those repairs; then repaired on it too",
    "closed-7": "27 more after that, at first sight",
    "open-8": "the open half of 44 more, at first sight; rules were repaired on it afterwards",
    "closed-8": "the closed half of the 44, at first sight after those repairs; then repaired on it too",
    "open-9": "the open half of 25 more, at first sight; one rule in preview was repaired on it afterwards",
    "closed-9": "the closed half of the 25, at first sight; nothing was repaired on it",
    "open-10": "the open half of 41 more, at first sight; rules were repaired on it afterwards",
    "closed-10": "the closed half of the 41, at first sight after those repairs; nothing was repaired on it",
    "open-11": "55 more of the open half: what the rules of 20 November say more there; they were repaired on it",
    "closed-11": "9 more of the closed half, at first sight; two kinds were repaired on it afterwards",
    "closed-12": "10 more of it after that, at first sight; nothing was repaired on it",
}


def exam(result: dict[str, Any]) -> str:
    """What the exam counted: errors and warnings apart, for each part that was read."""
    rows = ["| read | repositories | errors right | warnings right |", "|---|---|---|---|"]
    for part, words in EXAM.items():
        size = sum(one["part"] == part for one in result["repositories"])
        mine = [one for one in result["verdicts"] if one["part"] == part]
        rows.append(f"| {words} | {size} | {_share(mine, 'error')} | {_share(mine, 'warning')} |")
    return "\n".join(rows)


def exam_by_rule(result: dict[str, Any], names: dict[str, str]) -> str:
    """The same for each rule that spoke."""
    rows = [f"| rule | {' | '.join(EXAM)} |", "|---|" + "---|" * len(EXAM)]
    for code in sorted({one["rule"] for one in result["verdicts"]}):
        cells = []
        for part in EXAM:
            mine = [one for one in result["verdicts"] if one["rule"] == code and one["part"] == part]
            cells.append(f"{sum(one['true'] for one in mine)} of {len(mine)}" if mine else "")
        rows.append(f"| {code} {names[code]} | {' | '.join(cells)} |")
    return "\n".join(rows)


def _share(verdicts: list[dict[str, Any]], severity: str) -> str:
    mine = [one for one in verdicts if one["severity"] == severity]
    right = sum(one["true"] for one in mine)
    return f"{right} of {len(mine)}" + (f" ({100 * right / len(mine):.0f} %)" if mine else "")


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
    return "\n".join([*rows, "", "A number is the step at which it was reported. `python bench/drill.py`."])


def _scored(mutant: dict[str, Any] | None) -> str:
    if mutant is None:
        return ""
    if not mutant["took_effect"]:
        outcome = str(mutant["outcome"])
        return {"does not apply here": "", "changes nothing here": "no change"}.get(outcome, outcome)
    if not mutant["caught"]:
        return "**missed**"
    where = "survived" if mutant["step"] is None else str(mutant["step"] or "end")
    return where if mutant["right_family"] else f"{where} (other cause)"
