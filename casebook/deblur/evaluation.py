"""PSNR and SSIM of a loader's images."""

import torch
from torchmetrics.functional.image import peak_signal_noise_ratio, structural_similarity_index_measure


def calculate_metrics(outputs, sharp):
    """PSNR and SSIM of a batch."""
    outputs = outputs.clamp(0, 1)
    psnr = peak_signal_noise_ratio(outputs, sharp, data_range=1.0)
    ssim = structural_similarity_index_measure(outputs, sharp, data_range=1.0)
    return psnr.item(), ssim.item()


@torch.no_grad()
def evaluate(model, loader, criterion, device):
    """Mean loss, PSNR and SSIM over all images."""
    model.eval()
    loss = psnr = ssim = 0.0
    for blurred, sharp in loader:
        blurred, sharp = blurred.to(device), sharp.to(device)
        outputs = model(blurred)
        loss += criterion(outputs, sharp).item() * len(sharp)
        batch_psnr, batch_ssim = calculate_metrics(outputs, sharp)
        psnr += batch_psnr * len(sharp)
        ssim += batch_ssim * len(sharp)
    count = len(loader.dataset)
    return loss / count, psnr / count, ssim / count
