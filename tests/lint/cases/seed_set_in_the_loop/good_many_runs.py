import torch


def study(build, loader, rates, seeds):
    for rate in rates:
        torch.manual_seed(0)
        model = build()
        optimizer = torch.optim.SGD(model.parameters(), lr=rate)
        for x in loader:
            optimizer.zero_grad()
            model(x).mean().backward()
            optimizer.step()
    for seed in seeds:
        torch.manual_seed(seed)
        print(build())
