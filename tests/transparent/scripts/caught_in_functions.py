"""Exceptions of torch's own functions: of Python and of C, in and out of training."""
import traceback
import torch
import torch.nn.functional as F
calls = [
    lambda: F.cross_entropy(torch.ones(2, 3), torch.tensor([0, 9])),
    lambda: F.mse_loss(torch.ones(2), "x"),
    lambda: torch.ones(3).reshape(7),
    lambda: torch.ones(3).view(2, 2),
    lambda: F.dropout(torch.ones(2), 3.0),
    lambda: torch.rand("x"),
    lambda: torch.softmax(torch.ones(2), 5),
    lambda: torch.load("missing.pt"),
    lambda: torch.save({}, "no/such/folder.pt"),
    lambda: torch.isnan("x"),
    lambda: torch.autograd.backward(torch.ones(1)),
    lambda: torch.ones(1).backward(),
    lambda: torch.autograd.grad(torch.ones(1), torch.ones(1)),
    lambda: torch.nn.utils.clip_grad_norm_("x", 1.0),
    lambda: torch.manual_seed("x"),
    lambda: F.binary_cross_entropy(torch.full((2,), 3.0), torch.ones(2)),
    lambda: F.nll_loss(torch.ones(2, 2), torch.ones(3).long()),
    lambda: torch.tensor([object()]),
]
model = torch.nn.Linear(2, 2)
optimizer = torch.optim.Adam(model.parameters())
for _ in range(2):
    optimizer.zero_grad()
    model(torch.ones(1, 2)).sum().backward()
    optimizer.step()
    for call in calls:
        try:
            call()
        except Exception:
            traceback.print_exc()
