from torch.utils.data import DataLoader, DistributedSampler


def train_epoch(model, loader, optimizer):
    for x in loader:
        optimizer.zero_grad()
        model(x).mean().backward()
        optimizer.step()


def main(model, data, optimizer):
    train_sampler = DistributedSampler(data)
    train_loader = DataLoader(data, batch_size=8, sampler=train_sampler)
    for epoch in range(100):  # expect: PM546
        train_epoch(model, train_loader, optimizer)
