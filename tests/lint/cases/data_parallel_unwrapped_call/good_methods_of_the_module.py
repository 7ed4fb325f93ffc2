from torch.nn.parallel import DistributedDataParallel as DDP


def train(model, loader, optimizer):
    model = DDP(model)
    for x in loader:
        optimizer.zero_grad()
        target = model.module.embed(x).detach()
        model(x, target).sum().backward()
        model.module.update_ema()
        optimizer.step()
