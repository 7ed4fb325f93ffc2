import torch

torch.autograd.set_detect_anomaly(True)
