"""The database of signatures: right about the torch that is installed, small, quick, and careful."""

import importlib
import inspect
import subprocess
import sys
import time
import warnings

import pytest

from premortem.lint import signatures

# Names whose run-time signature says less than their source, or something else, each with the reason.
HIDDEN_BY_A_WRAPPER = {
    # `boolean_dispatch` and jit's overloads show (*args, **kwargs); the functions behind them are listed.
    "torch.nn.functional.adaptive_max_pool1d",
    "torch.nn.functional.adaptive_max_pool2d",
    "torch.nn.functional.adaptive_max_pool3d",
    "torch.nn.functional.fractional_max_pool2d",
    "torch.nn.functional.fractional_max_pool3d",
    "torch.nn.functional.max_pool1d",
    "torch.nn.functional.max_pool2d",
    "torch.nn.functional.max_pool3d",
    "torch.functional.lu",
    "torch.functional.unique",
    "torch.functional.unique_consecutive",
    "torch.lu",
    "torch.unique",
    "torch.unique_consecutive",
    # `**kwargs` that go to `super().__init__` unchanged: the base class decides.
    *(
        f"torch.nn{inner}.{name}"
        for inner in ("", ".modules", ".modules.rnn")
        for name in ("RNN", "LSTM", "GRU")
    ),
    *(f"torch.nn{inner}.NLLLoss2d" for inner in ("", ".modules", ".modules.loss")),
    "torch.nn.parallel.DistributedDataParallelCPU",
    # `__init__` is open, `__new__` is not.
    "torch.distributed.tensor.DTensor",
    "torch.distributed.tensor.experimental.DTensor",
    # Another class of the same name stands in the sources of the package.
    "torch.Storage",
    "torch.jit.RecursiveScriptModule",
}


def installed():
    torch = pytest.importorskip("torch")
    minor = signatures.minor_of(torch.__version__)
    if minor not in signatures.releases("torch"):
        pytest.skip(f"torch {torch.__version__} is not in the database")
    return minor


def value_of(name):
    """What a dotted name is at run time: (True, value), or (False, None)."""
    parts = name.split(".")
    for count in range(len(parts) - 1, 0, -1):
        try:
            value = importlib.import_module(".".join(parts[:count]))
        except Exception:  # noqa: BLE001 - optional parts of torch need what is not installed
            continue
        try:
            for part in parts[count:]:
                value = getattr(value, part)
        except Exception:  # noqa: BLE001 - lazy attributes import what is not installed
            return False, None
        return True, value
    return False, None


@pytest.fixture(scope="module")
def compared():
    """Names of the table against the installed torch: (agreeing, {differing: (only real, only ours)}, unknown to us)."""
    minor = installed()
    agree, differ, absent = set(), {}, []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in signatures.table("torch"):
            symbol = signatures.find(name)
            there, value = value_of(name)
            if there and not symbol.exists(minor) and not symbol.has(signatures.RAISES, minor):
                absent.append(name)
            if not there or not callable(value) or not symbol.is_understood(minor):
                continue
            try:
                parameters = list(inspect.signature(value).parameters.values())
            except (TypeError, ValueError):
                continue  # a function in C++
            if name.startswith("torch.Tensor.") and parameters and parameters[0].name == "self":
                parameters = parameters[1:]
            real = {p.name for p in parameters if p.kind in {p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY}}
            real |= {signatures.OPEN for p in parameters if p.kind is p.VAR_KEYWORD}
            ours = {item for item in symbol.items if symbol.has(item, minor)} - {
                signatures.NATIVE,
                signatures.RAISES,
            }
            if real == ours or signatures.MODULE in ours:
                agree.add(name)
            else:
                differ[name] = (real - ours, ours - real)
    return agree, differ, absent


def test_agrees_with_the_installed_torch(compared):
    agree, differ, _absent = compared
    unexplained = {name: sets for name, sets in differ.items() if name not in HIDDEN_BY_A_WRAPPER}
    assert unexplained == {}
    assert len(agree) > 2_000


def test_says_gone_only_of_what_is_gone(compared):
    _agree, _differ, absent = compared
    minor = installed()
    # A constant or an alias that could not be followed is never reported as removed.
    claimed = [
        name
        for name in absent
        if any(
            signatures.find(name).is_understood(older)
            for older in signatures.releases("torch")
            if older < minor
        )
    ]
    assert claimed == []


@pytest.mark.parametrize(
    ("name", "keyword", "minor", "answer"),
    [
        ("torch.optim.lr_scheduler.StepLR", "verbose", (2, 6), True),
        ("torch.optim.lr_scheduler.StepLR", "verbose", (2, 7), False),
        ("torch.utils.data.DataLoader", "in_order", (2, 5), False),
        ("torch.utils.data.DataLoader", "in_order", (2, 6), True),
        ("torch.nn.BatchNorm2d", "affine", (2, 4), True),  # from the private base `_BatchNorm`
        ("torch.nn.L1Loss", "size_average", (2, 4), True),
        ("torch.nn.LSTM", "batch_first", (2, 4), True),  # handed on to RNNBase
        ("torch.nn.LSTM", "batch_firts", (2, 4), False),
        ("torch.nn.functional.max_pool2d", "return_indices", (2, 4), True),
        ("torch.nn.functional.max_pool2d", "pad", (2, 4), False),
        ("torch.nn.functional.conv2d", "groups", (2, 4), True),
        ("torch.nn.functional.conv2d", "group", (2, 4), False),
        ("torch.fft.fft", "norm", (2, 4), True),
        ("torch.fft.fft", "normalised", (2, 4), False),
        ("torch.fft.fftfreq", "requires_grad", (2, 4), True),
        ("torch.distributed.rpc.init_rpc", "world_size", (2, 4), True),
        ("torch.distributed.rpc.init_rpc", "worldsize", (2, 4), False),
        ("torch.sum", "axis", (2, 4), True),  # parsed in C++
        ("torch.add", "x2", (2, 4), True),
        ("torch.nn.functional.softmax", "axis", (2, 4), False),  # a Python function
        ("torch.norm", "axis", (2, 4), False),
        ("torch.load", "anything", (2, 4), True),  # takes any keyword
        ("torch.device", "anything", (2, 4), True),  # a C++ class
        ("torch.no_such_name", "x", (2, 4), None),
        ("numpy.zeros", "x", (2, 4), None),
        ("torch.optim.Adam", "lr", (1, 13), None),  # before the oldest known
        ("torch.optim.Adam", "brand_new", (2, 99), None),  # after the newest: it may be new
        ("torch.optim.lr_scheduler.StepLR", "verbose", (2, 99), False),  # gone stays gone
        ("pytorch_lightning.Trainer", "gpus", (1, 9), True),
        ("pytorch_lightning.Trainer", "gpus", (2, 0), False),
        ("transformers.TrainingArguments", "evaluation_strategy", (4, 40), True),
        ("transformers.TrainingArguments", "evaluation_strategy", (5, 0), False),
        ("accelerate.Accelerator", "mixed_precision", (1, 0), True),
    ],
)
def test_accepts(name, keyword, minor, answer):
    assert signatures.accepts([name], keyword, minor) is answer


def test_all_candidates_must_refuse():
    amp = ["torch.amp.autocast", "torch.cuda.amp.autocast"]
    assert signatures.accepts(amp, "device_type", (2, 4)) is True
    assert signatures.accepts(amp, "devise", (2, 4)) is False
    assert signatures.accepts([*amp, "mine.autocast"], "devise", (2, 4)) is None
    assert signatures.accepts([], "devise", (2, 4)) is None


def test_exists():
    assert not signatures.find("torch.nn.RMSNorm").exists((2, 3))
    assert signatures.find("torch.nn.RMSNorm").exists((2, 4))
    assert not signatures.find("torch.symeig").exists((2, 4))  # a stub that raises
    assert signatures.find("torch.qr").exists((2, 13))
    assert not signatures.find("torch.qr").exists((2, 14))
    assert signatures.find("torch.nonsense") is None
    assert signatures.find("torchvision.transforms.functional_tensor").exists((0, 16))
    assert not signatures.find("torchvision.transforms.functional_tensor").exists((0, 17))


def test_since_and_gone_since():
    plateau = signatures.find("torch.optim.lr_scheduler.ReduceLROnPlateau")
    assert signatures.gone_since(plateau, "verbose") == (2, 7)
    assert signatures.gone_since(plateau, "patience") is None
    assert signatures.since(signatures.find("torch.nn.RMSNorm")) == (2, 4)
    assert signatures.since(signatures.find("torch.nn.Linear")) is None
    assert signatures.gone_since(signatures.find("torch.qr")) == (2, 14)


def test_every_minor_release_is_there():
    found = signatures.releases("torch")
    assert found[0] == (2, 0)
    assert list(found) == [(2, minor) for minor in range(len(found))]
    assert found == signatures.table("torch").minors


def test_the_tables_are_small():
    assert sum(path.stat().st_size for path in signatures.DATA.glob("*.gz")) < 400_000


def test_the_largest_table_loads_quickly():
    best = min(_seconds_to_load() for _ in range(5))
    assert best < 0.03


def _seconds_to_load():
    signatures.table.cache_clear()
    start = time.perf_counter()
    signatures.table("torch")
    return time.perf_counter() - start


def test_importing_the_rules_reads_no_table():
    code = (
        "import premortem.lint.rules, premortem.lint.signatures as s;"
        "print(s.table.cache_info().currsize, 'torch' in __import__('sys').modules)"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said.split() == ["0", "False"]
