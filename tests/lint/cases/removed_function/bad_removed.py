import torch
import torchvision.transforms.functional_tensor as FT  # expect: PM581
from torch._six import inf  # expect: PM581
from torch.onnx import dynamo_export  # expect: PM581
from torchvision.models.utils import load_state_dict_from_url  # expect: PM581


def decompose(a, b):
    values, vectors = torch.symeig(a, eigenvectors=True)  # expect: PM581
    x, lu = torch.solve(b, a)  # expect: PM581
    q, r = torch.qr(a)  # expect: PM581
    return values, vectors, x, lu, q, r, torch.rfft(a, 1)  # expect: PM581


def tensors(a):
    return torch.align_tensors(a, a)  # expect: PM581
