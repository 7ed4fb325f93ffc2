"""NMSE of covariances, with the angles beside it."""

from torch import nn
from torch.nn import functional as F


def nmse(predicted, truth):
    error = (predicted - truth).abs().square().sum(dim=(1, 2))
    return (error / truth.abs().square().sum(dim=(1, 2))).mean()


class CovarianceLoss(nn.Module):
    """lam_cov NMSE of the low-rank covariance + lam_cov_pred NMSE of the one from the angles + lam_angle angles."""

    def __init__(self, lam_cov, lam_cov_pred, lam_angle):
        super().__init__()
        if not lam_cov + lam_cov_pred + lam_angle > 0:
            raise ValueError("all weights of the loss are zero")
        self.lam_cov, self.lam_cov_pred, self.lam_angle = lam_cov, lam_cov_pred, lam_angle

    def forward(self, found, batch):
        cov = nmse(found["covariance"], batch["covariance"])
        cov_pred = nmse(found["from_angles"], batch["covariance"])
        angle = F.smooth_l1_loss(found["sines"], batch["sines"], beta=0.05)
        return self.lam_cov * cov + self.lam_cov_pred * cov_pred + self.lam_angle * angle
