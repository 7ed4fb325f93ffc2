import torch
import torch.nn as nn
import torch.nn.functional as F


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Sequential(
            nn.Conv2d(3, 64, 4, 2, 1),
            nn.LeakyReLU(0.2, inplace=True),
            nn.Conv2d(64, 1, 4, 1, 0),
            nn.Sigmoid(),
        )

    def forward(self, img):
        return self.main(img)


class Segmenter(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 1, 3, padding=1)

    def forward(self, x):
        x = self.conv(x)
        return torch.sigmoid(x)


def adversarial(real, fake):
    netD = Discriminator().cuda()
    adversarial_loss = nn.BCEWithLogitsLoss()
    real_loss = adversarial_loss(netD(real), torch.ones(len(real), 1))  # expect: PM518
    fake_loss = adversarial_loss(netD(fake.detach()), torch.zeros(len(fake), 1))  # expect: PM518
    return real_loss + fake_loss


def segment(loader):
    model = Segmenter()
    for image, mask in loader:
        prediction = model(image)
        yield F.binary_cross_entropy_with_logits(prediction, mask)  # expect: PM518


def inline(head, x, y):
    scores = head(x).sigmoid()
    return F.binary_cross_entropy_with_logits(input=scores, target=y)  # expect: PM518
