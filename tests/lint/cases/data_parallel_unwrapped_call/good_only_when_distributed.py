from torch.nn.parallel import DistributedDataParallel as DDP


def train(model, loader, optimizer, distributed):
    ddp_model = DDP(model) if distributed else None
    for x in loader:
        optimizer.zero_grad()
        out = ddp_model(x) if distributed else model(x)
        out.sum().backward()
        optimizer.step()
