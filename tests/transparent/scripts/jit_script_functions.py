"""Functions and classes that are scripted by decorators, with names of the caller's."""
import warnings
warnings.simplefilter("ignore")
import torch
import torch.nn.functional as F
from typing import Tuple
SCALE = 2
@torch.jit.script
def loss(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return F.cross_entropy(F.dropout(x, 0.5, False), y) + F.mse_loss(x, x) + F.softmax(x, -1).sum() * 0
@torch.jit.script
class Pair:
    def __init__(self, a: int, b: int):
        self.a, self.b = a, b
    def total(self) -> int:
        return self.a + self.b
def outer():
    factor = 3
    @torch.jit.script
    def inner(x: torch.Tensor) -> Tuple[torch.Tensor, int]:
        p = Pair(1, 2)
        return torch.relu(x) * torch.isnan(x).sum(), p.total()
    return inner, factor
print(loss(torch.zeros(2, 3), torch.tensor([0, 1])))
print(outer()[0](torch.ones(2)), Pair(3, 4).total())
print(loss.graph_for(torch.zeros(2, 3), torch.tensor([0, 1])) is not None, loss.code[:60])
