"""Which statements can follow which, and where values come from."""

import ast

import pytest

from tests.lint.reading import marked, source

# In each program: can b be reached from a without passing any statement called c?
PATHS = {
    "straight": ("a()  # a\nb()  # b\n", True),
    "the wall": ("a()  # a\nc()  # c\nb()  # b\n", False),
    "backwards": ("b()  # b\na()  # a\n", False),
    "one branch": ("a()  # a\nif x:\n    c()  # c\nb()  # b\n", True),
    "both branches": ("a()  # a\nif x:\n    c()  # c\nelse:\n    c()  # c2\nb()  # b\n", False),
    "other branch": ("if x:\n    a()  # a\nelse:\n    b()  # b\n", False),
    "around the loop": ("for i in x:\n    b()  # b\n    a()  # a\n", True),
    "around the loop, walled": ("for i in x:\n    c()  # c\n    b()  # b\n    a()  # a\n", False),
    "loop may be empty": ("a()  # a\nfor i in x:\n    c()  # c\nb()  # b\n", True),
    "while true": ("while True:\n    a()  # a\nb()  # b\n", False),
    "while true, break": ("while True:\n    a()  # a\n    if x:\n        break\nb()  # b\n", True),
    "continue": ("for i in x:\n    a()  # a\n    if y:\n        continue\n    c()  # c\n    b()  # b\n", False),
    "continue skips": ("for i in x:\n    b()  # b\n    a()  # a\n    if y:\n        continue\n    c()  # c\n", True),
    "return": ("def f():\n    a()  # a\n    return\n    b()  # b\n", False),
    "raise": ("def f():\n    a()  # a\n    raise E\n    b()  # b\n", False),
    "exit": ("import sys\na()  # a\nsys.exit(1)\nb()  # b\n", False),
    "else of for": ("for i in x:\n    a()  # a\n    break\nelse:\n    b()  # b\n", False),
    "with": ("a()  # a\nwith x:\n    b()  # b\n", True),
    "suppressed": ("with suppress(E):\n    a()  # a\n    c()  # c\nb()  # b\n", True),
    "with does not suppress": ("with x:\n    a()  # a\n    c()  # c\nb()  # b\n", False),
    "handler": ("try:\n    a()  # a\n    c()  # c\nexcept E:\n    b()  # b\n", True),
    "raise to handler": ("try:\n    a()  # a\n    raise E\nexcept E:\n    b()  # b\n", True),
    "handler swallows": ("try:\n    a()  # a\n    c()  # c\nexcept E:\n    pass\nb()  # b\n", True),
    "handler leaves": ("def f():\n    try:\n        a()  # a\n        c()  # c\n    except E:\n        return\n    b()  # b\n", False),
    "else of try": ("try:\n    a()  # a\nexcept E:\n    pass\nelse:\n    b()  # b\n", True),
    "else is not guarded": ("try:\n    x()\nexcept E:\n    b()  # b\nelse:\n    a()  # a\n", False),
    "finally": ("try:\n    a()  # a\nfinally:\n    c()  # c\nb()  # b\n", False),
    "finally on return": ("def f():\n    try:\n        a()  # a\n        return\n    finally:\n        b()  # b\n", True),
    "after finally on return": ("def f():\n    try:\n        a()  # a\n        return\n    finally:\n        d()\n    b()  # b\n", False),
    "break through finally": ("for i in x:\n    try:\n        a()  # a\n        break\n    finally:\n        c()  # c\nb()  # b\n", False),
    "break inside, finally outside": ("try:\n    for i in x:\n        a()  # a\n        break\n    b()  # b\nfinally:\n    c()  # c\n", True),
    "two finallies": ("def f():\n    try:\n        try:\n            a()  # a\n            return\n        finally:\n            d()\n    finally:\n        b()  # b\n", True),
    "nested handlers": ("try:\n    try:\n        a()  # a\n    except E:\n        c()  # c\nexcept F:\n    b()  # b\n", True),
    "broad inner handler": ("try:\n    try:\n        a()  # a\n    except Exception:\n        pass\nexcept F:\n    b()  # b\n", False),
    "match": ("match x:\n    case 1:\n        a()  # a\n    case 2:\n        b()  # b\n", False),
    "match falls through": ("a()  # a\nmatch x:\n    case 1:\n        c()  # c\nb()  # b\n", True),
    "match takes all": ("a()  # a\nmatch x:\n    case 1:\n        c()  # c\n    case _:\n        c()  # c2\nb()  # b\n", False),
}  # fmt: skip


@pytest.mark.parametrize(("program", "reachable"), PATHS.values(), ids=PATHS)
def test_paths(program, reachable):
    _parsed, flow, at = marked(program)
    walls = [node for name, node in at.items() if name.startswith("c")]
    assert flow.reaches(at["a"], at["b"], avoiding=walls) is reachable


def test_paths_without_failures():
    _parsed, flow, at = marked("try:\n    a()  # a\n    c()  # c\nexcept E:\n    b()  # b\n")
    assert flow.reaches(at["a"], at["b"])
    assert not flow.reaches(at["a"], at["b"], raising=False)


def test_the_end_and_the_next_turn():
    parsed, flow, at = marked(
        """
        def train():
            for x in loader:
                a()  # a
                if bad:
                    continue
                c()  # c
        """
    )
    assert flow.reaches(at["a"], flow.end)
    assert flow.reaches(at["a"], parsed.loops[0], avoiding=[at["c"]])
    assert not flow.reaches(at["c"], parsed.loops[0], avoiding=[parsed.loops[0]])


def test_every_path_from_the_beginning():
    _parsed, flow, at = marked("a()  # a\nif x:\n    b()  # b\nc()  # c\n")
    assert not flow.reaches(flow.scope, at["c"], avoiding=[at["a"]])
    assert flow.reaches(flow.scope, at["c"], avoiding=[at["b"]])


def test_any_node_stands_for_its_statement():
    parsed, flow, _at = marked("a(first)  # a\nb(second)  # b\n")
    first, second = (call.args[0] for call in parsed.nodes(ast.Call))
    assert flow.reaches(first, second)
    assert not flow.reaches(second, first)


def uses(program, name):
    """The last place where a name is read, and the flow around it."""
    parsed = source(program)
    reads = [
        node
        for node in ast.walk(parsed.tree)
        if isinstance(node, (ast.Name, ast.Attribute))
        and isinstance(node.ctx, ast.Load)
        and ast.unparse(node) == name
    ]
    last = max(reads, key=lambda node: (node.lineno, node.col_offset))
    return parsed.flow(parsed.scope(last)), last


DEFINITIONS = [
    ("x = 1\nx = 2\nuse(x)\n", "x", {("assign", "2")}),
    ("x = 1\nif y:\n    x = 2\nuse(x)\n", "x", {("assign", "1"), ("assign", "2")}),
    ("for x in items:\n    use(x)\n", "x", {("for", "items")}),
    ("with open(f) as x:\n    use(x)\n", "x", {("with", "open(f)")}),
    ("def f(x=3):\n    use(x)\n", "x", {("parameter", "3")}),
    ("def f(*x):\n    use(x)\n", "x", {("parameter", None)}),
    ("a, x = 1, 2\nuse(x)\n", "x", {("assign", "2")}),
    ("a, x = pair()\nuse(x)\n", "x", {("unpack", "pair()")}),
    ("x = 1\nx += 2\nuse(x)\n", "x", {("augmented", "2"), ("assign", "1")}),
    ("self.net = Net()\nself.net = wrap(self.net)\n", "self.net", {("assign", "Net()")}),
    ("import x\nuse(x)\n", "x", {("import", None)}),
    ("try:\n    x = 1\nexcept E as x:\n    use(x)\n", "x", {("except", None)}),
    ("for i in y:\n    if i:\n        use(x)\n    x = i\n", "x", {("assign", "i")}),
    ("if (x := 1):\n    use(x)\n", "x", {("assign", "1")}),
    ("use(x)\n", "x", set()),
]


@pytest.mark.parametrize(("program", "name", "expected"), DEFINITIONS)
def test_definitions(program, name, expected):
    flow, use = uses(program, name)
    found = {(one.how, one.value and ast.unparse(one.value)) for one in flow.definitions(use)}
    assert found == expected


ORIGINS = [
    ("y = make()\nx = y\nuse(x)\n", {"make()"}),
    ("x = a() if b else c()\nuse(x)\n", {"a()", "c()"}),
    ("def f(x):\n    use(x)\n", {"x"}),
    ("if y:\n    x = a()\nuse(x)\n", {"a()", "x"}),
    ("for x in y:\n    use(x)\n", {"x"}),
    ("x = x\nuse(x)\n", {"x"}),
    ("def g():\n    return make()\nx = g()\nuse(x)\n", {"make()"}),
    ("def g(v):\n    return v\nx = g(make())\nuse(x)\n", {"make()"}),
    ("def g(v):\n    return g(v)\nx = g(make())\nuse(x)\n", {"g(v)"}),
    ("def g():\n    yield 1\nx = g()\nuse(x)\n", {"g()"}),
    ("def g(f):\n    x = f()\n    use(x)\n\n\ndef f():\n    return 1\n", {"f()"}),
]


@pytest.mark.parametrize(("program", "expected"), ORIGINS)
def test_origins(program, expected):
    flow, use = uses(program, "x")
    assert {ast.unparse(one) for one in flow.origins(use, calls=True)} == expected


def test_origins_keep_calls_closed_unless_asked():
    flow, use = uses("def g():\n    return make()\nx = g()\nuse(x)\n", "x")
    assert [ast.unparse(one) for one in flow.origins(use)] == ["g()"]


def test_a_method_is_followed_through_its_class():
    flow, use = uses(
        """
        class Base:
            def build(self, kind):
                return kind()

        class Trainer(Base):
            def fit(self):
                x = self.build(make)
                use(x)
        """,
        "x",
    )
    assert [ast.unparse(one) for one in flow.origins(use, calls=True)] == ["kind()"]
