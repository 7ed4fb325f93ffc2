"""Secondary-structure tagging with a compiled model (eager backend keeps this runnable without a C++ toolchain)."""
import torch
import torch.nn as nn

AMINO, STATES = 20, 3


class Tagger(nn.Module):
    def __init__(self, d=24):
        super().__init__()
        self.emb = nn.Embedding(AMINO, d)
        self.conv = nn.Sequential(nn.Conv1d(d, 48, 5, padding=2), nn.ReLU(), nn.Conv1d(48, 32, 5, padding=2), nn.ReLU())
        self.out = nn.Linear(32, STATES)

    def forward(self, seq):
        return self.out(self.conv(self.emb(seq).transpose(1, 2)).transpose(1, 2))


def chains(n, length=24):
    """Helix/sheet/coil segments; each state prefers its own residues."""
    prefs = torch.ones(STATES, AMINO)
    prefs[0, :6] += 5
    prefs[1, 6:12] += 5
    prefs[2, 12:] += 2
    seg = torch.randint(0, STATES, (n, length // 6)).repeat_interleave(6, dim=1)
    states = torch.stack([torch.roll(s, int(k)) for s, k in zip(seg, torch.randint(0, 6, (n,)))])
    seq = torch.multinomial(prefs[states.flatten()], 1).view(n, length)
    return seq, states


def main(epochs=8, bs=50):
    torch.set_num_threads(1)
    torch.manual_seed(88)
    seq, states = chains(1000)
    vseq, vstates = chains(bs)
    net = Tagger()
    compiled = torch.compile(net, backend="eager")
    opt = torch.optim.AdamW(net.parameters(), lr=1.5e-3)
    for epoch in range(epochs):
        run = 0.0
        for idx in torch.randperm(len(seq)).split(bs):
            logits = compiled(seq[idx])
            loss = nn.functional.cross_entropy(logits.flatten(0, 1), states[idx].flatten())
            opt.zero_grad()
            loss.backward()
            opt.step()
            run += loss.item() * len(idx)
        with torch.no_grad():
            q3 = (net(vseq).argmax(-1) == vstates).float().mean().item()
        print(f"epoch {epoch} loss {run / len(seq):.4f} Q3 {q3:.3f}")


if __name__ == "__main__":
    main()
