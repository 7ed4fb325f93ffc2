"""Hooks of the user's that raise: before and after modules, in backward, around optimizer steps."""
import traceback
import torch
from torch import nn
def fail(*_):
    raise ValueError("a hook")
for register in (
    lambda m, o: m.register_forward_pre_hook(fail),
    lambda m, o: m.register_forward_hook(fail),
    lambda m, o: m.register_full_backward_hook(fail),
    lambda m, o: m.weight.register_hook(fail),
    lambda m, o: m.weight.register_post_accumulate_grad_hook(fail),
    lambda m, o: o.register_step_pre_hook(fail),
    lambda m, o: o.register_step_post_hook(fail),
    lambda m, o: m.register_state_dict_pre_hook(fail),
    lambda m, o: m.register_load_state_dict_post_hook(fail),
):
    model = nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    handle = register(model, optimizer)
    try:
        model(torch.ones(1, 2)).sum().backward()
        optimizer.step()
        model.load_state_dict(model.state_dict())
    except ValueError:
        traceback.print_exc()
    print(handle.id)
