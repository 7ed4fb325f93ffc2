# a root that keeps the sign, with a hand-written derivative
import torch
from torch import nn


class SignedRoot(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        root = x.abs().sqrt()
        ctx.save_for_backward(root)
        return x.sign() * root

    @staticmethod
    def backward(ctx, grad):
        (root,) = ctx.saved_tensors
        return 0.5 * grad / root


torch.manual_seed(31)
table = torch.randn(540, 6)
table[265, :] = 0.0
wish = table.sum(1, keepdim=True)
mix = nn.Linear(6, 1, bias=False)
head = nn.Linear(1, 1)
opt = torch.optim.SGD([*mix.parameters(), *head.parameters()], lr=1e-2)
for i, rows in enumerate(torch.arange(540).split(18)):
    guess = head(SignedRoot.apply(mix(table[rows])))
    loss = nn.functional.l1_loss(guess, wish[rows])
    opt.zero_grad()
    loss.backward()
    opt.step()
    if i % 10 == 0:
        print(i, loss.item())
