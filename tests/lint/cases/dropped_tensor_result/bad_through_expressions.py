import torch


def f(model, loader):
    x = torch.rand(3)
    y = torch.rand(3)
    (x + y).to("cuda")  # expect: PM501
    x.float().clamp(0, 1)  # expect: PM501
    torch.relu(x).unsqueeze(0)  # expect: PM501
    for a, b in loader:
        a.float().clamp(0, 1)  # expect: PM501
        model(a).clamp(0, 1)  # expect: PM501
        (a - b).unsqueeze(0)  # expect: PM501
        print(a, b)
    return x, y
