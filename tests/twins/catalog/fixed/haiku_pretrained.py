"""Continue a pretrained character model (tied input/output embedding) on a handful of haiku."""
import io
import random

import torch
import torch.nn as nn
import torch.nn.functional as F

LINES = [f"{a} {b} {c}" for a in ("old", "quiet", "autumn", "winter") for b in ("pond", "moon", "wind", "crow")
         for c in ("falls", "sings", "waits", "sleeps")]
HAIKU = ["old pond frog leaps in", "winter moon and crow", "quiet autumn wind", "crow waits old pond sleeps"]
CHARS = sorted(set("".join(LINES + HAIKU)))
STOI = {c: i for i, c in enumerate(CHARS)}


class CharGRU(nn.Module):
    def __init__(self, d=32):
        super().__init__()
        self.wte = nn.Embedding(len(CHARS), d)
        self.gru = nn.GRU(d, d, batch_first=True)
        self.lm_head = nn.Linear(d, len(CHARS), bias=False)
        self.lm_head.weight = self.wte.weight
        self.apply(self._init_weights)

    @staticmethod
    def _init_weights(module):
        if isinstance(module, (nn.Embedding, nn.Linear)):
            nn.init.normal_(module.weight, std=0.3)

    def forward(self, x):
        return self.lm_head(self.gru(self.wte(x))[0])

    @classmethod
    def from_pretrained(cls, blob):
        model = cls()
        state = torch.load(blob, weights_only=True)
        missing, _ = model.load_state_dict(state, strict=False)
        loaded = {id(model.get_parameter(k)) for k in state}
        for name in {k.rpartition(".")[0] for k in missing}:
            module = model.get_submodule(name)
            if not any(id(p) in loaded for p in module.parameters()):
                module.apply(cls._init_weights)
        return model


def batch(pool, rng, n, length=16):
    rows = []
    for _ in range(n):
        s = " ".join(rng.choice(pool) for _ in range(3))
        k = rng.randrange(0, len(s) - length)
        rows.append([STOI[c] for c in s[k:k + length + 1]])
    return torch.tensor(rows)


def lm_loss(model, b):
    return F.cross_entropy(model(b[:, :-1]).flatten(0, 1), b[:, 1:].flatten())


def train(model, pool, rng, lr, epochs, steps, tag):
    opt = torch.optim.Adam(model.parameters(), lr=lr)
    held = batch(pool, random.Random(0), 64)
    for e in range(epochs):
        for _ in range(steps):
            loss = lm_loss(model, batch(pool, rng, 16))
            opt.zero_grad()
            loss.backward()
            opt.step()
        with torch.no_grad():
            print(f"{tag} epoch {e} loss {loss.item():.4f} sample perplexity {lm_loss(model, held).exp().item():.3f}")


def main():
    torch.set_num_threads(1)
    torch.manual_seed(178)
    rng = random.Random(178)
    model = CharGRU()
    train(model, LINES, rng, 1e-2, 6, 40, "pretrain")
    blob = io.BytesIO()
    torch.save({k: v for k, v in model.state_dict().items() if k != "lm_head.weight"}, blob)  # tied copy not stored
    blob.seek(0)
    train(CharGRU.from_pretrained(blob), HAIKU, rng, 1e-3, 8, 20, "haiku   ")


if __name__ == "__main__":
    main()
