"""The same training through every door: model, data and faults are shared, the loop is each framework's own."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

import premortem
from tests import starting

STEPS = 60
BATCH = 16


class Points(Dataset):
    def __init__(self, fault):
        generator = torch.Generator().manual_seed(0)
        self.x = torch.randn(STEPS * BATCH, 8, generator=generator)
        self.y = (self.x @ torch.randn(8, 4, generator=generator)).argmax(1)

    def __len__(self):
        return len(self.x)

    def __getitem__(self, index):
        return {"x": self.x[index], "labels": self.y[index]}


class Net(nn.Module):
    def __init__(self, fault):
        super().__init__()
        torch.manual_seed(0)
        self.fault = fault
        self.body = nn.Sequential(nn.Linear(8, 32), nn.ReLU())
        self.head = nn.Linear(32, 4)
        self.calls = 0

    def forward(self, x, labels):
        logits = self.head(self.body(x))
        if self.fault == "softmax before cross entropy":
            logits = logits.softmax(-1)
        self.calls += 1
        if self.fault == "loss not finite" and self.calls > 30:
            logits = torch.log(logits - 1e6)
        return {"loss": nn.functional.cross_entropy(logits, labels), "logits": logits}


def optimizer_for(model):
    trained = model.body if model.fault == "head in no optimizer" else model
    return torch.optim.Adam(trained.parameters(), lr=1e-2)


def loader_for(fault):
    return DataLoader(Points(fault), batch_size=BATCH)


def plain_loop(fault):
    model = Net(fault)
    optimizer = optimizer_for(model)
    with premortem.watch(model, optimizer, quiet=True) as watched:
        for batch in loader_for(fault):
            loss = model(**batch)["loss"]
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return watched.findings


def lightning(fault):
    framework = pytest.importorskip("lightning.pytorch", reason="lightning is not installed")
    from premortem.integrations.lightning import Premortem

    class Module(framework.LightningModule):
        def __init__(self):
            super().__init__()
            self.net = Net(fault)

        def training_step(self, batch, index):
            return self.net(**batch)["loss"]

        def configure_optimizers(self):
            return optimizer_for(self.net)

    callback = Premortem(quiet=True)
    trainer = framework.Trainer(
        max_epochs=1,
        accelerator="cpu",
        devices=1,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        callbacks=[callback],
    )
    trainer.fit(Module(), loader_for(fault))
    return callback.findings


def transformers(fault):
    framework = pytest.importorskip("transformers", reason="transformers is not installed")
    from premortem.integrations.transformers import Premortem

    model = Net(fault)
    optimizer = optimizer_for(model)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1.0)
    callback = Premortem(quiet=True)
    arguments = framework.TrainingArguments(
        output_dir="out",
        per_device_train_batch_size=BATCH,
        num_train_epochs=1,
        save_strategy="no",
        report_to=[],
        disable_tqdm=True,
        use_cpu=True,
        logging_strategy="no",
    )
    trainer = framework.Trainer(
        model=model,
        args=arguments,
        train_dataset=Points(fault),
        optimizers=(optimizer, schedule),
        callbacks=[callback],
    )
    trainer.train()
    return callback.findings


def accelerate(fault):
    framework = pytest.importorskip("accelerate", reason="accelerate is not installed")
    from premortem.integrations.accelerate import watch

    accelerator = framework.Accelerator(cpu=True)
    model = Net(fault)
    model, optimizer, loader = accelerator.prepare(model, optimizer_for(model), loader_for(fault))
    with watch(accelerator, model, optimizer, quiet=True) as watched:
        for batch in loader:
            loss = model(**batch)["loss"]
            optimizer.zero_grad()
            accelerator.backward(loss)
            optimizer.step()
    return watched.findings


SCRIPT = """
import sys
from tests.integrations.doors import Net, loader_for, optimizer_for

fault = sys.argv[1]
model = Net(fault)
optimizer = optimizer_for(model)
for batch in loader_for(fault):
    loss = model(**batch)["loss"]
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


def command(fault):
    """`premortem run`: the same loop, as somebody's script."""
    Path("train.py").write_text(SCRIPT)
    words = "-m premortem run --quiet --policy observe --findings found.json train.py".split()
    starting.run(
        [sys.executable, *words, fault],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), "OMP_NUM_THREADS": "1"},
        check=True,
    )
    found = json.loads(Path("found.json").read_text())
    return [SimpleNamespace(code=finding["code"]) for finding in found["findings"]]


INSIDE = (lightning, transformers, accelerate)
ALL = (plain_loop, *INSIDE)
