"""Compress a wide sonar classifier into a 16-unit student (Hinton distillation)."""
import torch
import torch.nn as nn
import torch.nn.functional as F

CLASSES, BANDS = 6, 60


def echoes(n, g):
    y = torch.randint(0, CLASSES, (n,), generator=g)
    f = torch.linspace(0, 1, BANDS)
    centre = 0.1 + 0.13 * y[:, None] + 0.03 * torch.randn(n, 1, generator=g)
    second = (centre * 1.7) % 1.0
    x = torch.exp(-((f - centre) / 0.06) ** 2) + 0.7 * torch.exp(-((f - second) / 0.04) ** 2)
    return x + 0.5 * torch.randn(n, BANDS, generator=g), y


def teacher_net():
    return nn.Sequential(nn.Linear(BANDS, 128), nn.BatchNorm1d(128), nn.ReLU(), nn.Dropout(0.3),
                         nn.Linear(128, 128), nn.ReLU(), nn.Dropout(0.3), nn.Linear(128, CLASSES))


def student_net():
    return nn.Sequential(nn.Linear(BANDS, 16), nn.ReLU(), nn.Linear(16, CLASSES))


def kd_loss(s, t, y, temp=3.0, alpha=0.7):
    soft = F.kl_div(F.log_softmax(s / temp, 1), F.softmax(t / temp, 1), reduction="batchmean") * temp ** 2
    return alpha * soft + (1 - alpha) * F.cross_entropy(s, y)


@torch.no_grad()
def accuracy(net, x, y):
    was = net.training
    net.eval()
    acc = (net(x).argmax(1) == y).float().mean().item()
    net.train(was)
    return acc


def run():
    torch.set_num_threads(1)
    torch.manual_seed(47)
    g = torch.Generator().manual_seed(47)
    x, y = echoes(2400, g)
    xv, yv = echoes(600, g)

    teacher = teacher_net()
    opt = torch.optim.Adam(teacher.parameters(), lr=2e-3)
    for ep in range(5):
        for idx in torch.randperm(len(x), generator=g).split(60):
            loss = F.cross_entropy(teacher(x[idx]), y[idx])
            opt.zero_grad()
            loss.backward()
            opt.step()
        print(f"teacher epoch {ep} loss {loss.item():.4f} val acc {accuracy(teacher, xv, yv):.3f}")

    teacher.eval()
    for p in teacher.parameters():
        p.requires_grad_(False)
    student = student_net()
    opt = torch.optim.Adam(student.parameters(), lr=4e-3)
    for ep in range(10):
        tot = 0.0
        for idx in torch.randperm(len(x), generator=g).split(60):
            with torch.no_grad():
                t = teacher(x[idx])
            loss = kd_loss(student(x[idx]), t, y[idx])
            opt.zero_grad()
            loss.backward()
            opt.step()
            tot += loss.item() * len(idx)
        print(f"student epoch {ep} loss {tot / len(x):.4f} val acc {accuracy(student, xv, yv):.3f}")


if __name__ == "__main__":
    run()
