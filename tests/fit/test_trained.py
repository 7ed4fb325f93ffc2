"""Which batch is the one that is trained with."""

import torch
from torch import nn

from premortem.fit import gpus
from premortem.fit.session import rehearse


class Named(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 8)

    def forward(self, inputs=None, labels=None):
        return {"loss": (self.layer(inputs["x"]) - labels).square().mean()}


def trace(step):
    return rehearse(step, gpus.by_name("4090"))


def test_a_model_that_is_called_by_names():
    def step():
        model = Named().cuda()
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        for _ in range(3):
            batch = {"inputs": {"x": torch.randn(24, 8).cuda()}, "labels": torch.randn(24, 8).cuda()}
            model(**batch)["loss"].backward()
            optimizer.step()

    found = trace(step)
    assert (found.batch, found.modules) == (24, "Named")


def test_a_look_at_the_validation_data_before_is_no_training():
    def step():
        model, teacher = nn.Linear(8, 2).cuda(), nn.Sequential(nn.Linear(8, 2)).cuda()
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        with torch.no_grad():
            model(torch.randn(500, 8).cuda())
        model(torch.randn(300, 8).cuda())  # with gradients, but its result is not used
        for _ in range(3):
            x = torch.randn(16, 8).cuda()
            teacher(torch.randn(9, 8).cuda())
            loss = model(x).sum()
            loss.backward()
            optimizer.step()

    found = trace(step)
    assert (found.batch, found.modules) == (16, "Linear")


def test_watching_for_the_backward_pass_keeps_nothing_alive():
    def step(again):
        model = nn.Sequential(nn.Linear(1024, 1024), nn.ReLU()).cuda()
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        for _ in range(again):
            model(torch.randn(4096, 1024, device="cuda"))
        for _ in range(2):
            model(torch.randn(4096, 1024, device="cuda")).sum().backward()
            optimizer.step()

    from premortem.fit.prediction import predict

    peaks = [predict(trace(lambda n=n: step(n))).allocated for n in (0, 8)]
    assert peaks[0] == peaks[1]
