"""The user's step on tensors without contents: what it is told, what it may do, and what is counted."""

import copy

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint
from torch.utils.data import DataLoader, TensorDataset

import premortem
from premortem.fit import gpus
from premortem.fit.gpus import MIB
from premortem.fit.prediction import predict
from premortem.fit.session import rehearse

pytestmark = pytest.mark.filterwarnings("ignore")
CARD = gpus.by_name("h200")
WIDTH = 1024


def trained(model, loss, optimizer=None, steps=4):
    optimizer = optimizer or torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(steps):
        optimizer.zero_grad()
        loss().backward()
        optimizer.step()


def linear(device="cuda"):
    return nn.Linear(WIDTH, WIDTH, bias=False).to(device)


def test_weights_gradients_and_state_are_counted_to_the_byte():
    def step():
        model = linear()
        x = torch.randn(8, WIDTH, device="cuda")
        trained(model, lambda: model(x).sum(), torch.optim.AdamW(model.parameters(), fused=True))

    trace = rehearse(step, CARD)
    found = predict(trace)
    weights = 4 * WIDTH * WIDTH
    assert trace.complete
    assert found.kinds["parameters"] == weights
    assert found.kinds["gradients"] == weights
    assert found.kinds["optimizer state"] == 2 * weights + 512  # and the number of the step
    assert found.kinds["workspaces"] == 64 * MIB  # two threads that multiply


def test_the_script_believes_in_its_card():
    seen = {}

    def step():
        seen.update(
            available=torch.cuda.is_available(),
            name=torch.cuda.get_device_name(0),
            memory=torch.cuda.get_device_properties(0).total_memory,
        )
        model = linear(torch.device("cuda" if torch.cuda.is_available() else "cpu"))
        x = torch.zeros(2, WIDTH).cuda(non_blocking=True)
        seen.update(device=x.device, is_cuda=x.is_cuda, weight=model.weight.device, back=x.cpu().device)
        trained(model, lambda: model(x).sum())

    rehearse(step, CARD)
    assert seen["available"]
    assert seen["name"] == "NVIDIA H200"
    assert seen["memory"] == CARD.memory
    assert seen["device"] == seen["weight"] == torch.device("cuda", 0)
    assert seen["is_cuda"]
    assert seen["back"] == torch.device("cpu")


def test_everything_is_as_it_was_afterwards():
    before = (torch.cuda.is_available, torch.Tensor.to, torch.tensor, nn.Module._apply, nn.Parameter.__new__)
    rehearse(
        lambda: trained(model := linear(), lambda: model(torch.ones(1, WIDTH, device="cuda")).sum()), CARD
    )
    after = (torch.cuda.is_available, torch.Tensor.to, torch.tensor, nn.Module._apply, nn.Parameter.__new__)
    assert before == after
    assert not torch.cuda.is_available()
    x = torch.ones(8, requires_grad=True)
    F.dropout(x, 0.5).sum().backward()
    assert set(x.grad.unique().tolist()) <= {0.0, 2.0}
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert (torch.ones(2, 2) @ torch.ones(2, 2)).dtype is torch.bfloat16


def test_the_optimizer_may_be_made_before_the_model_is_moved():
    def step():
        model = nn.Linear(WIDTH, WIDTH, bias=False)
        optimizer = torch.optim.Adam(model.parameters())
        model.cuda()
        trained(model, lambda: model(torch.ones(1, WIDTH, device="cuda")).sum(), optimizer)

    assert predict(rehearse(step, CARD)).kinds["optimizer state"] == 2 * 4 * WIDTH * WIDTH


def test_a_copied_model_is_counted_once_more():
    def step():
        model = linear()
        average = copy.deepcopy(model)
        trained(model, lambda: (model(x) + average(x).detach()).sum() if (x := torch.ones(1, WIDTH, device="cuda")) is not None else None)  # fmt: skip

    assert predict(rehearse(step, CARD)).kinds["parameters"] == 2 * 4 * WIDTH * WIDTH


def scaled():
    model = linear()
    scaler, optimizer = torch.amp.GradScaler("cuda"), torch.optim.AdamW(model.parameters())
    for _ in range(4):
        with torch.autocast("cuda", dtype=torch.float16):
            loss = model(torch.randn(4, WIDTH, device="cuda")).float().pow(2).mean()
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0, error_if_nonfinite=False)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()


def values():
    model = linear()
    x, y = torch.randn(64, WIDTH, device="cuda"), torch.arange(64, device="cuda") % 3

    def loss():
        out = model(x)
        assert out[y == 1].shape[0] == 21  # labels are carried along for real
        assert torch.nonzero(y).shape == (42, 1)
        assert y.unique().tolist() == [0, 1, 2]
        assert int(y.max()) == 2
        if torch.isnan(out).any() or not torch.isfinite(out).all():
            raise ValueError
        picked = out[out > 0]
        assert picked.sum().item() is not None
        return picked.sum() + F.one_hot(y, 3).float().sum()

    trained(model, loss)


def recurrent():
    model = nn.ModuleList(
        [nn.LSTM(32, 64, 2, batch_first=True, dropout=0.1, bidirectional=True), nn.GRU(128, 32)]
    ).cuda()
    lengths = torch.tensor([5, 3, 2])

    def loss():
        packed = nn.utils.rnn.pack_padded_sequence(
            torch.randn(3, 5, 32, device="cuda"), lengths, batch_first=True
        )
        out, _ = nn.utils.rnn.pad_packed_sequence(model[0](packed)[0], batch_first=True)
        return model[1](out)[0].sum()

    trained(model, loss)


def sparse():
    model = nn.Embedding(100, 16, sparse=True).cuda()
    trained(
        model,
        lambda: model(torch.arange(8, device="cuda")).sum(),
        torch.optim.SparseAdam(list(model.parameters())),
    )


class Clamp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, gradient):
        return gradient * (ctx.saved_tensors[0] > 0)


def checkpoints():
    model = linear()
    x = torch.randn(4, WIDTH, device="cuda", requires_grad=True)
    trained(model, lambda: checkpoint(model, Clamp.apply(checkpoint(model, x, use_reentrant=True)), use_reentrant=False).sum())  # fmt: skip


def adversaries():
    g, d = linear(), linear()
    og, od = torch.optim.Adam(g.parameters()), torch.optim.Adam(d.parameters())
    for _ in range(4):
        fake = g(torch.randn(4, WIDTH, device="cuda"))
        d(fake.detach()).sum().backward()
        od.step()
        og.zero_grad()
        d(fake).sum().backward()
        og.step()


def second_order():
    model = linear()
    optimizer = torch.optim.LBFGS(model.parameters(), max_iter=3, history_size=4)
    x = torch.randn(4, WIDTH, device="cuda")

    def closure():
        optimizer.zero_grad()
        loss = model(x).pow(2).mean()
        loss.backward()
        return loss

    for _ in range(4):
        optimizer.step(closure)


def encoder():
    layer = nn.TransformerEncoderLayer(64, 4, batch_first=True)
    model = nn.TransformerEncoder(layer, 2).cuda()
    padding = torch.zeros(4, 16, dtype=torch.bool, device="cuda")
    trained(model, lambda: model(torch.randn(4, 16, 64, device="cuda"), src_key_padding_mask=padding).sum())


def compiled():
    model = torch.compile(linear())
    trained(model, lambda: model(torch.randn(4, WIDTH, device="cuda")).sum())


def loaded():
    data = TensorDataset(torch.randn(64, WIDTH), torch.arange(64))
    model = linear()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x, y in DataLoader(data, batch_size=16, shuffle=True, num_workers=2, pin_memory=True):
        assert 0 <= int(y[0]) < 64
        out = model(x.to("cuda", non_blocking=True))
        F.cross_entropy(out, y.to("cuda")).backward()
        optimizer.step()
        assert out.argmax(1).cpu().numpy().shape == (16,)


def by_hand():
    model = linear()
    for _ in range(20):
        loss = model(torch.randn(4, WIDTH, device="cuda")).pow(2).mean()
        loss.backward()
        with torch.no_grad():
            for weight in model.parameters():
                weight.sub_(0.1 * weight.grad)
                weight.grad = None
        print(f"{loss:.3f}")


def functional():
    model = linear()
    weights = dict(model.named_parameters())
    x = torch.randn(4, WIDTH, device="cuda")

    def loss(weights, sample):
        return torch.func.functional_call(model, weights, (sample,)).sum()

    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        gradients = torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0))(weights, x)
        for name, weight in weights.items():
            weight.grad = gradients[name].mean(0)
        optimizer.step()


def lazy():
    model = nn.Sequential(nn.LazyLinear(WIDTH), nn.ReLU(), nn.LazyLinear(8)).cuda()
    model(torch.zeros(2, WIDTH, device="cuda"))
    trained(model, lambda: model(torch.zeros(2, WIDTH, device="cuda")).sum())


def alignments():
    model = linear()
    lengths = torch.tensor([5, 9, 7])

    def loss():
        spoken = model(torch.randn(50 * 3, WIDTH, device="cuda")).view(50, 3, -1).log_softmax(-1)
        written = torch.ones(3, 9, dtype=torch.long, device="cuda")
        return nn.CTCLoss()(spoken, written, torch.full((3,), 50), lengths.cuda())

    trained(model, loss)


IDIOMS = [
    alignments,
    by_hand,
    functional,
    lazy,
    scaled,
    values,
    recurrent,
    sparse,
    checkpoints,
    adversaries,
    second_order,
    encoder,
    compiled,
    loaded,
]


@pytest.mark.parametrize("idiom", IDIOMS, ids=[idiom.__name__ for idiom in IDIOMS])
def test_idioms_are_rehearsed(idiom):
    trace = rehearse(idiom, CARD)
    assert trace.complete
    found = predict(trace)
    assert found.allocated > 0
    assert found.kinds["parameters"] > 0


def test_a_lazy_module_is_counted_once_it_has_a_size():
    assert predict(rehearse(lazy, CARD)).kinds["parameters"] == 4 * (WIDTH * WIDTH + WIDTH + 8 * WIDTH) + 512


def test_what_is_not_compiled_is_said():
    assert any("as if it ran eagerly" in text for text in rehearse(compiled, CARD).assumptions)


def test_what_was_assumed_is_said_with_its_line():
    trace = rehearse(values, CARD)
    assert any("test_rehearsal.py" in text and "taken to select all" in text for text in trace.assumptions)


def test_the_line_to_blame_is_named():
    def step():
        model = nn.Conv2d(64, 64, 1).cuda()
        x = torch.randn(4, 64, 32, 32, device="cuda")
        trained(model, lambda: torch.sum(F.unfold(model(x), 7, padding=3) * 2))

    found = premortem.fit(step, device="24GiB")
    largest = found.groups[0]
    assert largest["op"] in {"im2col", "mul"}
    assert largest["file"] == __file__
    assert largest["bytes"] == 4 * 64 * 49 * 32 * 32 * 4


def test_what_does_not_fit_names_the_allocation():
    def step():
        model = linear()
        x = torch.randn(1 << 21, WIDTH, device="cuda")
        trained(model, lambda: model(x).relu().sum())

    found = premortem.fit(step, device="12GiB")
    assert found.fits is False
    assert found.failed["bytes"] == 4 * WIDTH << 21


@pytest.mark.parametrize(
    ("layer", "kept"),
    [
        # The gates of both products, the workspace, the new state and the new cell.
        (lambda: nn.LSTMCell(64, 256), 4 + 4 + 4 + 1 + 1),
        # The gates of both products, the workspace and the new state.
        (lambda: nn.GRUCell(64, 256), 3 + 3 + 5 + 1),
        # Its output; one number for each row is no vector.
        (lambda: nn.Sequential(nn.Linear(64, 256), nn.RMSNorm(256)), 1 + 1),
    ],
    ids=["lstm", "gru", "norm"],
)
def test_a_kernel_that_is_one_on_a_card_keeps_what_it_keeps_there(layer, kept):
    def step():
        model, rows = layer().cuda(), torch.randn(4096, 64, device="cuda")
        cell = (torch.zeros(4096, 256, device="cuda"), torch.zeros(4096, 256, device="cuda"))
        state = {nn.LSTMCell: (cell,), nn.GRUCell: (cell[0],)}.get(type(model), ())

        def loss():
            out = model(rows, *state)
            return (out[0] if isinstance(out, tuple) else out).sum()

        trained(model, loss)

    trace = rehearse(step, CARD)
    forward = [
        a for a in trace.allocations if a.kind == "activations" and a.op != "zeros" and a.phase == "forward"
    ]
    vectors = sum(a.bytes for a in forward if a.op not in {"randn", "sum"}) / (4096 * 256 * 4)
    assert vectors == pytest.approx(2 * kept, abs=0.02)
