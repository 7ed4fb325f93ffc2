"""Message filter on bags of tokens.  usage: spam_bow.py [--epochs N] [--lr LR]"""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F

VOCAB, LENGTH, TOPICS = 500, 14, 8


def corpus(n, gen):
    word_topic = torch.arange(VOCAB) % TOPICS
    base = torch.rand(n, TOPICS, generator=gen).pow(3)
    probs = base[:, word_topic] + 0.02
    tokens = torch.multinomial(probs, LENGTH, replacement=True, generator=gen)
    counts = F.one_hot(word_topic[tokens], TOPICS).sum(1)
    spam = (counts[:, 0] * 2 + counts[:, 3] + counts[:, 5] > counts[:, 1] * 2 + counts[:, 4] + counts[:, 6])
    return tokens, spam.float()


class Filter(nn.Module):
    def __init__(self, dim=24):
        super().__init__()
        self.emb = nn.EmbeddingBag(VOCAB, dim, mode="sum")
        nn.init.normal_(self.emb.weight, std=0.1)
        self.hidden = nn.Linear(dim, 32)
        self.out = nn.Linear(32, 1)

    def forward(self, tokens):
        return self.out(F.relu(self.hidden(self.emb(tokens)))).squeeze(1)


def parse():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=6)
    p.add_argument("--lr", type=float, default=1.5e-3)
    p.add_argument("--bs", type=int, default=64)
    p.add_argument("--seed", type=int, default=119)
    return p.parse_args()


def main(a):
    torch.set_num_threads(1)
    torch.manual_seed(a.seed)
    gen = torch.Generator().manual_seed(a.seed)
    tokens, label = corpus(8000, gen)
    vtokens, vlabel = corpus(800, gen)
    net = Filter()
    opt = torch.optim.Adam(net.parameters(), lr=a.lr)

    for epoch in range(a.epochs):
        net.train()
        loss_sum = 0.0
        for idx in torch.randperm(len(tokens), generator=gen).split(a.bs):
            opt.zero_grad()
            loss = F.binary_cross_entropy_with_logits(net(tokens[idx]), label[idx])
            loss_sum += loss.item() * len(idx)
            loss.backward()
            opt.step()

        net.eval()
        with torch.no_grad():
            logit = net(vtokens)
            vloss = F.binary_cross_entropy_with_logits(logit, vlabel).item()
            vacc = ((logit > 0) == (vlabel > 0.5)).float().mean().item()
        print(f"epoch {epoch}: train_loss={loss_sum / len(tokens):.4f} val_loss={vloss:.4f} val_acc={vacc:.3f}")


if __name__ == "__main__":
    main(parse())
