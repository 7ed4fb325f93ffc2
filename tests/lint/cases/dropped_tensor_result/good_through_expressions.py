import bokeh.plotting
import torch


def f(model, net, loader, page):
    net(3).to("cuda")
    model.encoder.half().cuda()
    (model or net).to("cuda")
    bokeh.plotting.figure().clamp(0, 1)
    page.row().view()
    for a in loader:
        torch.nn.Linear(3, 3).to("cuda")
        model.load(a).float()


def one_hot(y, classes):
    hot = torch.zeros(len(y), classes)
    hot.scatter_(1, y, 1).float()
    hot.clamp_(0, 1).unsqueeze(0)
    return hot
