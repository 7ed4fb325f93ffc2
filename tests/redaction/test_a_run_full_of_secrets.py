"""Real runs of a script that has secrets wherever a script can have them; every byte that premortem writes is searched."""

import json
import os
import re
import stat
import sys
import time
from pathlib import Path

import pytest

from tests import starting

PREMORTEM = [sys.executable, "-m", "premortem"]
SCRIPT = """\
import argparse, logging, os, sys
import torch
from torch import nn

parser = argparse.ArgumentParser()
for option in ("--api-key", "--wandb-token", "--password", "--db", "--config", "--key-dim", "--tokenizer"):
    parser.add_argument(option)
parser.add_argument("rest", nargs="*")
args = parser.parse_args()
api_key = "SRC-s3cret-literal-9Z"
os.environ["LATE_API_KEY"] = "LATE-v4lue-0O-here"
print(args)
print("login with", args.password, "loss 0.5")
print("the service wants", os.environ["MY_SERVICE_TOKEN"], "at loss 1.5")
logging.warning("db %s, loss 3", args.db)
torch.manual_seed(0)
net = nn.Linear(4, 2)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(6):
    x = torch.randn(8, 4)
    if step == 3:
        x[0, 0] = float("nan")
    optimizer.zero_grad()
    loss = net(x).pow(2).mean(); secret = "LINE-s3cret-5T5T"
    loss.backward()
    optimizer.step()
    torch.save(net.state_dict(), "w.pt")
raise RuntimeError(f"{args.db} refused {args.password}, {os.environ['LATE_API_KEY']}, {open(args.config).read()}")
"""
CONFIG = "lr: 0.1\ndatabase:\n  password: CONF-p4ss,word (x)\nwandb:\n  api_key: CONF-k3y-abcdef\n"
ARGUMENTS = (
    "--api-key AK-1x2y3z4w --wandb-token=WT-5a6b7c8d --password hunter2'pw --db postgres://u:dbPW-3e4r@h/x "
    "--config conf.yaml NAME_KEY=NK-7g8h9i0j +a.token=HY-1q2w3e4r --key-dim 64 --tokenizer bert-base"
).split()
VARIABLES = {
    "MY_SERVICE_TOKEN": "ENV-t0ken-qwerty99",
    "PYTORCH_MINE": "ENV-py-0123abc",
    "OTHER_DSN": "https://me:ENVURL-pw77@h/x",
    "OMP_NUM_THREADS": "1",
}
SECRETS = [
    *(
        "AK-1x2y3z4w",
        "WT-5a6b7c8d",
        "hunter2'pw",
        "dbPW-3e4r",
        "NK-7g8h9i0j",
        "HY-1q2w3e4r",
        "ENV-t0ken-qwerty99",
    ),
    *("ENV-py-0123abc", "ENVURL-pw77", "SRC-s3cret", "LINE-s3cret", "LATE-v4lue", "CONF-p4ss", "CONF-k3y"),
]


def environment(**more):
    return {**os.environ, **VARIABLES, **more}


def premortem(folder, *words, env=None):
    return starting.run([*PREMORTEM, *words], cwd=folder, env=env or environment(), timeout=300)


def with_umask(umask, folder, *words):
    """In a real process: a fork has the umask of its server."""
    command = [*PREMORTEM, *words]
    return starting.run(
        command,
        cwd=folder,
        env=environment(),
        umask=umask,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


def made(folder):
    (folder / "train.py").write_text(SCRIPT)
    (folder / "conf.yaml").write_text(CONFIG)
    return folder


def leaks(folder, *texts):
    """Secrets in files that premortem has made, or in what it said."""
    own = {"train.py", "conf.yaml"}
    files = [path for path in folder.rglob("*") if path.is_file() and path.name not in own]
    contents = {str(path.relative_to(folder)): path.read_bytes() for path in files}
    contents |= {f"what it said, {number}": text.encode() for number, text in enumerate(texts)}
    assert len(contents) > 1
    return [
        (secret, name)
        for secret in SECRETS
        for name, content in contents.items()
        if secret.encode() in content
    ]


def said(stderr):
    """Without the script's own: its warning, and its traceback."""
    without = re.sub(r"(?s)Traceback \(most recent call last\):.*?api_key: [^\n]*\n", "", stderr)
    return "\n".join(line for line in without.splitlines() if not line.startswith("WARNING:root:"))


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = made(tmp_path_factory.mktemp("full"))
    done = with_umask(0, folder, "run", "--findings", "f.json", "train.py", *ARGUMENTS)
    assert done.returncode == 1, done.stderr
    return folder, done


def test_nothing_of_it_gets_out(run):
    folder, done = run
    assert "PM447" in done.stderr
    assert leaks(folder, said(done.stderr)) == []


def test_the_script_has_its_real_arguments_and_prints_them(run):
    _folder, done = run
    for secret in ("AK-1x2y3z4w", "WT-5a6b7c8d", "dbPW-3e4r", "ENV-t0ken-qwerty99"):
        assert secret in done.stdout
    assert "RuntimeError: postgres://u:dbPW-3e4r@h/x refused hunter2'pw, LATE-v4lue-0O-here" in done.stderr


def test_what_is_harmless_is_still_there(run):
    folder, _done = run
    record = json.loads((folder / "f.json").read_text())
    assert (
        record["run"]["argv"]
        == (
            "train.py --api-key [hidden] --wandb-token=[hidden] --password [hidden] --db postgres://u:[hidden]@h/x "
            "--config conf.yaml NAME_KEY=[hidden] +a.token=[hidden] --key-dim 64 --tokenizer bert-base"
        ).split()
    )
    [capsule] = folder.glob(".premortem/runs/*/capsules/*/capsule.json")
    started = json.loads(capsule.read_text())["started"]
    assert started["argv"] == record["run"]["argv"]
    assert started["environment"]["OMP_NUM_THREADS"] == "1"


def test_reports(run):
    folder, _done = run
    [journal] = folder.glob(".premortem/runs/*")
    page = premortem(folder, "report", str(journal))
    text = premortem(folder, "report", "-o", "-", "--format", "md", str(journal))
    assert page.returncode == text.returncode == 0, page.stderr + text.stderr
    assert "--key-dim 64" in text.stdout
    assert leaks(folder, page.stdout, page.stderr, text.stdout, text.stderr) == []
    (journal / "report.html").unlink()


def test_files_are_their_owners_alone(run):
    folder, _done = run
    modes = {path: stat.S_IMODE(path.lstat().st_mode) for path in (folder / ".premortem").rglob("*")}
    modes[folder / ".premortem"] = stat.S_IMODE((folder / ".premortem").stat().st_mode)
    assert len(modes) > 8
    open_to_others = {
        str(path): oct(mode) for path, mode in modes.items() if mode != (0o700 if path.is_dir() else 0o600)
    }
    assert open_to_others == {}
    assert stat.S_IMODE((folder / "f.json").stat().st_mode) == 0o600
    assert stat.S_IMODE((folder / "w.pt").stat().st_mode) == 0o666, (
        "what plain Python gives a file of the script"
    )


def test_the_script_sees_its_own_umask(tmp_path):
    (tmp_path / "train.py").write_text(
        "import os\nold = os.umask(0)\nos.umask(old)\nprint(oct(old))\nopen('mine', 'w').close()\nos.mkdir('ours')\n"
    )
    done = with_umask(0o026, tmp_path, "run", "--folder", "deep/run", "--findings", "f.json", "train.py")
    assert done.stdout == "0o26\n", done.stderr
    modes = {
        name: stat.S_IMODE((tmp_path / name).stat().st_mode)
        for name in ("mine", "ours", "deep", "deep/run", "deep/run/journal.sqlite", "f.json")
    }
    assert modes == {
        "mine": 0o640,
        "ours": 0o751,
        "deep": 0o751,
        "deep/run": 0o700,
        "deep/run/journal.sqlite": 0o600,
        "f.json": 0o600,
    }


def test_a_findings_file_that_was_there_keeps_its_rights(tmp_path):
    (tmp_path / "train.py").write_text("pass\n")
    (tmp_path / "f.json").write_text("{}")
    (tmp_path / "f.json").chmod(0o664)
    premortem(tmp_path, "run", "--findings", "f.json", "train.py")
    assert json.loads((tmp_path / "f.json").read_text())["findings"] == []
    assert stat.S_IMODE((tmp_path / "f.json").stat().st_mode) == 0o664


def test_a_line_that_lint_quotes(tmp_path):
    (tmp_path / "net.py").write_text(
        'import torch\n\n\ndef train(x: torch.Tensor):\n    api_key = "SRC-s3cret-literal-9Z"; x.to("cuda")\n    return x\n'
    )
    done = premortem(tmp_path, "lint", "--no-cache", "--findings", "l.json", "--format", "sarif", "net.py")
    assert "PM501" in done.stdout, done.stdout + done.stderr
    assert leaks_in_lint(tmp_path, done.stdout) == []


def leaks_in_lint(folder, *texts):
    written = [(folder / "l.json").read_text(), *texts]
    return [text for text in written if "SRC-s3cret" in text]


MIRRORED = """\
import sys
import fsspec, torch
from torch import nn
net = nn.Linear(4, 2)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(3):
    optimizer.zero_grad()
    net(torch.randn(8, 4)).pow(2).mean().backward()
    optimizer.step()
torch.save(net.state_dict(), "w.pt")
"""


@pytest.mark.exhaustive
def test_a_mirror_that_is_not_there_is_told_in_one_sentence_and_not_waited_for(tmp_path):
    (tmp_path / "train.py").write_text(MIRRORED)
    began = time.monotonic()
    done = starting.run(
        [*PREMORTEM, "run", "--folder", "run", "--mirror", "ftp://jane:hunter2'pw@127.0.0.1:9/x", "train.py"],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert time.monotonic() - began < 300
    sentence = "not sent to the mirror ftp://jane:[hidden]@127.0.0.1:9/x"
    assert sentence in done.stderr
    assert str(tmp_path / "run" / "mirror") in done.stderr
    assert leaks(tmp_path, done.stderr) == []
    jobs = [json.loads(path.read_text()) for path in Path(tmp_path, "run", "mirror").glob("*/job.json")]
    assert {job["url"] for job in jobs} == {"ftp://jane:[hidden]@127.0.0.1:9/x"}


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "words",
    [
        ("check", "--findings", "c.json"),
        ("fit", "--device", "8GiB", "--json", "fit.json"),
        ("drill", "--only", "rate-zero", "--json", "drill.json"),
        ("ckpt", "prove"),
    ],
    ids=lambda words: words[0],
)
def test_other_verbs(tmp_path, words):
    folder = made(tmp_path)
    done = premortem(folder, *words, "train.py", *ARGUMENTS)
    assert leaks(folder, done.stdout, done.stderr) == []
    assert done.stdout + done.stderr


@pytest.mark.exhaustive
def test_a_replay_takes_what_is_left_out_from_the_environment(run):
    folder, _done = run
    [capsule] = folder.glob(".premortem/runs/*/capsules/*")
    given = environment(PASSWORD="hunter2'pw", API_KEY="AK-1x2y3z4w")
    done = premortem(folder, "replay", "--quick", "--json", "r.json", str(capsule), env=given)
    assert done.returncode == 0, done.stdout + done.stderr
    assert leaks(folder, done.stdout, done.stderr) == []
    notes = " ".join(json.loads((folder / "r.json").read_text())["differences"])
    assert "--wandb-token" in notes
    assert "WANDB_TOKEN" in notes
    assert "--password" not in notes
