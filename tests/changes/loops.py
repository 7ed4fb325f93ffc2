"""Small trainings with everything that a change can change. Each builds all it needs, so that two calls are the same training."""

import random
from contextlib import nullcontext, suppress

import torch
from torch import nn
from torch.nn import functional
from torch.utils import checkpoint as checkpoints
from torch.utils import data
from torch.utils.data import DataLoader, Dataset


class Noisy(Dataset):
    """Each sample is another one whenever it is asked for, by all three generators there are."""

    def __init__(self, count=16):
        draw = torch.Generator().manual_seed(3)
        self.x = torch.randn(count, 3, 4, 4, generator=draw)
        self.y = (self.x.mean((1, 2, 3)) > 0).long()

    def __len__(self):
        return len(self.x)

    def __getitem__(self, index):
        noise = 0.1 * torch.randn(3, 4, 4) + 0.1 * random.random()
        return self.x[index] + noise, self.y[index]


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Conv2d(4, 4, 3, padding=1)
        self.norm = nn.BatchNorm2d(4)
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        return x + torch.relu(self.norm(self.inner(x)))


class Net(nn.Module):
    def __init__(self, reentrant=False, sigmoid=False):
        super().__init__()
        self.sigmoid = sigmoid
        self.stem = nn.Conv2d(3, 4, 3, padding=1)
        self.blocks = nn.Sequential(Block(), Block(), Block())
        self.drop = nn.Dropout(0.1)
        self.head = nn.Linear(64, 3)
        self.reentrant = reentrant

    def forward(self, x):
        x = self.stem(x)
        x = (
            checkpoints.checkpoint(self.blocks, x.requires_grad_(), use_reentrant=True)
            if self.reentrant
            else self.blocks(x)
        )
        self.kind = type(x.grad_fn).__name__
        x = self.drop(x.flatten(1))
        return self.head(x.sigmoid() if self.sigmoid else x)


def train(
    *,
    folder,
    autocast=False,
    compiled=False,
    reentrant=False,
    eval_mode=False,
    left_training=False,
    scale=1.0,
    stale=False,
    owned=True,
    squashed=False,
    mismatched=False,
    shuffle=True,
    decay=0.0,
    split=False,
    epsilon=1e-12,
    sigmoid=False,
    bounded=False,
):
    """Two epochs of eight backward passes, two for each step. Returns (what was trained, what else was seen)."""
    random.seed(0)
    torch.manual_seed(0)
    model = Net(reentrant, sigmoid)
    net = model
    if compiled:
        model = torch.compile(model, backend="eager")
    for parameter in net.stem.parameters():
        parameter.requires_grad = False
    held = list(model.parameters()) if owned else list(model.parameters())[:-2]
    optimizer = torch.optim.Adam(held, lr=1e-2, eps=epsilon, weight_decay=decay)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.1)
    samples = data.random_split(Noisy(32), [16, 16])[0] if split else Noisy()
    loader = DataLoader(samples, batch_size=2, shuffle=shuffle)
    losses, seen = [], []
    for epoch in range(2):
        model.train(not eval_mode)
        for number, (x, y) in enumerate(loader):
            with torch.autocast("cpu", torch.bfloat16) if autocast else nullcontext():
                out = model(x)
                fit = functional.cross_entropy(out.softmax(1) if squashed else out, y)
            loss = fit + 0.1 * out.float().square().mean()
            if mismatched:
                loss = loss + (out[:, :1].float() - y.float()).square().mean()
            if bounded:
                loss = loss + functional.mse_loss(out[:, 0].float().relu(), y.float() - 1)
            loss = loss * scale / 2
            loss.backward()
            losses.append(loss.item())
            seen.append(net.kind + str(getattr(net.head.weight.grad, "dtype", None)))
            if number % 2:
                nn.utils.clip_grad_norm_(model.parameters(), 0.1 * scale**2)
                optimizer.step()
                if not stale:
                    optimizer.zero_grad(set_to_none=False)
                seen.append(net.head.weight.grad is None)
        scheduler.step()
        model.train(left_training)
        with torch.no_grad():
            losses.append(functional.cross_entropy(model(x), y).item())
        if epoch:
            with suppress(RuntimeError, OSError):  # of a torn file
                net.load_state_dict(torch.load(folder / "last.pt"))
        torch.save(net.state_dict(), folder / "last.pt")
    held = [*net.state_dict().values(), *(v for s in optimizer.state.values() for v in s.values())]
    seen += [
        net.blocks[0].calls,
        net.stem.weight.is_contiguous(),
        torch.are_deterministic_algorithms_enabled(),
    ]
    seen += [
        type(optimizer).__name__,
        optimizer.param_groups[0].get("fused"),
        optimizer.param_groups[0].get("foreach"),
    ]
    return digest(losses, held), seen


def digest(losses, held):
    """All bits of what was trained."""
    tensors = [t for t in held if isinstance(t, torch.Tensor)]
    return repr(losses), [repr((t.dtype, t.detach().reshape(-1).tolist())) for t in tensors]
