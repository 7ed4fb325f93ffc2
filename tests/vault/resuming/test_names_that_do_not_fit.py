"""A state dict whose names are not the model's: what is said, and the remedy that is given, which must work."""

import re

import pytest
import torch
from torch import nn

from premortem.findings import Severity
from premortem.probes.state_names import best_prefix, fitting_entry
from premortem.run.watcher import Watcher


def net():
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 1))


@pytest.fixture
def watcher():
    watcher = Watcher("observe")
    watcher.attach()
    yield watcher
    watcher.close()


RENAMED = {
    "module.": lambda name: "module." + name,
    "model.module._orig_mod.": lambda name: "model.module._orig_mod." + name,
    "student.net.": lambda name: "student.net." + name,
    "in the middle": lambda name: name.replace(".", "._orig_mod.", 1),
}


@pytest.mark.parametrize("case", RENAMED)
def test_the_remedy_makes_every_key_fit(watcher, case):
    model = net()
    state = {RENAMED[case](name): value.clone() for name, value in net().state_dict().items()}
    model.load_state_dict(state, strict=False)
    (finding,) = watcher.findings
    assert finding.code == "PM311"
    how = re.search(r"`(\{.*\})`", finding.remedy).group(1)
    mended = eval(how, {"state": state})
    assert set(mended) == set(model.state_dict())


def test_the_weights_of_an_unwrapped_model_in_a_wrapped_one():
    own = [f"_orig_mod.{name}" for name in net().state_dict()]
    assert best_prefix(own, tuple(net().state_dict())) == ("+_orig_mod.", 6)


def test_a_whole_checkpoint_given_for_its_weights(watcher):
    model = net()
    model.load_state_dict({"epoch": 3, "weights": net().state_dict()}, strict=False)
    (finding,) = watcher.findings
    assert finding.code == "PM311"
    assert "`weights`" in finding.remedy


def test_no_entry_is_named_when_what_was_given_fits_better():
    state = {**net().state_dict(), "extra": {"0.weight": 1}}
    assert fitting_entry(net().state_dict(), state, 6) == ""


def test_a_filter_that_left_nothing(watcher, tmp_path):
    torch.save({"state": {f"old_{k}": v for k, v in net().state_dict().items()}}, tmp_path / "file.pt")
    model = net()
    own = model.state_dict()
    state = {k: v for k, v in torch.load(tmp_path / "file.pt")["state"].items() if k in own}
    model.load_state_dict(state, strict=False)
    (finding,) = watcher.findings
    assert (finding.code, finding.severity) == ("PM311", Severity.ERROR)
    assert "file.pt" in finding.message


def test_moments_that_are_not_finite(watcher):
    model = net()
    optimizer = torch.optim.AdamW(model.parameters())
    model(torch.ones(2, 4)).sum().backward()
    optimizer.step()
    state = optimizer.state_dict()
    state["state"][0]["exp_avg"].fill_(float("nan"))
    optimizer.load_state_dict(state)
    assert [f.code for f in watcher.findings if f.name == "checkpoint-non-finite"] == ["PM314"]


def test_a_new_head_and_a_part_of_a_larger_file_are_nobodys_business(watcher):
    model = net()
    backbone = {k: v for k, v in net().state_dict().items() if not k.startswith("4.")}
    model.load_state_dict(backbone, strict=False)
    larger = {**net().state_dict(), **{f"decoder.{k}": v for k, v in net().state_dict().items()}}
    model.load_state_dict(larger, strict=False)
    assert watcher.findings == []


def trained(model):
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(3):
        optimizer.zero_grad()
        model(torch.ones(2, 8)).sum().backward()
        optimizer.step()
    return optimizer


def tower(order):
    """Twelve layers of one shape, run in the order of their numbers."""
    model = nn.Module()
    for number in order:
        model.add_module(f"layer{number}", nn.Linear(8, 8, bias=False))
    model.forward = lambda x: [x := getattr(model, f"layer{n}")(x) for n in range(12)][-1]
    return model


@pytest.mark.parametrize(
    ("order", "keys", "said"),
    [
        (range(12), list, ["PM335"]),  # registered in another order since then
        (reversed(range(12)), list, []),
        (reversed(range(12)), sorted, []),  # the names were sorted when the file was written: no evidence
    ],
)
def test_layers_of_one_shape_in_another_order(tmp_path, order, keys, said):
    first = tower(reversed(range(12)))
    optimizer = trained(first)
    state = first.state_dict()
    torch.save(
        {"model": {k: state[k] for k in keys(state)}, "optimizer": optimizer.state_dict(), "epoch": 3},
        tmp_path / "last.pt",
    )
    watcher = Watcher("observe")
    watcher.attach()
    try:
        model = tower(order)
        loaded = torch.load(tmp_path / "last.pt")
        model.load_state_dict(loaded["model"])
        optimizer = torch.optim.AdamW(model.parameters())
        optimizer.load_state_dict(loaded["optimizer"])
        model(torch.ones(2, 8)).sum().backward()
        optimizer.step()
    finally:
        watcher.close()
    assert [f.code for f in watcher.findings if f.code == "PM335"] == said


def test_going_back_to_the_best_of_this_very_run_is_no_resume(watcher, tmp_path):
    torch.manual_seed(0)
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    for epoch in range(8):
        if epoch == 6:
            state = torch.load(tmp_path / "best.pt")
            model.load_state_dict(state["model"])
        for _ in range(2):
            optimizer.zero_grad()
            model(torch.randn(4, 4)).square().mean().backward()
            optimizer.step()
        if epoch < 5:
            state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch}
            torch.save(state, tmp_path / "best.pt")
    assert [f.code for f in watcher.findings if f.code in {"PM312", "PM336", "PM339"}] == []
