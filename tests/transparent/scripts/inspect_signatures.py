"""What inspect sees of what is covered."""
import inspect
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader
things = [
    F.cross_entropy, F.mse_loss, F.dropout, F.batch_norm, nn.Module.__call__,
    nn.Module.__init__, nn.Module.load_state_dict, nn.Module.state_dict, nn.Module.zero_grad, torch.save, torch.load,
    torch.compile, torch.manual_seed, torch.autograd.backward, torch.autograd.grad, torch.optim.AdamW,
    torch.optim.SGD.__init__, torch.optim.Optimizer.zero_grad, torch.optim.Adam.step, torch.optim.lr_scheduler.StepLR,
    torch.optim.lr_scheduler.StepLR.step, torch.amp.GradScaler.step, torch.nn.utils.clip_grad_norm_, DataLoader.__iter__,
    torch.jit.script, torch.export.export, torch.Tensor.backward,
]
model = nn.Linear(2, 1)
optimizer = torch.optim.Adam(model.parameters())
def look():
    for thing in things:
        names = [getattr(thing, name, None) for name in ("__name__", "__qualname__", "__module__")]
        print(names, inspect.isfunction(thing), inspect.isclass(thing), inspect.isroutine(thing), callable(thing))
        try:
            print(inspect.signature(thing), inspect.getfullargspec(thing).args)
        except (TypeError, ValueError) as error:
            print(type(error).__name__)
        try:
            print(inspect.getsourcelines(thing)[1], inspect.unwrap(thing).__module__)
        except (TypeError, OSError) as error:
            print(type(error).__name__)
        print((inspect.getdoc(thing) or "")[:40])
look()
for _ in range(3):
    optimizer.zero_grad()
    model(torch.ones(1, 2)).sum().backward()
    optimizer.step()
look()
print(inspect.signature(model.load_state_dict), inspect.signature(model), inspect.signature(optimizer.step))
