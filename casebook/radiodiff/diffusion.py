"""Diffusion with constant drift: x_t = x_0 + C t + sqrt(t) noise, with C = -x_0.

The network predicts both C and the noise. With `weighting_loss` the two terms get weights that depend on the time.
"""

import torch
from torch import nn
from torch.nn import functional as F


class LatentDiffusion(nn.Module):
    def __init__(self, unet, vae, scale_factor, weighting_loss, sampling_steps):
        super().__init__()
        self.model = unet
        self.first_stage = vae.eval().requires_grad_(False)
        self.scale_factor = scale_factor
        self.weighting_loss = weighting_loss
        self.sampling_steps = sampling_steps

    @torch.no_grad()
    def encode(self, image):
        mean, _ = self.first_stage.encode(image)
        return self.scale_factor * mean

    def forward(self, batch):
        x_start = self.encode(batch["image"])
        t = 1e-3 + (1 - 1e-3) * torch.rand(len(x_start), device=x_start.device)
        return self.p_losses(x_start, t, batch["cond"])

    def p_losses(self, x_start, t, condition):
        noise = torch.randn_like(x_start)
        C = -x_start
        time = t[:, None, None, None]
        x_noisy = x_start + C * time + time.sqrt() * noise
        C_pred, noise_pred = self.model(x_noisy, t, condition)
        loss_c = F.mse_loss(C_pred, C, reduction="none").mean(dim=(1, 2, 3))
        loss_noise = F.mse_loss(noise_pred, noise, reduction="none").mean(dim=(1, 2, 3))
        if self.weighting_loss:
            simple_weight1 = 2 * torch.exp(1 - t)
            simple_weight2 = torch.exp(torch.sqrt(t))
        else:
            simple_weight1 = simple_weight2 = torch.ones_like(t)
        loss = (simple_weight1 * loss_c + simple_weight2 * loss_noise).mean()
        return loss, {"loss_c": loss_c.mean().item(), "loss_noise": loss_noise.mean().item()}

    @torch.no_grad()
    def sample(self, condition, shape, model):
        """Maps drawn with `model`, the network itself or its average."""
        x = torch.randn(len(condition), *shape, device=condition.device)
        times = torch.linspace(1, 0, self.sampling_steps + 1, device=condition.device)
        for now, later in zip(times[:-1], times[1:], strict=True):
            C, noise = model(x, now.expand(len(x)), condition)
            x_start = -C
            x = x_start * (1 - later) + later.sqrt() * noise
        return self.first_stage.decode(x / self.scale_factor)
