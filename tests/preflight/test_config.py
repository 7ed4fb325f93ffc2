"""Settings as a script reads them: each fault beside the same project without it."""

import json
import textwrap

import pytest

from premortem.preflight import config
from premortem.preflight.config import ALL
from premortem.preflight.config.checks.input_missing import is_input
from premortem.preflight.config.checks.unknown_key import is_near
from premortem.preflight.project import Project

READS = """\
import sys
import yaml
import torch

with open(sys.argv[1]) as file:
    cfg = yaml.safe_load(file)
{body}
"""


@pytest.fixture
def look(tmp_path, monkeypatch):
    """What is said of a script and its config, by code."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("WORLD_SIZE", raising=False)

    def looked(script, text="", name="config.yaml", argv=None):
        (tmp_path / "train.py").write_text(textwrap.dedent(script))
        if text:
            (tmp_path / name).write_text(text)
        words = [name] if argv is None else argv
        part = config.survey(Project(folder=tmp_path, target="train.py", argv=words), lambda _sentence: None)
        return {finding.code: finding for finding in part.findings}

    return looked


def loud(found):
    return {code for code, finding in found.items() if finding.severity.value != "info"}


# --- files -----------------------------------------------------------------------------------


def test_a_tab_gets_a_clear_sentence(look):
    found = look(READS.format(body='lr = cfg["a"]["lr"]'), "a:\n\tlr: 3\n")
    assert (
        found["PM630"].message
        == "config.yaml cannot be read: the line is indented with a tab, which YAML does not allow"
    )
    assert found["PM630"].where.line == 2


@pytest.mark.parametrize(("name", "text"), [("c.json", '{"lr": 1'), ("c.yaml", "lr: [1, 2\n")])
def test_a_config_that_is_broken_otherwise(name, text, look):
    assert "PM630" in loud(look(READS.format(body=""), text, name))


def test_a_config_that_is_not_there(look, tmp_path):
    (tmp_path / "base.yaml").write_text("a: 1\n")
    found = look(READS.format(body=""), argv=["--config", "bsae.yaml"])
    assert found["PM631"].severity.value == "error"
    assert found["PM631"].remedy == "Did you mean base.yaml?"
    assert look(READS.format(body=""), argv=["--out", "metrics.json"]) == {}


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ('cfg = yaml.safe_load(open("conf/a.yaml"))', True),
        ('cfg = yaml.safe_load((Path(__file__).parent / "conf" / "a.yaml").read_text())', True),
        ('cfg = yaml.safe_load(open(os.path.join("conf", "a.yaml")))', True),
        ('yaml.safe_dump({}, open("conf/a.yaml", "w"))', False),
    ],
)
def test_configs_that_only_the_code_names(line, found, look, tmp_path):
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "a.yaml").write_text("lr: 1e-4\n")
    script = f'import os, yaml\nfrom pathlib import Path\n{line}\nlr = cfg["lr"]\n'
    assert ("PM560" in loud(look(script, argv=[]))) is found


def test_hydra_and_its_groups(look, tmp_path):
    script = """\
    import hydra

    @hydra.main(version_base=None, config_path="conf", config_name="config")
    def main(cfg):
        if cfg.model.pretrained:
            print(cfg.model.width)

    main()
    """
    (tmp_path / "conf" / "model").mkdir(parents=True)
    (tmp_path / "conf" / "config.yaml").write_text("defaults:\n  - model: small\n  - _self_\n")
    for name, value in (("small", "false"), ("large", '"false"')):
        (tmp_path / "conf" / "model" / f"{name}.yaml").write_text(f"pretrained: {value}\nwidth: 3\n")
    assert loud(look(script, argv=[])) == set()
    assert loud(look(script, argv=["model=large"])) == {"PM632"}
    (tmp_path / "conf" / "config.yaml").unlink()
    assert loud(look(script, argv=[])) == {"PM631"}


# --- values ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "body", "codes"),
    [
        ('"false"', 'if cfg["amp"]:\n    pass', {"PM632"}),
        ('"false"', 'use = cfg["amp"]\nif use and True:\n    pass', {"PM632"}),
        ('"false"', 'torch.optim.SGD([], lr=1, nesterov=cfg["amp"])', {"PM632"}),
        ("false", 'if cfg["amp"]:\n    pass', set()),
        ("no", 'if cfg["amp"]:\n    pass', set()),  # YAML 1.1 knows it
        ('"true"', 'if cfg["amp"]:\n    pass', set()),
        ('"false"', 'if cfg["amp"] == "true":\n    pass', set()),
        ('"false"', 'if cfg["amp"].lower() == "true":\n    pass', set()),
        ('"false"', 'print(cfg["amp"])', set()),
    ],
)
def test_switches_that_are_text(value, body, codes, look):
    assert loud(look(READS.format(body=body), f"amp: {value}\n")) == codes


def test_yaml_1_2_reads_no_as_text(look):
    script = """\
    from ruamel.yaml import YAML
    cfg = YAML().load(open("config.yaml"))
    if cfg["amp"]:
        pass
    """
    assert loud(look(script, "amp: no\n", argv=[])) == {"PM632"}
    assert loud(look(script, "amp: false\n", argv=[])) == set()


@pytest.mark.parametrize(
    ("value", "body", "codes"),
    [
        ('"0.001"', 'torch.optim.SGD([], lr=cfg["lr"])', {"PM633"}),
        ("0.001", 'torch.optim.SGD([], lr=cfg["lr"])', set()),
        ('"0.001"', 'torch.optim.SGD([], lr=float(cfg["lr"]))', set()),
        ('"fast"', 'name = cfg["lr"]', set()),
        ("1e-4", 'torch.optim.SGD([], lr=cfg["lr"])', {"PM560"}),
    ],
)
def test_numbers_that_are_text(value, body, codes, look):
    assert loud(look(READS.format(body=body), f"lr: {value}\n")) == codes


OPTIONS = """\
import argparse
parser = argparse.ArgumentParser()
{line}
args = parser.parse_args()
print(args)
"""


@pytest.mark.parametrize(
    ("line", "argv", "codes"),
    [
        ('parser.add_argument("--epochs", default=10)', ["--epochs", "3"], {"PM634"}),
        ('parser.add_argument("--epochs", default=10)', ["--epochs=3"], {"PM634"}),
        ('parser.add_argument("--epochs", default=10)', [], set()),
        ('parser.add_argument("--epochs", type=int, default=10)', ["--epochs", "3"], set()),
        ('parser.add_argument("--amp", type=bool, default=True)', ["--amp", "False"], {"PM635"}),
        ('parser.add_argument("--amp", type=bool, default="False")', [], {"PM635"}),
        ('parser.add_argument("--amp", type=bool, default=False)', [], set()),
        ('parser.add_argument("--amp", action="store_true")', ["--amp"], set()),
    ],
)
def test_options_of_argparse(line, argv, codes, look):
    assert loud(look(OPTIONS.format(line=line), argv=argv)) == codes


# --- keys ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "body", "codes"),
    [
        ("weight_deacy: 0.1\n", 'wd = cfg.get("weight_decay", 0.0)', {"PM636"}),
        ("batch-size: 8\n", 'bs = cfg["batch_size"]', {"PM636"}),
        ("weight_decay: 0.1\n", 'wd = cfg.get("weight_decay", 0.0)', set()),
        ("notes: hello\n", 'wd = cfg.get("weight_decay", 0.0)', set()),
        ("val_batch_size: 8\n", 'bs = cfg.get("train_batch_size", 4)', set()),
        (
            "optim:\n  weight_deacy: 0.1\n",
            'torch.optim.SGD([], **cfg["optim"])\nx = cfg.get("weight_decay")',
            set(),
        ),
        ("weight_deacy: 0.1\nweight_decay: 0.2\n", 'wd = cfg["weight_decay"]', set()),
    ],
)
def test_keys_that_nobody_reads(text, body, codes, look):
    assert loud(look(READS.format(body=body), text)) == codes


@pytest.mark.parametrize(
    ("one", "two", "near"),
    [
        ("weight_deacy", "weight_decay", True),
        ("epoch", "epochs", True),
        ("batchSize", "batch_size", True),
        ("learning_rte", "learning_rate", True),
        ("beta1", "beta2", False),
        ("lr_min", "lr_max", False),
        ("train_dir", "val_dir", False),
        ("lr", "wd", False),
        ("hidden_dim", "hidden_size", False),
    ],
)
def test_what_is_one_slip_away(one, two, near):
    assert is_near(one, two) is near
    assert is_near(two, one) is near


@pytest.mark.parametrize(
    ("name", "text", "yes"),
    [
        ("data_dir", "./images", True),
        ("train_csv", "train.csv", True),
        ("dataroot_gt", "datasets/gt", True),
        ("output_dir", "./out", False),
        ("save_path", "a/b.pt", False),
        ("data_cache_dir", "./cache", False),
        ("data_dir", "s3://bucket/x", False),
        ("data_dir", "${oc.env:DATA}/x", False),
        ("dataset", "cifar10", False),
        ("name", "a/b", False),
    ],
)
def test_which_settings_name_inputs(name, text, yes):
    assert is_input(name, text) is yes


def test_a_folder_that_is_not_there(look, tmp_path):
    (tmp_path / "images" / "train").mkdir(parents=True)
    script = READS.format(body='files = sorted(glob(cfg["data_dir"] + "/*.png"))')
    found = look(script, "data_dir: ./images/Train\n")
    assert found["PM637"].remedy == "Did you mean images/train?"
    assert look(script, "data_dir: ./images/train\n") == {}
    assert (
        look(script + "\nimport urllib\nurllib.request.urlretrieve('x')\n", "data_dir: ./images/Train\n")
        == {}
    )


@pytest.mark.parametrize(
    ("settings", "wrong"),
    [
        ({"global_batch_size": 64, "per_device_batch_size": 8, "accum_steps": 4, "num_gpus": 2}, False),
        ({"global_batch_size": 64, "per_device_batch_size": 8, "accum_steps": 4, "num_gpus": 1}, True),
        ({"global_batch_size": 64, "per_device_batch_size": 8}, False),  # eight devices can give it
        ({"global_batch_size": 60, "per_device_batch_size": 8}, True),  # none can
        ({"train_batch_size": 32, "train_micro_batch_size_per_gpu": 5}, True),  # DeepSpeed
        ({"batch_size": 60, "accum_steps": 7}, False),
    ],
)
def test_the_global_batch(settings, wrong, look):
    script = 'import json\ncfg = json.load(open("hp.json"))\n'
    found = look(script, json.dumps(settings, indent=1), "hp.json", argv=[])
    assert ("PM638" in loud(found)) is wrong


def test_the_launcher_knows_the_number_of_devices(look, monkeypatch):
    text = json.dumps({"global_batch_size": 64, "per_device_batch_size": 8})
    monkeypatch.setenv("WORLD_SIZE", "4")
    found = look('import json\ncfg = json.load(open("hp.json"))\n', text, "hp.json", argv=[])
    assert found["PM638"].evidence["devices"] == 4


# --- code ------------------------------------------------------------------------------------


def test_the_rules_of_lint_see_what_the_script_imports_and_nothing_else(look, tmp_path):
    (tmp_path / "steps.py").write_text(
        "import torch\n\n\ndef fit(model, loader, opt):\n    for x in loader:\n        with torch.no_grad():\n"
        "            model(x).sum().backward()\n        opt.step()\n        opt.zero_grad()\n"
    )
    (tmp_path / "other.py").write_text((tmp_path / "steps.py").read_text())
    found = look("import steps\nsteps.fit(1, 2, 3)\n", argv=[])
    assert {str(finding.where.file).rpartition("/")[2] for finding in found.values()} == {"steps.py"}
    assert loud(found)
    (tmp_path / "pyproject.toml").write_text('[tool.premortem.lint]\nignore = ["PM5"]\n')
    assert look("import steps\nsteps.fit(1, 2, 3)\n", argv=[]) == {}


def test_without_a_script_there_is_nothing_to_read(tmp_path):
    part = config.survey(Project(folder=tmp_path), lambda _sentence: None)
    assert part.skipped == "no script is named"


@pytest.mark.parametrize("check", ALL, ids=lambda check: check.card.code)
def test_every_check_has_its_page(check):
    for head in ("## Why it matters", "## Usual causes", "## What to do"):
        assert head in (check.__doc__ or "")
    assert 630 <= int(check.card.code[2:]) <= 649


# --- which configs -----------------------------------------------------------------------------


def test_a_config_beside_the_script_is_found_from_anywhere_and_what_is_written_is_none(tmp_path):
    folder, elsewhere = tmp_path / "project", tmp_path / "elsewhere"
    folder.mkdir()
    elsewhere.mkdir()
    (folder / "train.py").write_text(
        textwrap.dedent(
            """
            import argparse, json
            from pathlib import Path
            import yaml
            HERE = Path(__file__).resolve().parent
            parser = argparse.ArgumentParser()
            parser.add_argument("--config", default=HERE / "config.yaml", type=Path)
            parser.add_argument("--out", default=HERE, type=Path)
            args = parser.parse_args()
            cfg = yaml.safe_load(args.config.read_text())
            (Path(args.out) / "result.json").write_text(json.dumps({}))
            """
        )
    )
    (folder / "config.yaml").write_text("train: {lr: 1e-4}\n")
    (elsewhere / "result.json").write_text("{}")
    argv = ["--out", str(elsewhere)]
    asked = Project(folder=elsewhere, target=str(folder / "train.py"), argv=argv)
    part = config.survey(asked, lambda _sentence: None)
    (configs,) = [text for name, text in part.facts if name == "configs"]
    assert "config.yaml" in configs
    assert "result.json" not in configs
