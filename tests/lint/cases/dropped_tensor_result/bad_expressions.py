import torch


def loud(signal: torch.Tensor, device):
    energy = torch.zeros(10)
    above = energy > torch.mean(energy) * 0.1
    above.to(device)  # expect: PM501
    return above.sum()


class Scaler(torch.nn.Module):
    def forward(self, values, target) -> torch.Tensor:
        center, scale = self.look_up(target)
        unscaled = values * scale + center
        if values.ndim == 1:
            unscaled.squeeze(0)  # expect: PM501
        return unscaled


def shifted(picture: torch.Tensor, by, device):
    moved = picture + by
    moved.cpu()  # expect: PM501
    return moved


def drawn(self, genome):
    picture = self.draw(genome.latents.to(self.device))
    genome.latents.to("cpu")  # expect: PM501
    return picture
