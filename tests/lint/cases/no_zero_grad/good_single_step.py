import torch


def one_step(model, batch, optimizer):
    loss = model(batch)
    loss.backward()
    optimizer.step()
    return loss.item()


def test_parameters_move():
    model = torch.nn.Linear(2, 2)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        model(torch.ones(1, 2)).sum().backward()
        opt.step()
