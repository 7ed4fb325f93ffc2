"""A resume says what fits and what does not, and changes nothing when it does not. Files as strangers save them."""

import copy
import functools

import pytest
import torch
from torch import nn

import premortem
from premortem.errors import Refused, VaultError
from premortem.vault.report import ResumeRefused


class Net(nn.Module):
    def __init__(self, swapped=False, classes=4):
        super().__init__()
        for name in "ba" if swapped else "ab":
            setattr(self, name, nn.Linear(8, 8))
        self.norm = nn.BatchNorm1d(8)
        self.head = nn.Linear(8, classes)

    def forward(self, x):
        return self.head(self.norm(self.b(self.a(x))))


def adam(model, **options):
    return torch.optim.AdamW(model.parameters(), **{"lr": 1e-3, **options})


def trained(model, optimizer, scheduler=None, steps=5):
    for _ in range(steps):
        optimizer.zero_grad()
        model(torch.randn(16, 8)).pow(2).mean().backward()
        optimizer.step()
        if scheduler is not None:
            scheduler.step()
    return model


def told(report, level, about):
    return [remark.text for remark in report.remarks if (remark.level, remark.about) == (level, about)]


@pytest.fixture
def model():
    torch.manual_seed(0)
    return Net()


@pytest.fixture
def optimizer(model):
    optimizer = adam(model)
    trained(model, optimizer)
    return optimizer


@pytest.fixture
def path(tmp_path, model, optimizer):
    path = tmp_path / "last.pt"
    torch.save(
        {"epoch": 3, "global_step": 5, "model": model.state_dict(), "optimizer": optimizer.state_dict()}, path
    )
    return path


def test_a_file_that_fits_has_nothing_to_say(path, model, optimizer):
    other = Net()
    theirs = adam(other)
    report = premortem.resume(path, model=other, optimizer=theirs, rng=False)
    assert (report.step, report.start, report.epoch) == (5, 6, 3)
    assert all("as stored" in remark.text for remark in report.remarks)  # nothing but where those come from
    assert report.restored == ["model", "optimizer"]
    assert torch.equal(other.a.weight, model.a.weight)
    assert torch.equal(theirs.state[other.a.weight]["exp_avg"], optimizer.state[model.a.weight]["exp_avg"])


@pytest.mark.parametrize(
    ("counters", "step", "epoch", "words"),
    [
        ({"epoch": 11}, None, 11, "report.epoch is as stored: `epoch` 11."),
        ({"it": 70}, 70, None, "report.step is as stored: `it` 70."),
        ({"step": 4, "global_step": 4}, 4, None, "`step` 4 and `global_step` 4"),
        ({"step": 4, "global_step": 900}, None, None, "report.step is None"),
        ({"epoch": True, "step": -1, "epochs": 30, "num_steps": 90, "args": {"epoch": 3}}, None, None, ""),
    ],
)
def test_the_counters_of_a_strangers_file_are_read_and_told(tmp_path, model, counters, step, epoch, words):
    torch.save({"model": model.state_dict(), **counters}, tmp_path / "last.pt")
    report = premortem.resume(tmp_path / "last.pt", model=Net(), rng=False, quiet=True)
    assert (report.step, report.epoch) == (step, epoch)
    notes = told(report, "note", "checkpoint")
    assert any(words in each for each in notes) if words else not any("report." in each for each in notes)


def test_a_report_alone_changes_nothing(path):
    other = Net()
    before = copy.deepcopy(other.state_dict())
    report = premortem.resume_report(path, model=other, optimizer=adam(other))
    assert report.ok
    assert report.restored == []
    assert all(torch.equal(before[key], value) for key, value in other.state_dict().items())


def grouped(model):
    matrices = [each for each in model.parameters() if each.dim() > 1]
    vectors = [each for each in model.parameters() if each.dim() <= 1]
    groups = [{"params": matrices, "weight_decay": 0.1}, {"params": vectors, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=1e-3)


def named(model):
    return torch.optim.AdamW(list(model.named_parameters()), lr=1e-3)


@pytest.mark.parametrize("build", [adam, grouped, named])
def test_moments_go_to_the_layers_they_belong_to_in_whatever_order(tmp_path, model, build):
    if build is named and tuple(map(int, torch.__version__.split(".")[:2])) < (2, 6):
        pytest.skip("optimizers know the names of parameters from torch 2.6 on")
    optimizer = build(model)
    trained(model, optimizer)
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, tmp_path / "x.pt")
    other = Net(swapped=True)
    theirs = build(other)
    report = premortem.resume(tmp_path / "x.pt", model=other, optimizer=theirs, rng=False, quiet=True)
    assert any("by name" in text for text in told(report, "note", "optimizer"))
    for name, parameter in other.named_parameters():
        mine = dict(model.named_parameters())[name]
        assert torch.equal(theirs.state[parameter]["exp_avg"], optimizer.state[mine]["exp_avg"]), name
    plain = build(Net(swapped=True))
    plain.load_state_dict(optimizer.state_dict())  # what torch does: the moments of `a` are those of `b`
    first = plain.param_groups[0]["params"][0]
    assert torch.equal(plain.state[first]["exp_avg"], optimizer.state[model.a.weight]["exp_avg"])


def test_a_vault_knows_the_names_whatever_the_groups(tmp_path, model, optimizer):
    with premortem.Vault(tmp_path) as vault:
        vault.save(5, model=model, optimizer=optimizer)
        other = Net(swapped=True)
        theirs = grouped(other)
        report = vault.resume(model=other, optimizer=theirs, quiet=True)
    assert report.ok
    for name, parameter in other.named_parameters():
        mine = dict(model.named_parameters())[name]
        assert torch.equal(theirs.state[parameter]["exp_avg"], optimizer.state[mine]["exp_avg"]), name


@pytest.mark.parametrize("prefix", ["module.", "_orig_mod.", "module._orig_mod.", "model.", "net.backbone."])
def test_a_prefix_is_read_through_and_its_remedy_told(tmp_path, model, prefix):
    state = {prefix + key: value for key, value in model.state_dict().items()}
    torch.save({"state_dict": {**state, "criterion.weight": torch.ones(3)}}, tmp_path / "x.ckpt")
    other = Net()
    report = premortem.resume(tmp_path / "x.ckpt", model=other, rng=False, quiet=True, strict=False)
    assert [remark.remedy for remark in report.remarks if "names fit only" in remark.text] != [""]
    assert torch.equal(other.head.weight, model.head.weight)


@pytest.mark.parametrize("wrap", [functools.partial(torch.compile, backend="eager"), nn.DataParallel])
def test_a_wrapped_model_takes_the_plain_names(path, model, wrap):
    other = Net()
    report = premortem.resume(path, model=wrap(other), rng=False, quiet=True)
    assert told(report, "warning", "model") == []
    assert torch.equal(other.a.weight, model.a.weight)


def test_a_new_head_is_refused_and_can_be_had_on_request(path, model):
    other = Net(classes=7)
    with pytest.raises(ResumeRefused, match=r"`head.weight` \[4, 8\] → \[7, 8\]"):
        premortem.resume(path, model=other, quiet=True)
    assert not torch.equal(other.a.weight, model.a.weight)
    premortem.resume(path, model=other, strict=False, quiet=True)
    assert torch.equal(other.a.weight, model.a.weight)


def test_what_was_loaded_and_what_was_left_out_is_the_verdict(path, capsys):
    other = Net(classes=7)
    sgd = torch.optim.SGD(other.parameters(), lr=0.1, momentum=0.9)
    report = premortem.resume(path, model=other, optimizer=sgd, strict=False, rng=False)
    assert report.verdict == (
        "Loaded in spite of 2 errors: model. Left out: 2 of 11 weights of `model`, as the script made them "
        "(`head.weight`, `head.bias`); `optimizer`."
    )
    assert "strict=False" not in capsys.readouterr().err
    nothing = premortem.resume(path, model=nn.Conv2d(1, 1, 1), strict=False, quiet=True)
    assert nothing.verdict == "Nothing was loaded: nothing in this checkpoint fits."


def test_missing_and_unexpected_weights_are_named(path):
    other = Net()
    other.extra = nn.Linear(2, 2)
    del other.norm
    report = premortem.resume_report(path, model=other, quiet=True)
    errors = " ".join(told(report, "error", "model"))
    assert "2 weights are in the model and not in the checkpoint: `extra.weight`, `extra.bias`" in errors
    assert "5 weights are in the checkpoint and not in the model: `norm.weight`" in errors


@pytest.mark.parametrize("where", ["weights", "moments"])
def test_numbers_that_are_none_are_found_before_the_first_step(tmp_path, model, optimizer, where):
    poisoned = model.b.weight if where == "weights" else optimizer.state[model.b.weight]["exp_avg_sq"]
    with torch.no_grad():
        poisoned[0, 0] = float("nan")
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, tmp_path / "x.pt")
    other = Net()
    with pytest.raises(ResumeRefused, match=r"not finite: `b.weight"):
        premortem.resume(tmp_path / "x.pt", model=other, optimizer=adam(other), quiet=True)


def test_who_wins_is_said_and_can_be_chosen(path):
    for settings, lr in (("checkpoint", 1e-3), ("script", 3e-4)):
        other = Net()
        theirs = adam(other, lr=3e-4)
        report = premortem.resume(path, model=other, optimizer=theirs, settings=settings, quiet=True)
        assert told(report, "warning", "optimizer") == [
            f"lr: the checkpoint has 0.001, the script 0.0003. The {settings} wins."
        ]
        assert theirs.param_groups[0]["lr"] == lr


def test_a_rate_that_a_scheduler_has_moved_is_no_conflict(tmp_path, model):
    def built(model, lr=1e-3, length=20):
        optimizer = adam(model, lr=lr)
        return optimizer, torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, length)

    optimizer, scheduler = built(model)
    trained(model, optimizer, scheduler, 8)
    state = {"model": model, "optimizer": optimizer, "scheduler": scheduler}
    torch.save({name: each.state_dict() for name, each in state.items()}, tmp_path / "x.pt")
    other = Net()
    theirs, schedule = built(other)
    report = premortem.resume(
        tmp_path / "x.pt", model=other, optimizer=theirs, scheduler=schedule, rng=False, quiet=True
    )
    assert [remark.level for remark in report.remarks] == ["note"]
    assert told(report, "note", "scheduler") == ["8 of 20 steps of the schedule are done (T_max)."]
    assert theirs.param_groups[0]["lr"] == optimizer.param_groups[0]["lr"]

    # The script's own rate and length: the schedule as if it had always had them.
    theirs, schedule = built(other, lr=2e-3, length=40)
    report = premortem.resume(
        tmp_path / "x.pt", model=other, optimizer=theirs, scheduler=schedule, settings="script", quiet=True
    )
    assert any(
        "T_max: the checkpoint has 20, the script 40" in text for text in told(report, "warning", "scheduler")
    )
    reference, always = built(Net(), lr=2e-3, length=40)
    for _ in range(8):
        reference.step()
        always.step()
    for _ in range(5):
        assert theirs.param_groups[0]["lr"] == pytest.approx(reference.param_groups[0]["lr"], rel=1e-9)
        for each in (theirs, schedule, reference, always):
            each.step()


def test_a_schedule_past_its_horizon_is_told(tmp_path, model):
    optimizer = adam(model)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 4)
    trained(model, optimizer, scheduler, 6)
    torch.save({"model": model.state_dict(), "scheduler": scheduler.state_dict()}, tmp_path / "x.pt")
    report = premortem.resume_report(tmp_path / "x.pt", model=Net(), scheduler=scheduler, quiet=True)
    assert any("past its horizon" in text for text in told(report, "warning", "scheduler"))


def test_a_warm_up_that_is_over_is_not(tmp_path, model):
    optimizer = adam(model)
    scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, total_iters=2)
    trained(model, optimizer, scheduler, 6)
    torch.save({"model": model.state_dict(), "scheduler": scheduler.state_dict()}, tmp_path / "x.pt")
    report = premortem.resume_report(tmp_path / "x.pt", model=Net(), scheduler=scheduler, quiet=True)
    assert report.remarks == []


def test_another_kind_of_optimizer_is_refused(path):
    other = Net()
    sgd = torch.optim.SGD(other.parameters(), lr=0.1, momentum=0.9)
    with pytest.raises(ResumeRefused, match="another kind of optimizer, and this is a SGD"):
        premortem.resume(path, model=other, optimizer=sgd, quiet=True)


def test_weights_alone_say_that_the_moments_are_gone(tmp_path, model):
    torch.save(model.state_dict(), tmp_path / "best.pth")
    other = Net()
    report = premortem.resume_report(tmp_path / "best.pth", model=other, optimizer=adam(other), quiet=True)
    [said] = told(report, "warning", "optimizer")
    assert said.startswith("The checkpoint holds no state for `optimizer`. It starts without moments")


def test_a_conversion_is_told(path):
    report = premortem.resume_report(path, model=Net().bfloat16(), quiet=True)
    assert told(report, "warning", "model") == [
        "10 weights are converted, checkpoint → model: float32 → bfloat16."
    ]


def test_the_average_is_found_beside_the_weights(tmp_path, model, optimizer):
    average = torch.optim.swa_utils.AveragedModel(model)
    average.update_parameters(trained(model, optimizer))
    torch.save({"model": model.state_dict(), "model_ema": average.state_dict()}, tmp_path / "x.pt")
    other = Net()
    theirs = torch.optim.swa_utils.AveragedModel(Net())
    report = premortem.resume(tmp_path / "x.pt", model=other, ema=theirs, rng=False, quiet=True)
    assert report.remarks == []
    assert torch.equal(other.a.weight, model.a.weight)
    assert torch.equal(theirs.module.a.weight, average.module.a.weight)


@pytest.mark.parametrize("sizes", [(3, 3), (3, 5)])
def test_several_models_of_one_file_are_told_apart(tmp_path, sizes):
    def built():
        models = {name: nn.Linear(2, size) for name, size in zip(("G_A", "G_B"), sizes, strict=True)}
        return models, {name: torch.optim.Adam(model.parameters()) for name, model in models.items()}

    models, optimizers = built()
    for name, model in models.items():
        model(torch.randn(4, 2)).sum().backward()
        optimizers[name].step()
    state = {name: model.state_dict() for name, model in models.items()}
    state |= {f"opt_{name}": optimizer.state_dict() for name, optimizer in optimizers.items()}
    torch.save(state, tmp_path / "gan.pt")
    others, theirs = ({name: each[name] for name in ("G_B", "G_A")} for each in built())
    report = premortem.resume(tmp_path / "gan.pt", model=others, optimizer=theirs, rng=False, quiet=True)
    assert report.remarks == []
    for name, model in models.items():
        assert torch.equal(others[name].weight, model.weight)
        moments = theirs[name].state[others[name].weight]["exp_avg"]
        assert torch.equal(moments, optimizers[name].state[model.weight]["exp_avg"])


def test_weights_that_cannot_be_told_apart_are_not_passed_over_in_silence(tmp_path):
    first, second = nn.Linear(2, 2), nn.Linear(2, 2)
    torch.save({"a": first.state_dict(), "b": second.state_dict()}, tmp_path / "x.pt")
    report = premortem.resume_report(tmp_path / "x.pt", model=nn.Linear(2, 2), quiet=True)
    assert told(report, "warning", "model") == ["`a`, `b` fit equally well; the first was taken."]


def test_companions_that_do_not_belong_together_are_refused(tmp_path):
    vae, ldm = nn.Linear(4, 4), nn.Linear(4, 4)
    with premortem.Vault(tmp_path) as vault:
        vault.save(1, model=ldm, companions={"vae": vae})
        assert vault.resume(model=ldm, companions={"vae": copy.deepcopy(vae)}, quiet=True).ok
        with pytest.raises(ResumeRefused, match="This `vae` is not the one"):
            vault.resume(model=ldm, companions={"vae": nn.Linear(4, 4)}, quiet=True)


def test_a_configuration_that_has_drifted_is_told(tmp_path):
    model = nn.Linear(2, 2)
    with premortem.Vault(tmp_path, config={"scale_factor": 0.18215, "depth": 4}) as vault:
        vault.save(1, model=model)
    with premortem.Vault(tmp_path, config={"scale_factor": 0.3, "depth": 4}) as vault:
        report = vault.resume(model=model, quiet=True)
    assert told(report, "warning", "config") == ["scale_factor: it was 0.18215, it is 0.3 now."]


def test_an_empty_value_of_a_configuration_can_be_seen(tmp_path):
    model = nn.Linear(2, 2)
    with premortem.Vault(tmp_path, config={"note": "close", "seed": "1"}) as vault:
        vault.save(1, model=model)
    with premortem.Vault(tmp_path, config={"note": "", "seed": 1}) as vault:
        report = vault.resume(model=model, quiet=True)
    assert told(report, "warning", "config") == [
        'note: it was "close", it is "" now.',
        'seed: it was "1", it is 1 now.',
    ]


def test_the_report_is_printed_for_people(path, capsys):
    premortem.resume_report(path, model=Net(classes=7))
    said = capsys.readouterr()
    assert said.out == ""
    assert "This checkpoint does not fit: 1 error." in said.err
    assert "`head.weight` [4, 8] → [7, 8]" in said.err


class Evil:
    def __reduce__(self):
        return (open, ("pwned.txt", "w"))


def test_a_file_that_would_run_code_is_not_opened(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    torch.save({"model": Net().state_dict(), "config": Evil()}, "x.pt")
    with pytest.raises(Refused):
        premortem.resume("x.pt", model=Net(), quiet=True)
    assert not (tmp_path / "pwned.txt").exists()


@pytest.mark.parametrize("content", [b"", b"hello" * 100])
def test_what_is_no_checkpoint_is_told_in_a_sentence(tmp_path, content):
    (tmp_path / "x.pt").write_bytes(content)
    with pytest.raises(VaultError, match=r"x\.pt"):
        premortem.resume(tmp_path / "x.pt", model=Net(), quiet=True)


def test_a_flipped_bit_in_a_strangers_file_is_found(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 3] ^= 4
    path.write_bytes(content)
    with pytest.raises(VaultError, match=r"last\.pt"):
        premortem.resume(path, model=Net(), quiet=True)
