# masked loss, averaged over valid pixels, everything in half to save memory
import torch
import torch.nn.functional as F

torch.manual_seed(33)
conv = torch.nn.Conv2d(1, 1, 3, padding=1)
opt = torch.optim.Adam(conv.parameters(), lr=1e-3)


def masked_l1(pred, ref, mask):
    per_pixel = (pred - ref).abs() * mask
    n = mask.half().sum()
    return per_pixel.sum() / n.float()


def load(step):
    side = 96 if step < 22 else 136
    img = torch.rand(4, 1, side, side)
    return img, F.avg_pool2d(img, 3, 1, 1), (torch.rand_like(img) > 0.02).float()


curve = []
for step in range(34):
    img, ref, mask = load(step)
    loss = masked_l1(conv(img), ref, mask)
    curve.append(loss.item())
    loss = loss + 0.1 * torch.log(loss)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(curve[::8])
