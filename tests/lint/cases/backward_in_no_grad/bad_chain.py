import torch


def finetune(net, data, opt):
    for x in data:
        with torch.no_grad():
            features = net.backbone(x)
            opt.zero_grad()
            net.head(features).mean().backward()  # expect: PM549
            opt.step()
