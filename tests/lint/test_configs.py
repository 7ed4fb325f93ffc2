"""Configuration files with the place of every value."""

import json
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from premortem.lint.configs import Config
from premortem.lint.parsing import Unreadable

YAML = """\
# settings of a run
optimizer:
  lr: 1e-4  # plain
  name: "adam"
  betas: [0.9, 0.999]
  inner: {eps: '1e-8', amsgrad: no}
größe: 3e5
"""


def entries(name, text):
    config = Config(name, text if isinstance(text, bytes) else text.encode())
    return {".".join(one.key): one for one in config.entries}, config


def test_yaml():
    found, config = entries("c.yaml", YAML)
    assert {key: (one.text, one.plain) for key, one in found.items()} == {
        "optimizer.lr": ("1e-4", True),
        "optimizer.name": ("adam", False),
        "optimizer.betas.0": ("0.9", True),
        "optimizer.betas.1": ("0.999", True),
        "optimizer.inner.eps": ("1e-8", False),
        "optimizer.inner.amsgrad": ("no", True),
        "größe": ("3e5", True),
    }
    assert (found["optimizer.lr"].line, found["optimizer.lr"].column) == (3, 7)
    assert found["optimizer.betas.1"].name == "betas"
    assert config.mappings["optimizer",]["lr"] is found["optimizer.lr"]


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_the_bytes_of_a_value(mark):
    found, config = entries("c.yml", mark + YAML.encode())
    for one in found.values():
        assert config.data[one.start : one.end].decode().strip("'\"") == one.text


def test_several_documents_and_anchors():
    found, _config = entries("c.yaml", "a: &x {lr: 1}\nb: *x\nc: &y [*y]\n---\nd: 2\n")
    assert set(found) == {"a.lr", "d"}


def test_json_and_toml():
    found, _config = entries("c.json", '{\n  "lr": 1e-4,\n  "net": {"name": "x", "fp16": true}\n}\n')
    assert {key: (one.text, one.plain, one.line) for key, one in found.items()} == {
        "lr": ("1e-4", True, 2),
        "net.name": ("x", False, 3),
        "net.fp16": ("true", True, 3),
    }
    toml = 'lr = 1e-4  # rate\n[net.inner]\nname = "x = 1"\nfp16 = true\nlist = [1,\n2]\n[[layers]]\nn = 3\n'
    found, config = entries("c.toml", toml)
    assert {key: (one.text, one.plain, one.line) for key, one in found.items()} == {
        "lr": ("1e-4", True, 1),
        "net.inner.name": ("x = 1", False, 3),
        "net.inner.fp16": ("true", True, 4),
        "layers.n": ("3", True, 8),
    }
    one = found["net.inner.fp16"]
    assert config.data[one.start : one.end] == b"true"


@pytest.mark.parametrize(
    ("name", "data", "sentence"),
    [
        ("c.yaml", b"a: [1, 2\nb: 3\n", "this file cannot be read as YAML"),
        ("c.json", b'{"a": ', "this file cannot be read as JSON"),
        ("c.yaml", b"a: \xff\xfe", "this file is not UTF-8 text"),
        ("c.json", b"}", "this file cannot be read as JSON"),
        ("c.yaml", b"[" * 800, "this file cannot be read as YAML"),
    ],
)
def test_broken_files_are_one_sentence(name, data, sentence):
    with pytest.raises(Unreadable) as caught:
        _ = Config(name, data).entries
    assert str(caught.value).startswith(sentence)


def test_templates_are_not_configs_yet():
    assert Config("c.yaml", b"a: {{ cookiecutter.name }}\nb: {% if x %}1{% endif %}\n").entries == ()


def test_json_with_comments_tabs_and_nested_lists():
    text = """{
\t// the rate
\t"lr": 1e-4, /* two
\tlines */ "steps": [[1, {"a": 2}], 3,],
\t"last": null
}"""
    found, _config = entries("c.json", text)
    assert {key: one.text for key, one in found.items()} == {
        "lr": "1e-4",
        "steps.0.0": "1",
        "steps.0.1.a": "2",
        "steps.1": "3",
        "last": "null",
    }


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(string.ascii_letters),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.text(string.ascii_letters, min_size=1), inner, max_size=3)
        ),
    )
)
def test_json_is_read_as_json_reads_it(value):
    def flat(value, key=()):
        if isinstance(value, dict):
            return [pair for name, inner in value.items() for pair in flat(inner, (*key, name))]
        if isinstance(value, list):
            return [pair for place, inner in enumerate(value) for pair in flat(inner, (*key, str(place)))]
        return [(key, value if isinstance(value, str) else json.dumps(value))]

    data = json.dumps(value, indent=1).encode()
    assert [(one.key, one.text) for one in Config("c.json", data).entries] == flat(value)
