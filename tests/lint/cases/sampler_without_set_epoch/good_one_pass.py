from torch.utils.data import DataLoader, DistributedSampler


def train(model, dataset, optimizer):
    loader = DataLoader(dataset, batch_size=32, sampler=DistributedSampler(dataset))
    for x in loader:
        optimizer.zero_grad()
        model(x).mean().backward()
        optimizer.step()
