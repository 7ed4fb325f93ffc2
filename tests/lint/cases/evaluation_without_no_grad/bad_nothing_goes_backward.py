import torch


def rounds(clients, loaders, checks, criterion):
    networks = [torch.nn.Linear(4, 2) for _ in range(clients)]
    optimizers = [torch.optim.SGD(one.parameters(), lr=0.1) for one in networks]
    for idx in range(clients):
        total, right = 0.0, 0
        for images, labels in checks.test_loaders[idx]:  # expect: PM536
            out = networks[idx](images)
            total += criterion(out, labels).item()
            right += out.argmax(1).eq(labels).sum().item()
        print(total, right)
        for images, labels in loaders[idx]:
            networks[idx].train()
            optimizers[idx].zero_grad()
            out = networks[idx](images)
            loss = criterion(out, labels)
            loss.backward()
            optimizers[idx].step()


def spread(model, data_loader):
    found = []
    for batch in data_loader:  # expect: PM536
        answer = model(batch)
        found.append(answer)
    stacked = torch.cat(found)
    return (stacked > 0).float().mean().item()
