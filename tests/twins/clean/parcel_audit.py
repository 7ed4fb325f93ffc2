"""Monthly audit of the parcel router: load the released weights and score twelve depots. Nothing is trained."""
import io

import torch
from torch import nn

ROUTES, FEATS = 7, 18


class Router(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(FEATS)
        self.drop = nn.Dropout(0.25)
        self.fc = nn.Linear(FEATS, ROUTES)

    def forward(self, x):
        return self.fc(self.drop(self.norm(x)))


def catalogue():
    g = torch.Generator().manual_seed(70)
    return 20 + 6 * torch.randn(ROUTES, FEATS, generator=g)


def parcels(n, seed, wear):
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(0, ROUTES, (n,), generator=g)
    return catalogue()[y] + (8 + wear) * torch.randn(n, FEATS, generator=g), y


def released_weights():
    """The release file: Gaussian discriminant rule (shared variance) expressed as BatchNorm + Linear."""
    centres = catalogue()
    mean = centres.mean(0)
    var = centres.var(0, unbiased=False) + 64.0
    unit = (centres - mean) / var.sqrt()
    prec = var / 64.0
    state = {"norm.weight": torch.ones(FEATS), "norm.bias": torch.zeros(FEATS), "norm.running_mean": mean,
             "norm.running_var": var, "norm.num_batches_tracked": torch.tensor(1000),
             "fc.weight": unit * prec, "fc.bias": -0.5 * (unit ** 2 * prec).sum(1)}
    buf = io.BytesIO()
    torch.save(state, buf)
    buf.seek(0)
    return buf


@torch.inference_mode()
def audit(model, x, y):
    logits = model(x)
    conf = logits.softmax(1).max(1).values.mean().item()
    acc = (logits.argmax(1) == y).float().mean().item()
    return nn.functional.cross_entropy(logits, y).item(), acc, conf


def main():
    torch.set_num_threads(1)
    model = Router()
    model.load_state_dict(torch.load(released_weights(), weights_only=True))
    model.eval()
    accs = []
    for depot in range(12):
        loss, acc, conf = audit(model, *parcels(400, 1000 + depot, wear=0.2 * depot))
        accs.append(acc)
        print(f"depot {depot:2d} cross-entropy {loss:.4f} accuracy {acc:.3f} mean confidence {conf:.3f}")
    print(f"mean accuracy {sum(accs) / len(accs):.3f}, worst depot {accs.index(min(accs))}")


if __name__ == "__main__":
    main()
