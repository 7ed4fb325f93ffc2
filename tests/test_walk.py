"""ARCHITECTURE.md names the files that a training step, `fit` and `check` go through: here they are followed, and compared with
the page."""

import json
import re
import sys
from pathlib import Path

import pytest

import premortem
from premortem.probes import rest
from tests import starting

ROOT = Path(__file__).parent.parent
# Called in a step, and not named in its row. A folder ends with a slash.
HELPERS = {
    "detectors/": "one of those that listen, named together",
    "derived/": "named together, where the page says how an event goes",
    "points/": "the switch, said once for all rows",
    "tensors/": "arithmetic on a tensor",
    "profile/": "the arithmetic of probes/inflow.py",
    "events/": "properties of an event",
    "files/opened.py": "the list that probes/files_read.py reads",
    "probes/dropped_results.py": "hears what lint has read, after the step by which that is ready: any one, on a busy machine",
    "settings/": "asked then whether a comment silences what lint suspects",
    "probes/files_read.py": "asked by probes/inflow.py for the files that were opened since the last batch",
    "probes/finite_questions.py": "its `are_values`, asked by probes/op_audit.py",
    "probes/first_use_flags.py": "a part of probes/states.py",
    "probes/frame_variables.py": "the variables of the user's frames",
    "probes/generators.py": "random states, for probes/recorder.py",
    "probes/graph_values.py": "reads a node of a graph",
    "probes/numbers.py": "numbers of a tensor",
    "probes/optimizer_construction.py": "its `number`: a rate as a number",
    "probes/rhythm.py": "a part of probes/rest.py",
    "probes/rows.py": "a tensor as rows, for probes/inflow.py",
    "probes/sample_versions.py": "a part of probes/inflow.py",
    "probes/sampling.py": "how far apart few values lie",
    "probes/source.py": "reads the user's line",
    "amounts.py": "its `length`",
    "actions/loading.py": "a part of actions/checkpoint_safety.py",
    "actions/saving.py": "a part of actions/checkpoint_safety.py",
    "vault/kept_versions.py": "asked by actions/checkpoint_safety.py for room on the disk",
}
LISTS = {
    "Loaders": ("on_start", "on_batch", "on_end"),
    "Models": (
        "before_forward",
        "after_forward",
        "on_call",
        "on_given",
        "on_result",
        "on_answer",
        "on_evaluated",
    ),
    "Losses": ("on_target",),
    "Optimizers": ("on_gradients", "before_step", "after_step"),
}
AT_THE_ENDS = {"iter(loader)", "StopIteration"}  # of a pass: followed in one gear
SETS = ("told_only", "at_leisure", "light")
SCRIPT = """
import gc, json, sys
from pathlib import Path
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

ours, lists, sets = sys.argv[1], *map(json.loads, sys.argv[2:])
calls, lately, now = {"reported": {}, "at rest": {}}, {}, None


def file_of(code):
    # Functions that torch or the user's code is called from have a name that warnings pass over.
    file = code.co_filename.rpartition(" of premortem> ")[2]
    return file[len(ours) + 1 :] if file.startswith(ours) else None


def follow(frame, event, _):
    if event == "call" and now and (file := file_of(frame.f_code)):
        lately.setdefault(now, {})[file] = None


def probe_of(name):
    (found,) = (each for each in gc.get_objects() if type(each).__name__ == name and "premortem" in type(each).__module__)
    return found


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3))
optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 100000)
data = DataLoader(TensorDataset(torch.randn(12800, 8), torch.randint(3, (12800,))), 32, shuffle=True)
session = probe_of("Session")
now = "iter(loader)"
sys.setprofile(follow)
batches = iter(data)
sys.setprofile(None)
for step in range(400):
    if step in (16, 20) or session.resting:  # audited; reported; at rest
        sys.setprofile(follow)
    resting = session.resting
    now = "next(batches)"
    x, y = next(batches)
    now = "model(x)"
    out = model(x)
    if step in (8, 10, 16):  # as an evaluation does; the microscope looks at the first two
        with torch.no_grad():
            model(x)
    now = "F.cross_entropy(...)"
    loss = nn.functional.cross_entropy(out, y)
    now = "optimizer.zero_grad()"
    optimizer.zero_grad()
    now = "loss.backward()"
    loss.backward()
    now = "clip_grad_norm_(...)"
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    now = "optimizer.step()"
    optimizer.step()
    now = "scheduler.step()"
    scheduler.step()
    now = None
    sys.setprofile(None)
    if not resting or session.resting:  # not a rest that this step has ended
        for row, files in lately.items():
            calls["at rest" if resting else "reported"].setdefault(row, {}).update(files)
    lately.clear()
session.rest.wake()  # in which gear the data ends would be chance
now, resting = "StopIteration", session.resting
sys.setprofile(follow)
next(batches, None)
sys.setprofile(None)
calls["at rest" if resting else "reported"] |= lately
for owner, names in lists.items():
    calls |= {name: [file_of(each.__code__) for each in getattr(probe_of(owner), name)] for name in names}
optimizers = probe_of("Optimizers")
for name in sets:
    heard = [*optimizers.before_step, *optimizers.after_step]
    calls[name] = [file_of(each.__code__) for each in heard if each in getattr(optimizers, name)]
Path("calls.json").write_text(json.dumps(calls))
"""


def page():
    return (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")


def rows():
    """The call of the script -> what its rows say of a reported step, and of one at rest."""
    table = page().partition("| the script | ")[2].partition("\n\n")[0].splitlines()[2:]
    found = {}
    for line in table:
        _, call, reported, rest, _ = line.split("|")
        said = found.setdefault(re.search("`([^`]+)`", call)[1], {"reported": "", "at rest": ""})
        said["reported"] += reported + ";"
        said["at rest"] += rest + ";"
    return found


def always(text):
    """Without what the page says in italics: what happens only sometimes."""
    return re.sub(r"\*[^*]+\*", "", text)


def named(text):
    return list(dict.fromkeys(re.findall(r"`([\w/]+\.py)`", text)))


def in_all_rows():
    """What the paragraphs after the table say of every row."""
    return named(page().partition("In every row")[2].partition("\n## ")[0])


@pytest.fixture(scope="module")
def calls(tmp_path_factory):
    folder = tmp_path_factory.mktemp("walk")
    (folder / "train.py").write_text(SCRIPT)
    ours = str(Path(premortem.__file__).parent)
    words = ["run", "train.py", ours, json.dumps(LISTS), json.dumps(SETS)]
    done = starting.run([sys.executable, "-m", "premortem", *words], cwd=folder)
    assert done.returncode == 0, done.stderr
    return json.loads((folder / "calls.json").read_text())


@pytest.mark.parametrize("gear", ["reported", "at rest"])
def test_every_file_of_a_row_is_called_there(calls, gear):
    assert {
        row: missing
        for row, text in rows().items()
        if (
            missing := [
                f
                for f in named(re.sub("`told_only`: [^;]*;", "", always(text[gear])))
                if f not in calls[gear].get(row, ())
            ]
        )
        and row not in AT_THE_ENDS - calls[gear].keys()
    } == {}
    assert calls[gear].keys() >= rows().keys() - AT_THE_ENDS


@pytest.mark.parametrize("gear", ["reported", "at rest"])
def test_every_file_that_is_called_is_named_in_its_row(calls, gear):
    known, helpers = rows(), tuple(HELPERS)
    assert calls[gear].keys() <= known.keys()
    everywhere = in_all_rows()
    assert {
        row: unnamed
        for row, files in calls[gear].items()
        if (
            unnamed := [
                f
                for f in files
                if f not in named(known[row][gear]) + everywhere and not f.startswith(helpers)
            ]
        )
    } == {}


@pytest.mark.parametrize("name", [name for names in LISTS.values() for name in names])
def test_listeners_are_called_in_the_order_of_the_page(calls, name):
    said = [
        found for text in rows().values() for found in re.findall(rf"`{name}`: ([^;]*);", text["reported"])
    ]
    assert len(said) == 1
    files = named(re.sub(r"\([^)]*\)", "", always(said[0])))
    # `Watcher.after_each_step` calls the supervision.
    assert calls[name] == [file if file != "run/supervision.py" else "run/watcher.py" for file in files]


@pytest.mark.parametrize("name", SETS)
def test_who_hears_of_a_rested_step_is_on_the_page(calls, name):
    said = [
        found for text in rows().values() for found in re.findall(rf"`{name}`: ([^;]*);", text["at rest"])
    ]
    files = [f if f != "run/supervision.py" else "run/watcher.py" for each in said for f in named(each)]
    assert files == calls[name]


# -- verbs -----------------------------------------------------------------------------------

FOLLOWED = """
import json, os, sys, threading
from pathlib import Path

ours, verb, called = sys.argv[1], sys.argv[2], []


def follow(frame, event, _):
    code = frame.f_code
    file = code.co_filename.rpartition(" of premortem> ")[2]
    # The body of a module or a class is no call: it has no locals of its own.
    if event == "call" and file.startswith(ours) and code.co_flags & 2 and code.co_name[0] != "<":
        called.append(f"{file[len(ours) + 1 :]} {code.co_name}")


def write():
    sys.setprofile(None)
    Path("called.json").write_text(json.dumps([list(dict.fromkeys(called)), called.count("derived/folding.py fold")]))

"""
VERB = """
from premortem.cli import main

sys.argv = ["premortem", *sys.argv[2:]]
threading.setprofile(follow)
sys.setprofile(follow)
code = main()
write()
sys.exit(code)
"""
# What a plan is given in the script's process, here in one without a sandbox.
PLAN = """
from premortem.program.running import Program


class Sandbox:
    def wrote(self, file):
        return False


class Played:
    order = json.loads(sys.argv[3])
    program, shared, sandbox = Program(target="train.py"), Path.cwd(), Sandbox()

    def tell(self, **words): ...

    def leave(self):
        write()
        os._exit(0)


if verb == "fit":
    from premortem.fit.rehearsed_script import play
else:
    from premortem.rehearsal.checked_script import play
Played.program.check()
sys.setprofile(follow)
play(Played())
"""
TRAINING = """
import torch
from torch.utils.data import DataLoader, TensorDataset

rows = torch.tensor([[float(cell) for cell in line.split(",")] for line in open("data/train.csv").readlines()[1:]])
device = "cuda" if torch.cuda.is_available() else "cpu"
model = torch.nn.Linear(2, 1).to(device)
optimizer = torch.optim.SGD(model.parameters(), 0.01)
for x, y in DataLoader(TensorDataset(rows[:, :2], rows[:, 2:]), batch_size=16):
    optimizer.zero_grad()
    torch.nn.functional.mse_loss(model(x.to(device)), y.to(device)).backward()
    optimizer.step()
"""
ROOMS = {"fit": ("fit/", "changes/"), "check": ("preflight/", "rehearsal/", "proof/")}
MORE = {"fit": ["--json", "fit.json", "--picture", "fit.svg"], "check": []}
# In the order in which the page names them, what runs in the process of the verb itself.
IN_THE_VERB = {
    "fit": """fit/command.py call; fit/verb.py run; fit/answer.py predicted; fit/page.py show_prediction; fit/answer.py complete;
        fit/search.py run; fit/page.py record; fit/picture.py svg; fit/page.py show_rest""",
    "check": """preflight/command.py call; preflight/verb.py run; preflight/environment/gathering.py gather;
        preflight/config/gathering.py gather; preflight/config/linting.py findings; preflight/data/surveying.py survey;
        preflight/data/dataset.py look_at; preflight/data/walk.py walk; preflight/data/sampling.py choose;
        preflight/data/pool.py read_all; preflight/data/pairs.py pairings; preflight/data/copies.py equal_files;
        preflight/data/lookalikes.py near_overlaps; preflight/data/given.py vocabularies;
        preflight/data/moves.py arrays; preflight/data/statistics.py beside; rehearsal/director.py rehearse;
        preflight/rehearsal/words.py facts_of; preflight/conclusion.py conclude; preflight/data/surveying.py survey_seen;
        convictions/pairs.py joined; derived/folding.py fold; preflight/page.py show""",
}
ORDERS = {
    "fit": {"device": "h100", "share": 0.96, "reserve": 1.12},
    "check": {"mode": "watched", "steps": 5, "cut": True, "folder": "launch-1"},
}
# ... and what runs in the script's process.
IN_THE_SCRIPT = {
    "fit": """fit/rehearsed_script.py run; fit/levers.py rewritten; fit/session.py on; fit/decisions.py install; fit/fused.py norm;
        fit/recurrent.py recurrent; fit/pretend.py pretending; fit/moving.py cover_tensors; fit/saving.py cover_saving;
        fit/steps.py install; fit/levers.py install; fit/savings_in_use.py install; fit/kernels.py ran; fit/scratch.py borrowed;
        fit/trained.py called; fit/steps.py count; fit/prediction.py predict; fit/allocator.py allocate""",
    "check": """rehearsal/checked_script.py run; run/supervision.py begin; rehearsal/loop.py install; rehearsal/looks.py install;
        rehearsal/loop_calls.py install; rehearsal/script_settings.py stated; scriptrun/early_stop.py reached;
        rehearsal/loop.py finish""",
}
# Files of these rooms that the page does not name. A folder ends with a slash.
UNNAMED = {
    "changes/": "one file for each change",
    "fit/speed/": "has a page of its own",
    "preflight/beside.py": "of a run: named there",
    "preflight/memory.py": "`premortem.check_modules`, for notebooks",
    "preflight/environment/constants.py": "of preflight/memory.py",
    "preflight/environment/modules.py": "of preflight/memory.py",
    "preflight/unit.py": "the kit of a check",
    "preflight/wording.py": "how places are written",
    "preflight/data/wording.py": "how files are written",
    "preflight/data/names.py": "what names say, asked everywhere",
    "preflight/data/annotations.py": "asked by checks",
    "preflight/data/cells.py": "asked by checks and readers",
    "preflight/data/compared.py": "asked by checks",
    "preflight/data/numbered.py": "asked by checks",
    "preflight/data/sentences.py": "asked by checks",
    "preflight/data/times.py": "asked by checks and readers",
}


def section(verb):
    return page().partition(f"## `premortem {verb}`, file by file")[2].partition("\n## ")[0]


def is_named(file, text):
    """By its own name, or by a folder that the page names as a whole."""
    return f"`{file}`" in text or any(file.startswith(each) for each in re.findall(r"`([\w/]+/)`", text))


def unnamed(files, verb):
    text = section(verb)
    return [
        file
        for file in files
        if file.startswith(ROOMS[verb])
        and not file.startswith(tuple(UNNAMED))
        and not is_named(file, text)
        and not file.endswith("/__init__.py")
    ]


def in_this_order(wanted, text):
    """Whether the page names their files one after the other."""
    place = 0
    for each in wanted:
        file = each.split()[0]
        found = text.find(f"`{file}`", place)
        assert found >= 0, f"{each} is not named where it comes"
        place = found + 1
    return True


def followed(tmp_path, code, verb, words):
    (tmp_path / "train.py").write_text(TRAINING)
    (tmp_path / "data").mkdir()
    lines = [f"{n % 7},{n % 5 + 0.5},{n % 3}" for n in range(256)]
    (tmp_path / "data" / "train.csv").write_text("\n".join(["a,b,c", *lines, ""]))
    ours = str(Path(premortem.__file__).parent)
    done = starting.run([sys.executable, "-c", FOLLOWED + code, ours, verb, *words], cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    return json.loads((tmp_path / "called.json").read_text())


@pytest.mark.parametrize("verb", ["fit", "check"])
def test_a_verb_goes_through_its_files_in_the_order_of_the_page(tmp_path, verb):
    called, folds = followed(tmp_path, VERB, verb, [*MORE[verb], "train.py"])
    wanted = [" ".join(each.split()) for each in IN_THE_VERB[verb].split(";")]
    assert [each for each in called if each in wanted] == wanted
    assert in_this_order(wanted, section(verb))
    assert unnamed(dict.fromkeys(each.split()[0] for each in called), verb) == []
    assert folds == (verb == "check")


@pytest.mark.parametrize("verb", ["fit", "check"])
def test_the_scripts_process_goes_through_its_files_in_the_order_of_the_page(tmp_path, verb):
    called, _ = followed(tmp_path, PLAN, verb, [json.dumps(ORDERS[verb])])
    wanted = [" ".join(each.split()) for each in IN_THE_SCRIPT[verb].split(";")]
    assert [each for each in called if each in wanted] == wanted
    assert in_this_order(wanted, section(verb))
    assert unnamed(dict.fromkeys(each.split()[0] for each in called), verb) == []


@pytest.mark.parametrize("verb", ["fit", "check"])
def test_the_page_knows_every_file_of_a_verb(verb):
    """Also those that a small script does not need."""
    package = Path(premortem.__file__).parent
    files = [path.relative_to(package).as_posix() for path in sorted(package.rglob("*.py"))]
    rooms = [room for room in ROOMS[verb] if room != "proof/"]  # which has a verb of its own
    assert unnamed([file for file in files if file.startswith(tuple(rooms))], verb) == []


def test_what_is_unnamed_is_there():
    package = Path(premortem.__file__).parent
    assert [each for each in [*UNNAMED, *HELPERS] if not (package / each).exists()] == []


@pytest.mark.parametrize("name", ["ARCHITECTURE.md", "docs/internals/before.md", "docs/internals/during.md"])
def test_files_that_a_page_names_with_their_room_are_there(name):
    package = Path(premortem.__file__).parent
    rooms = {path.name for path in package.iterdir() if path.is_dir()}
    files = [file for file in named((ROOT / name).read_text(encoding="utf-8")) if file.split("/")[0] in rooms]
    assert [file for file in files if "/" in file and not (package / file).exists()] == []


def test_the_budget_of_a_rest_is_what_the_page_says():
    text = " ".join((ROOT / "docs/internals/during.md").read_text(encoding="utf-8").split())
    said = (
        "Each step adds half an event to the credit while the run is young (2000 steps), a fiftieth of one later, "
        "and each second of training adds twenty-five"
    )
    assert said in text
    assert (rest.A_STEP_OF_A_YOUNG_RUN, rest.YOUNG, rest.A_STEP, rest.A_SECOND) == (0.5, 2000, 0.02, 25)
