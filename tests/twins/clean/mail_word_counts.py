"""Spam filter: plain logistic regression on raw word counts plus one-hot sender domain."""
from collections import Counter

import numpy as np
import torch
import torch.nn.functional as F

HAM = "meeting report invoice thanks project team lunch schedule review minutes draft agenda".split()
SPAM = "winner free prize click offer pills casino urgent loan bonus cheap deal".split()
COMMON = "the and to of for you your with on we please now this from are have it is at be".split()
DOMAINS = ["corp", "mail", "shop", "edu"]
VOCAB = {w: i for i, w in enumerate(HAM + SPAM + COMMON)}


def write_mail(rng, spam):
    n = rng.integers(20, 60)
    own, other = (SPAM, HAM) if spam else (HAM, SPAM)
    source = rng.choice(3, n, p=[0.22, 0.08, 0.70])
    words = [str(rng.choice((own, other, COMMON)[s])) for s in source]
    domain = rng.choice(4, p=[0.1, 0.4, 0.4, 0.1] if spam else [0.4, 0.3, 0.1, 0.2])
    return words, int(domain)


def featurise(mails):
    x = torch.zeros(len(mails), len(VOCAB) + len(DOMAINS))
    for i, (words, domain) in enumerate(mails):
        for w, c in Counter(words).items():
            x[i, VOCAB[w]] = c
        x[i, len(VOCAB) + domain] = 1.0
    return x


def corpus(n, rng):
    y = rng.integers(0, 2, n)
    return featurise([write_mail(rng, bool(s)) for s in y]), torch.tensor(y, dtype=torch.float32)


def main(epochs=10, bs=25):
    torch.set_num_threads(1)
    torch.manual_seed(4)
    rng = np.random.default_rng(4)
    x, y = corpus(900, rng)
    xv, yv = corpus(300, rng)
    weight = torch.zeros(x.shape[1], requires_grad=True)
    bias = torch.zeros(1, requires_grad=True)
    opt = torch.optim.SGD([weight, bias], lr=0.02)
    for epoch in range(epochs):
        total = 0.0
        for idx in torch.from_numpy(rng.permutation(len(x))).split(bs):
            loss = F.binary_cross_entropy_with_logits(x[idx] @ weight + bias, y[idx])
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item() * len(idx)
        with torch.no_grad():
            z = xv @ weight + bias
        print(f"epoch {epoch} loss {total / len(x):.4f} val {F.binary_cross_entropy_with_logits(z, yv).item():.4f} "
              f"acc {((z > 0) == yv.bool()).float().mean().item():.3f}")
    top = weight[:len(VOCAB)].topk(5).indices.tolist()
    print("most spammy:", ", ".join(w for w, i in VOCAB.items() if i in top))


if __name__ == "__main__":
    main()
