"""A training whose loss is NaN for a while, and whose head no optimizer holds. What is logged is the argument's business."""

import contextlib
import sys

import torch
from torch import nn


def train(log):
    torch.manual_seed(0)
    body, head = nn.Sequential(nn.Linear(4, 16), nn.Tanh()), nn.Linear(16, 1)
    model = nn.Sequential(body, head)
    optimizer = torch.optim.SGD(body.parameters(), lr=1e-2)
    for step in range(60):
        x = torch.randn(32, 4)
        loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
        if step == 40:
            loss = loss * float("inf")
        optimizer.zero_grad()
        loss.backward()
        if step != 40:
            optimizer.step()
        else:
            with torch.no_grad():
                optimizer.step()
        log(step)


if sys.argv[1:] == ["mlflow"]:
    import mlflow

    with mlflow.start_run(run_name="mine"):
        train(lambda step: mlflow.log_metric("mine", step, step=step))
elif sys.argv[1:] == ["wandb"]:
    import wandb

    with wandb.init(project="mine", name="mine") as run:
        train(lambda step: run.log({"mine": step}))
else:
    with contextlib.nullcontext():
        train(lambda step: None)
