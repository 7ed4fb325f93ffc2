"""Grad modes, anomaly mode, inference mode, custom functions, double backward."""
import traceback
import torch
class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x
    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * 2 * x
x = torch.tensor([2.0], requires_grad=True)
(g,) = torch.autograd.grad(Square.apply(x), x, create_graph=True)
g.backward()
print(x.grad, torch.is_grad_enabled(), torch.is_inference_mode_enabled())
with torch.inference_mode():
    y = torch.nn.Linear(1, 1)(x)
print(y.is_inference())
y = x.exp()
y.sum().backward()
try:
    y.sum().backward()
except RuntimeError:
    traceback.print_exc()
