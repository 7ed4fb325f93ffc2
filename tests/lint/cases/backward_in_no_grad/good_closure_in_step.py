import torch


class Sharp(torch.optim.Optimizer):
    @torch.no_grad()
    def step(self, closure=None):
        closure = torch.enable_grad()(closure)
        loss = closure()
        return loss

    @torch.no_grad()
    def twice(self, model, x, loss_fn):
        torch.set_grad_enabled(True)
        loss = loss_fn(model(x))
        loss.backward()
