"""Optimizers and schedulers that refuse what they are given."""
import traceback
import torch
model = torch.nn.Linear(2, 2)
for make in (
    lambda: torch.optim.SGD([], lr=0.1),
    lambda: torch.optim.Adam(model.parameters(), lr=-1),
    lambda: torch.optim.AdamW(model.parameters(), betas=(2, 2)),
    lambda: torch.optim.SGD(model, lr=0.1),
    lambda: torch.optim.SGD([{"params": ["x"]}], lr=0.1),
    lambda: torch.optim.lr_scheduler.StepLR("x", 1),
    lambda: torch.optim.lr_scheduler.OneCycleLR(torch.optim.SGD(model.parameters(), lr=0.1), max_lr=1),
    lambda: torch.utils.data.DataLoader([], batch_size=-1),
    lambda: torch.optim.SGD(model.parameters(), lr=0.1).add_param_group({"params": list(model.parameters())}),
    lambda: model.load_state_dict({"a": torch.ones(1)}),
    lambda: torch.optim.SGD(model.parameters(), lr=0.1).load_state_dict({}),
    lambda: torch.amp.GradScaler("cpu").step(torch.optim.SGD(model.parameters(), lr=0.1)),
):
    try:
        make()
    except Exception:
        traceback.print_exc()
