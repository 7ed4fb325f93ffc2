# runs with: torch==2.2.2
import torch

try:
    from torch.amp import GradScaler
except ImportError:
    from torch.cuda.amp import GradScaler

if hasattr(torch.nn, "RMSNorm"):
    RMSNorm = torch.nn.RMSNorm
else:
    from .layers import RMSNorm


def build(model, params, dataset):
    if torch.__version__ >= "2.6":
        return torch.utils.data.DataLoader(dataset, in_order=False)
    torch.compile(model, dynamic=True)
    small = torch.zeros(3, dtype=torch.float8_e4m3fn)
    return GradScaler(), RMSNorm(8), torch.optim.Adam(params, fused=True), small
