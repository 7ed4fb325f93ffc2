import torch, torch.nn as nn, math
torch.set_num_threads(1); torch.manual_seed(16)
class Args: epochs = 10; lr = 0.05; warmup = 1; iters = 30
args = Args(); m = nn.Sequential(nn.Linear(16, 48), nn.ReLU(), nn.Linear(48, 5)); opt = torch.optim.SGD(m.parameters(), args.lr, momentum=0.9); W = torch.randn(16, 5)
def adjust(opt, t):
    lr = 0.5 * args.lr * (1 + math.cos(math.pi * t / args.epochs))
    for g in opt.param_groups: g["lr"] = lr
step = 0
for ep in range(args.epochs):
    tot = 0
    for i in range(args.iters):
        adjust(opt, step)
        x = torch.randn(64, 16); loss = nn.functional.cross_entropy(m(x), (x @ W).argmax(1)); opt.zero_grad(); loss.backward(); opt.step(); step += 1; tot += loss.item()
    print(f"epoch {ep} loss {tot/args.iters:.4f}")
