"""A small training script, written whole by the healthy case and with one line changed by each faulty one."""

TRAIN = """
import copy, sys, os
import torch
from torch import nn

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        {layers}

    def forward(self, x):
        return self.last(torch.relu(self.second(torch.relu(self.first(x)))))


x = torch.randn(64, 12)
y = (x[:, :1] - x[:, 1:2]) * 0.5
EPOCHS = {epochs}
model = Net()
optimizer = torch.optim.AdamW({parameters}, lr={lr})
scheduler = {scheduler}
scaler = torch.amp.GradScaler("cpu", init_scale={scale})
start_epoch = 0
resuming = os.path.exists("last.pt")
if resuming:
    checkpoint = torch.load("last.pt")
    {restore}
{after}
ema = copy.deepcopy(model)
{average}
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), batch_size=16)
for epoch in {loop}:
    for bx, by in loader:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(bx), by)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        with torch.no_grad():
            for a, b in zip(ema.parameters(), model.parameters()):
                a.lerp_(b, 0.1)
    scheduler.step()
    torch.save(
        dict(
            model=model.state_dict(),
            optimizer=optimizer.state_dict(),
            scheduler=scheduler.state_dict(),
            scaler=scaler.state_dict(),
            ema=ema.state_dict(),
            epoch=epoch,
        ),
        "last.pt",
    )
    if not resuming and epoch == 5:
        break
"""

DEFAULTS = {
    "layers": "self.first = nn.Linear(12, 24); self.second = nn.Linear(24, 24); self.last = nn.Linear(24, 1)",
    "epochs": "12",
    "parameters": "model.parameters()",
    "lr": "0.01",
    "scheduler": "torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=EPOCHS)",
    "scale": "65536.0",
    "model": 'model.load_state_dict(checkpoint["model"])',
    "optimizer": 'optimizer.load_state_dict(checkpoint["optimizer"])',
    "schedule": 'scheduler.load_state_dict(checkpoint["scheduler"])',
    "scaler": 'scaler.load_state_dict(checkpoint["scaler"])',
    "counter": 'start_epoch = checkpoint["epoch"] + 1',
    "after": "",
    "average": 'if resuming: ema.load_state_dict(checkpoint["ema"])',
    "loop": "range(start_epoch, EPOCHS)",
}
_RESTORES = ("model", "optimizer", "schedule", "scaler", "counter")


def script(**changed: str) -> str:
    parts = {**DEFAULTS, **changed}
    lines = [parts[name] for name in _RESTORES if parts[name]]
    return TRAIN.format(restore="\n    ".join(lines) or "pass", **parts)
