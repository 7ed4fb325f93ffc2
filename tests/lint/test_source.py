"""One file: buckets, places, names and kinds."""

import ast
import sys
from pathlib import Path

import pytest

from premortem.lint import text, tree
from premortem.lint.parsing import Unreadable
from premortem.lint.source import Source
from premortem.lint.tree import argument, constant, dotted, last_name
from tests.lint.reading import source

LOOP = """
import torch

model = Net()

def train(loader):
    for x in loader:
        while x:
            model(x).backward()
        self.head, other = a, b
    return [y for y in loader]
"""


def test_buckets_come_in_the_order_of_the_source():
    parsed = source(LOOP)
    assert [last_name(call) for call in parsed.nodes(ast.Call)] == ["Net", "backward", "model"]
    assert sorted(parsed.calls) == ["Net", "backward", "model"]
    assert sorted(parsed.assignments) == ["model", "other", "self.head"]
    assert [type(loop) for loop in parsed.loops] == [ast.For, ast.While]
    assert [*parsed.calls_to("backward", "step")] == parsed.calls["backward"]


def test_every_statement_and_call_is_in_its_bucket():
    parsed = Source.read("tree.py", Path(tree.__file__).read_bytes())
    for kind in (ast.Call, ast.If, ast.Assign, ast.Return, ast.FunctionDef, ast.Attribute):
        wanted = [node for node in ast.walk(parsed.tree) if isinstance(node, kind)]
        in_annotations = {
            inner
            for node in ast.walk(parsed.tree)
            for part in (getattr(node, "annotation", None), getattr(node, "returns", None))
            if isinstance(part, ast.AST)
            for inner in ast.walk(part)
        }
        assert {*parsed.nodes(kind)} == {*wanted} - in_annotations


def test_around_a_node():
    parsed = source(LOOP)
    (backward,) = parsed.calls["backward"]
    assert parsed.function(backward).name == "train"
    assert parsed.scope(parsed.calls["Net"][0]) is parsed.tree
    assert [type(loop) for loop in parsed.loops_around(backward)] == [ast.While, ast.For]
    assert isinstance(parsed.statement(backward), ast.Expr)
    iterated = parsed.loops[0].iter
    assert parsed.loops_around(iterated) == ()


def test_within_leaves_out_nested_functions():
    parsed = source("def f():\n    a()\n    def g():\n        b()\n    h = lambda: c()\n")
    outer = parsed.functions[0]
    assert {last_name(n) for n in parsed.within(outer) if isinstance(n, ast.Call)} == {"a", "b", "c"}
    assert {last_name(n) for n in parsed.within(outer, nested=False) if isinstance(n, ast.Call)} == {"a"}


@pytest.mark.parametrize(
    ("data", "column"),
    [
        (b"x.to(y)\n", 1),
        (text.BOM + b"x.to(y)\n", 1),
        ("é = 1; x.to(y)\n".encode(), 8),
        ("# -*- coding: latin-1 -*-\né = 1; x.to(y)\n".encode("latin-1"), 8),
        (b"# coding: utf-8\r\nx.to(y)\r\n", 1),
    ],
)
def test_places_are_bytes_inside_and_characters_outside(data, column):
    parsed = Source.read("x.py", data)
    (call,) = parsed.calls["to"]
    assert parsed.text(call) == "x.to(y)"
    start, end = parsed.range(call)
    assert parsed.data[start:end] == b"x.to(y)"
    assert parsed.span(call)[2] == column


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"print 'hello'\n", "this file looks like Python 2"),
        (b"except Exception, e:\n", "line 1 of this file is not valid Python"),
        (b"try:\n    x\nexcept A, e:\n    y\n", "this file looks like Python 2"),
        (b"def f(:\n", "line 1 of this file is not valid Python"),
        (b"\0\1\2", "this file is binary"),
        (b"x = '\xff\xfe'\n", "this file"),
        (b"# coding: klingon\nx = 1\n", "this file's text does not fit the encoding it declares"),
        (b"x = " + b"(" * 5000 + b")" * 5000, "line 1 of this file"),
    ],
)
def test_what_cannot_be_read_is_one_sentence(data, sentence):
    with pytest.raises(Unreadable) as caught:
        Source.read("old.py", data)
    assert str(caught.value).startswith(sentence)


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="this Python can read it")
@pytest.mark.parametrize(
    "line", [b"def f[T](x): ...", b"type A = int", b"class K[T]: ...", b"x = f'{d['a']}'"]
)
def test_what_a_later_python_reads_is_read(line):
    assert Source.read("new.py", line + b"\nx = 1\n").tree.body[-1].lineno == 2


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="this Python can read it")
@pytest.mark.parametrize(
    "text",
    [
        "s = f'{d['a']} {f'{1 + 1}':>{width}} {{'\ny.to(1)\n",
        'log(\n    f"share: {\n        done * 100 / total:.2f}%"\n)\ny.to(1)\n',
        "class A[T: (int, str)](B):\n    def f[*P](self, x: T) -> T: ...\ntype Pair[T] = tuple[T, T]\ny.to(1)\n",
        'a = "f\'{"  # f"{\nb = rf"""{x["y"]}\n{z}"""\ny.to(1)\n',
    ],
)
def test_places_stay_true_in_what_a_later_python_reads(text):
    source = Source.read("new.py", text.encode())
    (call,) = source.calls_to("to")
    assert source.text(call) == "y.to(1)"


@pytest.mark.parametrize("line", [b"def f[T(x): ...", b"x = f'{d['a'}'", b"x = f'{'"])
def test_what_no_python_reads_is_still_broken(line):
    with pytest.raises(Unreadable, match="is not valid Python"):
        Source.read("new.py", line + b"\n")


@pytest.mark.parametrize(
    ("line", "version"),
    [
        (b"x = x.cuda(async=True)", "Python 3.6 or older"),
        (b"raise ValueError, 'no'", "Python 2"),
        (b"if a <> b: pass", "Python 2"),
    ],
)
def test_what_an_older_python_reads_is_said_so(line, version):
    with pytest.raises(Unreadable, match=version) as caught:
        Source.read("old.py", line + b"\n")
    assert caught.value.aside


def test_an_empty_file_is_a_source():
    assert Source.read("empty.py", b"").nodes(ast.Call) == ()


def test_small_questions():
    (call,) = source("f(1, *rest, key=-1e9)").nodes(ast.Call)
    assert constant(argument(call, "a", 0)) == 1
    assert argument(call, "b", 1) is None
    assert constant(argument(call, "key", 5)) == -1e9
    assert dotted(ast.parse("a.b.c", mode="eval").body) == "a.b.c"
    assert dotted(ast.parse("a().c", mode="eval").body) == ""


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("f(a, b=1)", "f(a)"),
        ("f(b=1)", "f()"),
        ("f(b=1,)", "f()"),
        ("f(b=1, c=2)", "f(c=2)"),
        ("f(a, b=1, c=2)", "f(a, c=2)"),
        ("f(\n    a,\n    b=1,\n)", "f(\n    a,\n)"),
        ("f(a, b=(1), c=2)", "f(a, c=2)"),
        ("f(a, b=(1))", "f(a)"),
        ("f((a), b=1)", "f((a))"),
        ("f(a,  # one, two\n  b=1)", "f(a)"),
    ],
)
def test_removing_an_argument(before, after):
    parsed = source(before)
    (call,) = parsed.nodes(ast.Call)
    (wanted,) = [keyword for keyword in call.keywords if keyword.arg == "b"]
    edit = parsed.without_argument(call, wanted)
    assert (parsed.data[: edit.start] + edit.text.encode() + parsed.data[edit.end :]).decode() == after


NAMES = [
    ("import torch.nn as nn", "nn.Linear", {"torch.nn.Linear"}),
    ("import torch", "torch.nn.modules.linear.Linear", {"torch.nn.Linear"}),
    ("from torch.optim.adam import Adam", "Adam", {"torch.optim.Adam"}),
    ("from torch import nn as n", "n.Module", {"torch.nn.Module"}),
    (
        "try:\n    from torch.amp import autocast\nexcept ImportError:\n    from torch.cuda.amp import autocast",
        "autocast",
        {"torch.amp.autocast", "torch.cuda.amp.autocast"},
    ),
    ("if TYPE_CHECKING:\n    from torch import Tensor", "Tensor", {"torch.Tensor"}),
    ("import torch\nnn = torch.nn", "nn.Linear", {"torch.nn.Linear"}),
    ("from torch import load\ndef load(): ...", "load", {"torch.load", "<local>.load"}),
    ("def build(): ...", "build", {"<local>.build"}),
    ("def f():\n    import torch as t", "t.load", {"torch.load"}),
    ("", "torch.load", set()),
    (
        "try:\n    from torch.amp import autocast\nexcept ImportError:\n    class autocast: ...",
        "autocast",
        {"torch.amp.autocast", "<local>.autocast"},
    ),
    ("from torch.nn import DataParallel", "DataParallel", {"torch.nn.parallel.DataParallel"}),
]


@pytest.mark.parametrize(("imports", "expr", "expected"), NAMES)
def test_names(imports, expr, expected):
    parsed = source(f"{imports}\n{expr}\n")
    assert parsed.names.of(parsed.expressions[-1].value) == expected


@pytest.mark.parametrize(
    ("path", "module", "statement", "expected"),
    [
        ("pkg/sub/train.py", "pkg.sub.train", "from .data import load", {"pkg.sub.data.load"}),
        ("pkg/sub/train.py", "pkg.sub.train", "from ..data import load", {"pkg.data.load"}),
        ("pkg/sub/__init__.py", "pkg.sub", "from .data import load", {"pkg.sub.data.load"}),
        ("train.py", "train", "from .data import load", {"data.load"}),
    ],
)
def test_relative_imports(path, module, statement, expected):
    parsed = Source.read(path, f"{statement}\nload\n".encode(), module=module)
    assert parsed.names.of(parsed.expressions[-1].value) == expected


@pytest.mark.parametrize(
    ("program", "known"),
    [
        ("def f(x):\n    load(x)", True),
        ("def f(load):\n    load(x)", False),
        ("def f(*, load=None):\n    def g():\n        load(x)", False),
        ("def f(x):\n    load = x\n    load(x)", False),
        ("f = lambda load: load(x)", False),
        ("def g(load): ...\ndef f(x):\n    load(x)", True),
    ],
)
def test_a_parameter_hides_an_import(program, known):
    parsed = source(f"from torch import load\n{program}\n")
    (call,) = parsed.calls["load"]
    assert parsed.names.of(call.func) == ({"torch.load"} if known else set())


def test_sure_and_possible():
    parsed = source("from torch import load\ndef load(): ...\nload\n")
    expr = parsed.expressions[-1].value
    assert parsed.names.any_in(expr, {"torch.load"})
    assert not parsed.names.all_in(expr, {"torch.load"})
    assert parsed.names.imports("torch")
    assert not parsed.names.imports("tor")


KINDS = [
    ("x = torch.optim.Adam(p)", {"optimizer"}),
    ("x = torch.optim.lr_scheduler.StepLR(o, 3)", {"scheduler"}),
    ("x = torch.amp.GradScaler()", {"scaler"}),
    ("x = torch.utils.data.DataLoader(d)", {"loader"}),
    ("x = nn.Linear(1, 2).to(device)", {"module"}),
    ("x = nn.Parameter(torch.zeros(3))", set()),
    ("x = torch.zeros(3).to(device)", {"tensor"}),
    ("class Net(nn.Module): ...\nx = Net()", {"module"}),
    ("class Base(nn.Module): ...\nclass Net(Base): ...\nx = torch.compile(Net())", {"module"}),
    ("def build():\n    m = nn.Linear(1, 2)\n    return m\nx = build()", {"module"}),
    ("def build(a):\n    if a:\n        return nn.Linear(1, 2)\n    return load()\nx = build(1)", set()),
    ("def f(x: nn.Module): ...", {"module"}),
    ("def f(x: 'torch.Tensor'): ...", {"tensor"}),
    ("x.scale(loss).backward()", {"scaler"}),
    ("o = torch.optim.SGD(x.parameters(), 0.1)", {"module"}),
    ("x = nn.Linear(1, 2)\nx = torch.optim.Adam(p)", {"module", "optimizer"}),
    ("x, y = prepare(x, y)", set()),
    ("x = wrap(x)", set()),
    ("x = x", set()),
    ("optimizer = x", set()),
]


@pytest.mark.parametrize(("program", "expected"), KINDS)
def test_kinds(program, expected):
    parsed = source(f"import torch\nfrom torch import nn\n{program}\n")
    assert parsed.kinds.of("x") == expected


def test_a_released_source_holds_nothing():
    parsed = source("import torch\ntorch.load(f)\n")
    _ = parsed.names, parsed.flow(parsed.tree)
    parsed.release()
    assert vars(parsed) == {}


def test_except_without_parentheses_is_read_and_python_2_is_not():
    newer = Source.read(
        "new.py", b"try:\n    pass\nexcept ValueError, socket.Error, KeyError:\n    pass\nx = 1\n"
    )
    handler = newer.nodes(ast.Try)[0].handlers[0]
    assert [getattr(one, "id", getattr(one, "attr", "")) for one in handler.type.elts] == [
        "ValueError",
        "Error",
        "KeyError",
    ]
    assert handler.type.elts[0].col_offset == 7
    with pytest.raises(Unreadable, match="Python 2"):
        Source.read("old.py", b"try:\n    pass\nexcept IOError, e:\n    pass\n")
