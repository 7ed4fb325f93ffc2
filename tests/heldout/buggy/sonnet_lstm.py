import math

import torch
import torch.nn as nn

LINES = ["shall i compare thee to a summers day ", "thou art more lovely and more temperate ",
         "rough winds do shake the darling buds of may ", "and summers lease hath all too short a date ",
         "so long as men can breathe or eyes can see ", "so long lives this and this gives life to thee "]


def corpus(n, seed):
    g = torch.Generator().manual_seed(seed)
    return "".join(LINES[i] for i in torch.randint(0, len(LINES), (n,), generator=g))


class CharLSTM(nn.Module):
    def __init__(self, vocab, d=24, h=64):
        super().__init__()
        self.emb = nn.Embedding(vocab, d)
        self.lstm = nn.LSTM(d, h, batch_first=True)
        self.out = nn.Linear(h, vocab)

    def forward(self, x, state=None):
        y, state = self.lstm(self.emb(x), state)
        return self.out(y), state


def batchify(text, stoi, rows):
    ids = torch.tensor([stoi[c] for c in text])
    n = len(ids) // rows
    return ids[:n * rows].view(rows, n)


def repackage(state):
    return tuple(s.detach() for s in state)


@torch.no_grad()
def perplexity(model, data, crit, bptt):
    model.eval()
    state, tot, n = None, 0.0, 0
    for i in range(0, data.size(1) - 1, bptt):
        y = data[:, i + 1:i + 1 + bptt]
        out, state = model(data[:, i:i + y.size(1)], state)
        tot, n = tot + crit(out.flatten(0, 1), y.flatten()).item() * y.numel(), n + y.numel()
    return math.exp(min(tot / n, 30))


def main(epochs=10, bptt=20, clip=0.25, lr=16.0):
    torch.set_num_threads(1)
    torch.manual_seed(33)
    stoi = {c: i for i, c in enumerate(sorted(set("".join(LINES))))}
    train = batchify(corpus(300, 1), stoi, 20)
    valid = batchify(corpus(60, 2), stoi, 10)
    model, crit = CharLSTM(len(stoi)), nn.CrossEntropyLoss()
    opt = torch.optim.SGD(model.parameters(), lr=lr)
    for epoch in range(epochs):
        model.train()
        state, losses = None, []
        for i in range(0, train.size(1) - 1, bptt):
            y = train[:, i + 1:i + 1 + bptt]
            state = repackage(state) if state is not None else None
            out, state = model(train[:, i:i + y.size(1)], state)
            loss = crit(out.flatten(0, 1), y.flatten())
            opt.zero_grad()
            loss.backward()
            opt.step()
            nn.utils.clip_grad_norm_(model.parameters(), clip)
            losses.append(loss.item())
        print(f"epoch {epoch:2d} loss {sum(losses) / len(losses):.4f} worst {max(losses):.3f} "
              f"valid ppl {perplexity(model, valid, crit, bptt):.3f}")


if __name__ == "__main__":
    main()
