import torch


def study(configs, data):
    for config in configs:
        model = torch.nn.Linear(config.width, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=config.lr)
        loss = model(data).pow(2).mean()
        loss.backward()
        optimizer.step()
        print(config, loss.item())
