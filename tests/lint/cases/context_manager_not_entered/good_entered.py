import torch
from context import no_grad


@torch.no_grad()
def evaluate(net, loader):
    torch.set_grad_enabled(False)
    return [net(x).argmax(1) for x in loader]


def predict(net, x, stack):
    with torch.inference_mode(), torch.autocast("cuda"):
        out = net(x)
    guard = torch.no_grad()
    with guard:
        out = net(out)
    torch.no_grad().__enter__()
    stack.enter_context(torch.enable_grad())
    no_grad()  # of another package: who knows what it does
    torch.no_grad()(net)(out)
    return out


def has_autocast():
    try:
        torch.autocast("cpu")
    except (AttributeError, RuntimeError):
        return False
    return True
