"""Real files into real types; a mistake is told with file, line and key."""

import dataclasses
import enum
import subprocess
import sys
from pathlib import Path
from typing import Any, Literal, Optional

import pydantic
import pytest

from premortem.configs import load_config
from premortem.errors import ConfigError
from tests.facts_of import each_holds


class Precision(enum.Enum):
    BF16 = "bf16"
    FP32 = "fp32"


@dataclasses.dataclass
class Optimizer:
    lr: float
    name: Literal["adam", "sgd"] = "adam"
    betas: tuple[float, float] = (0.9, 0.999)
    weight_decay: Optional[float] = None  # noqa: UP045 - as people write it


@dataclasses.dataclass
class Data:
    root: Path
    crops: list[int] = dataclasses.field(default_factory=list)
    weights: dict[str, float] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Config:
    optimizer: Optimizer
    data: Data
    epochs: int = 10
    amp: bool = False
    precision: Precision = Precision.FP32
    tag: str | int | None = None
    stages: list[Optimizer] = dataclasses.field(default_factory=list)
    extra: Any = None


YAML = """\
optimizer:
  lr: 1e-4
  name: sgd
  betas: [0.5, 1]
data:
  root: /data
  crops: [64, 1e2]
  weights: {a: 1, b: .5}
epochs: 1e2
amp: true
precision: BF16
tag: v1
stages:
  - lr: 3
  - {lr: 2e-3, weight_decay: 1e-2}
extra: {a: [1]}
"""
TOML = """\
epochs = 100
amp = true
precision = "bf16"
tag = "v1"
[optimizer]
lr = 1e-4
name = "sgd"
betas = [0.5, 1]
[data]
root = "/data"
crops = [64, 100]
weights = {a = 1, b = 0.5}
[[stages]]
lr = 3
[[stages]]
lr = 2e-3
weight_decay = 1e-2
[extra]
a = [1]
"""
JSON = """{
  "optimizer": {"lr": 1e-4, "name": "sgd", "betas": [0.5, 1]},
  "data": {"root": "/data", "crops": [64, 1e2], "weights": {"a": 1, "b": 0.5}},
  "epochs": 100, "amp": true, "precision": "BF16", "tag": "v1",
  "stages": [{"lr": 3}, {"lr": 2e-3, "weight_decay": 1e-2}],
  "extra": {"a": [1]}
}"""
WANTED = Config(
    optimizer=Optimizer(1e-4, "sgd", (0.5, 1.0)),
    data=Data(Path("/data"), [64, 100], {"a": 1.0, "b": 0.5}),
    epochs=100,
    amp=True,
    precision=Precision.BF16,
    tag="v1",
    stages=[Optimizer(3.0), Optimizer(2e-3, weight_decay=1e-2)],
    extra={"a": [1]},
)


@pytest.fixture
def told(tmp_path):
    """What is said of a text, without the folder."""

    def told(text, schema=Config, name="c.yaml"):
        file = tmp_path / name
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        with pytest.raises(ConfigError) as caught:
            load_config(file, schema)
        return str(caught.value).replace(f"{tmp_path}/", "").splitlines()

    return told


@pytest.mark.parametrize(("name", "text"), [("c.yaml", YAML), ("c.toml", TOML), ("c.json", JSON)])
def test_the_three_kinds_give_the_same(name, text, tmp_path):
    file = tmp_path / name
    file.write_text("\ufeff" + text if name == "c.yaml" else text)
    config = load_config(file, Config)
    assert config == WANTED
    assert type(config.optimizer.betas[1]) is float
    assert type(config.epochs) is int


def test_numbers_are_those_of_yaml_1_2(tmp_path):
    @dataclasses.dataclass
    class Numbers:
        values: list[float]
        words: list[str]

    file = tmp_path / "c.yml"
    file.write_text("values: [1e-4, 1E5, 3, .5, -2.e3, .inf]\nwords: [no, on, 12:30, '1e-4']\n")
    loaded = load_config(str(file), Numbers)
    assert loaded.values == [1e-4, 1e5, 3.0, 0.5, -2e3, float("inf")]
    assert loaded.words == ["no", "on", "12:30", "1e-4"]


BASE = "optimizer: {lr: 1}\ndata: {root: x}\n"


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("epoch: 3\n", ["c.yaml:3: epoch", "did you mean epochs?"]),
        ("zzz: 3\n", ["c.yaml:3: zzz", "optimizer, data, epochs, amp, precision, tag, stages, extra"]),
        ("epochs: '3'\n", ["c.yaml:3: epochs", "text '3'", "whole number", "leave the quotes out"]),
        ("epochs: 3.5\n", ["c.yaml:3: epochs", "number 3.5", "whole number"]),
        ("epochs: true\n", ["c.yaml:3: epochs", "true", "whole number"]),
        ("epochs:\n", ["c.yaml:3: epochs", "empty", "whole number"]),
        ("amp: yes\n", ["c.yaml:3: amp", "text 'yes'", "true or false", "YAML 1.2"]),
        ("amp: 1\n", ["c.yaml:3: amp", "number 1", "true or false"]),
        ("precision: fp8\n", ["c.yaml:3: precision", "text 'fp8'", "BF16, FP32"]),
        ("tag: [1]\n", ["c.yaml:3: tag", "list", "text or a whole number or nothing"]),
        ("stages:\n  - lr: 1\n  - lr: x\n", ["c.yaml:5: stages.1.lr", "text 'x'", "number"]),
        ("stages:\n  - name: sgd\n", ["c.yaml:4: stages.0: lr", "missing", "number"]),
        ("stages: {lr: 1}\n", ["c.yaml:3: stages", "group of keys", "list"]),
        ("amp: true\namp: false\n", ["c.yaml:4", "amp", "twice", "line 3"]),
        ("epochs: &a [*a]\n", ["c.yaml:3", "anchor"]),
        ("---\na: 1\n", ["c.yaml:4", "2"]),
        ("extra:\n\ta: 1\n", ["c.yaml:4", "YAML", "line 4", "tab"]),
        ("a: [1\n", ["c.yaml:4", "YAML", "expected ',' or ']', but got '<stream end>'"]),
    ],
)
def test_a_mistake_in_yaml(told, text, facts):
    assert each_holds(told(BASE + text), facts)


def test_mistakes_deep_inside_are_told_at_once_in_order(told):
    text = "optimizer:\n  name: adamw\n  beta: [1, 2]\n  betas: [1]\ndata:\n  root: 3\n"
    assert each_holds(
        told(text),
        ["c.yaml", "5"],
        ["c.yaml:1: optimizer: lr", "missing", "number"],
        ["c.yaml:2: optimizer.name", "text 'adamw'", "'adam' or 'sgd'"],
        ["c.yaml:3: optimizer.beta", "did you mean betas?"],
        ["c.yaml:4: optimizer.betas", "1", "2"],
        ["c.yaml:6: data.root", "number 3", "path"],
    )


def test_mistakes_in_toml_and_json_have_their_lines(told):
    bad = TOML.replace("lr = 1e-4", "lr = 'x'")
    assert each_holds(told(bad, name="c.toml"), ["c.toml:6: optimizer.lr", "text 'x'", "number"])
    bad = JSON.replace('"amp"', '"ampp"')
    assert each_holds(told(bad, name="c.json"), ["c.json:4: ampp", "did you mean amp?"])
    assert each_holds(told("a = \n", name="c.toml"), ["c.toml:1", "TOML", "Invalid value"])
    assert told('{\n"a": 1,\n}', name="c.json")[0].startswith("c.json:")


@pytest.mark.parametrize(
    ("data", "name", "facts"),
    [
        (b"\xff", "c.yaml", ["c.yaml:1", "UTF-8"]),
        (b"", "c.ini", ["c.ini:1", ".yaml, .yml, .toml, .json", ".ini"]),
        (b"3", "c.yaml", ["c.yaml:1", "number 3", "group of keys"]),
        (b"[" * 800, "c.yaml", ["c.yaml:1", "YAML", "nested"]),
    ],
)
def test_bad_files(told, data, name, facts):
    assert each_holds(told(data, name=name), facts)


def test_an_empty_file_lacks_what_has_no_default(told):
    assert told("") == [
        "c.yaml has 2 mistakes:",
        "  c.yaml:1: optimizer is missing (a group of keys)",
        "  c.yaml:1: data is missing (a group of keys)",
    ]


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(
        ConfigError, match=r"gone.yaml:1: this file cannot be opened \(No such file or directory\)"
    ):
        load_config(tmp_path / "gone.yaml", Config)
    (tmp_path / "c.yaml").write_text("a: 1")
    with pytest.raises(TypeError, match="dataclass or a pydantic model"):
        load_config(tmp_path / "c.yaml", dict)


def test_merge_keys_of_yaml(tmp_path):
    file = tmp_path / "c.yaml"
    file.write_text(
        "extra: &base {lr: 1e-3, name: sgd}\noptimizer:\n  <<: *base\n  lr: 5e-4\ndata: {root: x}\n"
    )
    assert load_config(file, Config).optimizer == Optimizer(5e-4, "sgd")


def test_what_a_class_says_of_itself_gets_its_line(told):
    assert told("a: 1\nb: 0\n", Positive) == ["c.yaml:1: b must be above 0"]


@dataclasses.dataclass
class Positive:
    a: int
    b: int

    def __post_init__(self):
        if self.b <= 0:
            raise ValueError("b must be above 0")


class Inner(pydantic.BaseModel):
    lr: float = pydantic.Field(gt=0)


class Model(pydantic.BaseModel):
    optimizer: Inner
    epochs: int = 3
    stages: list[Inner] = []


def test_pydantic(told, tmp_path):
    file = tmp_path / "c.yaml"
    file.write_text("optimizer: {lr: 1e-4}\nstages: [{lr: 2}]\n")
    assert load_config(file, Model) == Model(optimizer=Inner(lr=1e-4), stages=[Inner(lr=2)])
    assert told("optimizer:\n  lr: -1\n  lrr: 2\nepochs: many\n", Model) == [
        "c.yaml has 3 mistakes:",
        "  c.yaml:2: optimizer.lr: input should be greater than 0",
        "  c.yaml:3: optimizer.lrr: there is no such key; did you mean lr?",
        "  c.yaml:4: epochs: input should be a valid integer, unable to parse string as an integer",
    ]
    assert told("epochs: 1\noptimizer: {}\n", Model) == ["c.yaml:2: optimizer: lr is missing"]


def test_it_needs_neither_torch_nor_pydantic(tmp_path):
    (tmp_path / "c.yaml").write_text("lr: 1e-4\n")
    code = (
        "import sys, dataclasses; sys.modules.update(torch=None, pydantic=None)\n"
        "from premortem.configs import load_config\n"
        "Config = dataclasses.make_dataclass('Config', [('lr', float)])\n"
        "print(load_config('c.yaml', Config).lr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout == "0.0001\n"


def test_parts_have_it_too():
    from premortem import parts

    assert parts.load_config is load_config
