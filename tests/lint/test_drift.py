"""What the rules about changed interfaces say: the version, who says so, since when, and how sure it is."""

import pytest

from premortem.findings import Severity
from premortem.lint import drift, engine
from premortem.lint.target import Pin, Target
from tests.lint.reading import lint_files, target_of

VERBOSE = "from torch.optim.lr_scheduler import StepLR\ns = StepLR(o, 10, verbose=True)\n"
SIX = "from torch._six import inf\n"
RMS = "from torch.nn import RMSNorm\n"
WHOLE = "import torch\nmodel = torch.load('m.pt')\nmodel.eval()\n"


@pytest.fixture
def said(tmp_path):
    def lint(text, code, requirement=None, distribution="torch"):
        path = tmp_path / "train.py"
        path.write_text(text)
        pins = () if requirement is None else (Pin(distribution, requirement, "uv.lock"),)
        rules = [rule for rule in engine.all_rules() if rule.card.code == code]
        return lint_files([str(path)], tmp_path, rules, Target(pins))

    return lint


@pytest.mark.parametrize(
    ("text", "code", "requirement", "severity"),
    [
        (VERBOSE, "PM580", "==2.9.0", Severity.ERROR),
        (VERBOSE, "PM580", ">=2.7", Severity.ERROR),
        (VERBOSE, "PM580", ">=2.0", Severity.WARNING),  # some allowed version takes it
        (VERBOSE, "PM580", None, Severity.WARNING),  # the newest, which a fresh install gets
        (SIX, "PM581", "==2.4.1", Severity.ERROR),
        (SIX, "PM581", ">=1.8", Severity.WARNING),
        (RMS, "PM582", "==2.3.1", Severity.ERROR),
        (f"def build():\n    import torch\n\nimport torch\n{RMS}", "PM582", "<2.3", Severity.ERROR),
        (
            "import torch\ndef build():\n    return torch.nn.RMSNorm(3)\n",
            "PM582",
            "==2.3.1",
            Severity.WARNING,
        ),
        (WHOLE, "PM583", ">=2.6", Severity.ERROR),
        (WHOLE, "PM583", ">=2.4", Severity.WARNING),
        (RMS, "PM584", ">=2.3", Severity.WARNING),
    ],
)
def test_how_sure_it_is(said, text, code, requirement, severity):
    (one,) = said(text, code, requirement)
    assert one.severity is severity


@pytest.mark.parametrize(
    ("text", "code", "requirement"),
    [
        (VERBOSE, "PM580", "==2.6.0"),
        (VERBOSE, "PM580", "==1.13.1"),  # older than anything known
        (VERBOSE, "PM580", "<2.7"),
        (SIX, "PM581", "==1.13.1"),
        (RMS, "PM582", ">=2.3"),  # the newest allowed has it
        (RMS, "PM582", None),
        (RMS, "PM584", ">=2.4"),
        (RMS, "PM584", "==2.3.1"),
        (WHOLE, "PM583", "==1.13.1 "),
    ],
)
def test_when_it_stays_silent(said, text, code, requirement):
    assert [one for one in said(text, code, requirement) if one.severity is not Severity.INFO] == []


def test_the_message_names_the_version_its_source_and_since_when(said):
    (gone,) = said(VERBOSE, "PM580", "==2.9.0")
    assert (
        gone.message
        == "`StepLR` lost the keyword `verbose` in torch 2.7; the version here is torch 2.9 (uv.lock)"
    )
    (allowed,) = said(VERBOSE, "PM580", ">=2.0")
    assert (
        allowed.message
        == "`StepLR` lost the keyword `verbose` in torch 2.7, which torch >=2.0 (uv.lock) allows"
    )
    (new,) = said(RMS, "PM582", "==2.3.1")
    assert new.message == "`torch.nn.RMSNorm` came with torch 2.4; the version here is torch 2.3 (uv.lock)"
    (removed,) = said("import torch\ntorch.symeig(a)\n", "PM581", "==2.4.1")
    assert (
        removed.message == "`torch.symeig` is gone since torch 2.0; the version here is torch 2.4 (uv.lock)"
    )
    assert "torch.linalg.eigh" in removed.remedy


@pytest.mark.parametrize(
    ("call", "remedy"),
    [
        ("torch.optim.Adam(p, weight_deca=1)", "Did you mean `weight_decay`?"),
        ("torch.nn.functional.softmax(x, axis=1)", "It is called `dim` here."),
        ("torch.nn.Flatten(zzz=1)", "It takes end_dim, start_dim."),
    ],
)
def test_what_to_write_instead(said, call, remedy):
    (one,) = said(f"import torch\n{call}\n", "PM580", "==2.4.1")
    assert one.remedy == remedy


def test_verbose_is_removed_by_a_safe_fix_only_where_every_allowed_version_refuses_it(said):
    (certain,) = said(VERBOSE, "PM580", "==2.9.0")
    (likely,) = said(VERBOSE, "PM580", ">=2.0")
    assert (certain.fix.safe, likely.fix.safe) == (True, False)
    (typo,) = said("import torch\ntorch.optim.Adam(p, weight_deca=1)\n", "PM580")
    assert typo.fix is None


def test_a_readme_is_enough_to_stay_silent_and_too_little_to_call_code_too_new(tmp_path):
    def found(text, code, version):
        (tmp_path / "train.py").write_text(text)
        (tmp_path / "README.md").write_text(f"pip install torch{version}\n")
        rules = [rule for rule in engine.all_rules() if rule.card.code == code]
        return lint_files([str(tmp_path / "train.py")], tmp_path, rules, target_of(tmp_path))

    assert found(VERBOSE, "PM580", "==2.3") == []
    assert len(found(VERBOSE, "PM580", "==2.9")) == 1
    assert found(RMS, "PM582", "==2.3") == []
    assert found(RMS, "PM584", ">=2.3") == []
    (tmp_path / "requirements.txt").write_text("torch==2.3\n")
    assert len(found(RMS, "PM582", "==2.9")) == 1


def test_one_report_for_a_call_names_all_its_keywords(said):
    (one,) = said("import torch\ntorch.optim.Adamax(p, lambd=1,\n    alpha=2, t0=3)\n", "PM580", "==2.4.1")
    assert one.message == "`Adamax` has no keywords `lambd`, `alpha` and `t0` in torch 2.4 (uv.lock)"
    assert one.remedy.startswith("It takes betas,")
    assert one.line == 2
    text = VERBOSE.replace("verbose", "gama=1, axis=2, verbose")
    (both,) = said(text, "PM580", "==2.9.0")
    assert (
        both.message
        == "`StepLR` lost the keyword `verbose` in torch 2.7 and has no keywords `gama` and `axis`; "
        "the version here is torch 2.9 (uv.lock)"
    )
    assert "For `gama`, did you mean `gamma`?" in both.remedy
    assert both.fix.safe
    (likely,) = said(text, "PM580", ">=2.0")
    assert likely.severity is Severity.ERROR  # no version takes `gama`


def test_another_package_has_its_own_version(said):
    text = "import pytorch_lightning as pl\npl.Trainer(gpus=1)\n"
    assert said(text, "PM580", "==1.9.5", "lightning") == []
    (one,) = said(text, "PM580", "==2.1.4", "lightning")
    assert "lightning 2.0" in one.message


def test_a_copy_of_a_package_that_the_project_brings_is_its_own(said, tmp_path):
    text = "import transformers\nfrom transformers import AdamW\ntransformers.TrainingArguments(nonsense=1)\n"
    assert len([*said(text, "PM580"), *said(text, "PM581")]) == 2
    (tmp_path / "transformers").mkdir()
    (tmp_path / "transformers" / "__init__.py").touch()
    drift._is_beside.cache_clear()
    drift._is_beside_file.cache_clear()
    assert [*said(text, "PM580"), *said(text, "PM581")] == []
