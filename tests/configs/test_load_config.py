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
    ("text", "sentence"),
    [
        ("epoch: 3\n", "c.yaml:3: epoch: there is no such key; did you mean epochs?"),
        (
            "zzz: 3\n",
            "c.yaml:3: zzz: there is no such key; there are optimizer, data, epochs, amp, precision, tag, stages, extra",
        ),
        (
            "epochs: '3'\n",
            "c.yaml:3: epochs is the text '3', and a whole number is wanted: leave the quotes out",
        ),
        ("epochs: 3.5\n", "c.yaml:3: epochs is the number 3.5, and a whole number is wanted"),
        ("epochs: true\n", "c.yaml:3: epochs is true, and a whole number is wanted"),
        ("epochs:\n", "c.yaml:3: epochs is empty, and a whole number is wanted"),
        (
            "amp: yes\n",
            "c.yaml:3: amp is the text 'yes', and true or false is wanted: only true and false are that in YAML 1.2",
        ),
        ("amp: 1\n", "c.yaml:3: amp is the number 1, and true or false is wanted"),
        ("precision: fp8\n", "c.yaml:3: precision is the text 'fp8'; there are BF16, FP32"),
        ("tag: [1]\n", "c.yaml:3: tag is a list, and text or a whole number or nothing is wanted"),
        ("stages:\n  - lr: 1\n  - lr: x\n", "c.yaml:5: stages.1.lr is the text 'x', and a number is wanted"),
        ("stages:\n  - name: sgd\n", "c.yaml:4: stages.0: lr is missing (a number)"),
        ("stages: {lr: 1}\n", "c.yaml:3: stages is a group of keys, and a list is wanted"),
        ("amp: true\namp: false\n", "c.yaml:4: the key amp is there twice, also in line 3"),
        ("epochs: &a [*a]\n", "c.yaml:3: an anchor holds itself"),
        ("---\na: 1\n", "c.yaml:4: this file holds 2 documents, and a configuration is one"),
        (
            "extra:\n\ta: 1\n",
            "c.yaml:4: this file cannot be read as YAML (line 4 is indented with a tab, and YAML allows only spaces there)",
        ),
        (
            "a: [1\n",
            "c.yaml:4: this file cannot be read as YAML (expected ',' or ']', but got '<stream end>')",
        ),
    ],
)
def test_a_mistake_in_yaml(told, text, sentence):
    assert told(BASE + text) == [sentence]


def test_mistakes_deep_inside_are_told_at_once_in_order(told):
    text = "optimizer:\n  name: adamw\n  beta: [1, 2]\n  betas: [1]\ndata:\n  root: 3\n"
    assert told(text) == [
        "c.yaml has 5 mistakes:",
        "  c.yaml:1: optimizer: lr is missing (a number)",
        "  c.yaml:2: optimizer.name is the text 'adamw', and 'adam' or 'sgd' is wanted",
        "  c.yaml:3: optimizer.beta: there is no such key; did you mean betas?",
        "  c.yaml:4: optimizer.betas has 1 items, and 2 are wanted",
        "  c.yaml:6: data.root is the number 3, and a path is wanted",
    ]


def test_mistakes_in_toml_and_json_have_their_lines(told):
    assert told(TOML.replace("lr = 1e-4", "lr = 'x'"), name="c.toml") == [
        "c.toml:6: optimizer.lr is the text 'x', and a number is wanted"
    ]
    assert told(JSON.replace('"amp"', '"ampp"'), name="c.json") == [
        "c.json:4: ampp: there is no such key; did you mean amp?"
    ]
    assert told("a = \n", name="c.toml") == ["c.toml:1: this file cannot be read as TOML (Invalid value)"]
    assert told('{\n"a": 1,\n}', name="c.json")[0].startswith("c.json:")


@pytest.mark.parametrize(
    ("data", "name", "sentence"),
    [
        (b"\xff", "c.yaml", "c.yaml:1: this file is not UTF-8 text"),
        (b"", "c.ini", "c.ini:1: a configuration ends in .yaml, .yml, .toml, .json, not in .ini"),
        (b"3", "c.yaml", "c.yaml:1: is the number 3, and a group of keys is wanted"),
        (b"[" * 800, "c.yaml", "c.yaml:1: this file cannot be read as YAML (it is nested too deeply)"),
    ],
)
def test_bad_files(told, data, name, sentence):
    assert told(data, name=name) == [sentence]


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
    with pytest.raises(TypeError, match="wants a dataclass or a pydantic model"):
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
