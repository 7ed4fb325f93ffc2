import argparse
import yaml
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


def get_args():
    ap = argparse.ArgumentParser()
    ap.add_argument("--cfg", default="base.yaml")
    ap.add_argument("--out", default="model.pt")
    return ap.parse_args()


def main():
    args = get_args()
    cfg = yaml.safe_load(open(args.cfg))
    opt_cfg = cfg["optim"]
    torch.manual_seed(cfg["seed"])
    x = torch.randn(300, 20)
    y = (x @ torch.randn(20, 5)).argmax(1)
    loader = DataLoader(TensorDataset(x, y), batch_size=cfg["batch_size"], shuffle=True)
    net = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Dropout(cfg.get("dropout", 0.0)), nn.Linear(64, 5))
    optimizer = torch.optim.AdamW(
        net.parameters(), lr=opt_cfg["lr"], weight_decay=opt_cfg.get("weight_decay", 0.0)
    )
    for epoch in range(cfg["epochs"]):
        net.train()
        for xb, yb in loader:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(net(xb), yb)
            loss.backward()
            optimizer.step()
        net.eval()
        with torch.no_grad():
            acc = (net(x).argmax(1) == y).float().mean().item()
        print("epoch %d loss %.4f train acc %.3f" % (epoch, loss.item(), acc))
        torch.save({"net": net.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch}, args.out)


if __name__ == "__main__":
    main()
