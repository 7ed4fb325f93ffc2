"""CI smoke test: three optimisation steps of the road segmenter must run and move every weight."""
import torch
import torch.nn as nn


class TinyUNet(nn.Module):
    def __init__(self, c=8):
        super().__init__()
        self.down1 = nn.Sequential(nn.Conv2d(3, c, 3, padding=1, bias=False), nn.BatchNorm2d(c), nn.ReLU())
        self.down2 = nn.Sequential(nn.Conv2d(c, 2 * c, 3, padding=1, bias=False), nn.BatchNorm2d(2 * c), nn.ReLU())
        self.pool = nn.MaxPool2d(2)
        self.up = nn.ConvTranspose2d(2 * c, c, 2, stride=2)
        self.out = nn.Sequential(nn.Conv2d(2 * c, c, 3, padding=1), nn.ReLU(), nn.Conv2d(c, 1, 1))

    def forward(self, x):
        a = self.down1(x)
        b = self.down2(self.pool(a))
        return self.out(torch.cat([a, self.up(b)], 1))


def road_scene(n, size=32):
    cols = torch.arange(size)[None, None, :]
    rows = torch.arange(size)[None, :, None]
    centre = torch.randint(8, 24, (n, 1, 1)) + ((rows - 16) * torch.randn(n, 1, 1) * 0.3)
    mask = ((cols - centre).abs() < 4).float().unsqueeze(1)
    img = torch.rand(n, 3, 1, 1) * 0.5 + 0.4 * mask + 0.1 * torch.randn(n, 3, size, size)
    return img, mask


def dice_bce(logits, mask):
    bce = nn.functional.binary_cross_entropy_with_logits(logits, mask)
    p = logits.sigmoid()
    dice = 1 - (2 * (p * mask).sum() + 1) / (p.sum() + mask.sum() + 1)
    return bce + dice


def test_three_steps():
    torch.manual_seed(0)
    model = TinyUNet().train()
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    before = {k: v.detach().clone() for k, v in model.named_parameters()}
    for step in range(3):
        img, mask = road_scene(4)
        opt.zero_grad()
        loss = dice_bce(model(img), mask)
        loss.backward()
        opt.step()
        print(f"step {step} loss {loss.item():.4f}")
        assert torch.isfinite(loss)
    for k, v in model.named_parameters():
        assert not torch.equal(before[k], v), f"{k} did not move"
    model.eval()
    with torch.no_grad():
        assert model(road_scene(2)[0]).shape == (2, 1, 32, 32)


if __name__ == "__main__":
    torch.set_num_threads(1)
    test_three_steps()
    print("smoke test passed")
