import torch
import torch.nn as nn

VOCAB, INTENTS, LENGTH = 120, 7, 9


def utterances(n, topic_words, gen):
    intent = torch.randint(0, INTENTS, (n,), generator=gen)
    filler = torch.randint(0, VOCAB, (n, LENGTH), generator=gen)
    pick = torch.randint(0, topic_words.shape[1], (n, LENGTH), generator=gen)
    keyed = topic_words[intent].gather(1, pick)
    use = torch.rand(n, LENGTH, generator=gen) < 0.6
    return torch.where(use, keyed, filler), intent


class IntentModel(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, dim)
        self.hidden = nn.Linear(dim, 48)
        self.out = nn.Linear(48, INTENTS)

    def forward(self, tokens):
        h = torch.relu(self.hidden(self.emb(tokens).mean(1)))
        return self.out(h)


class Session:
    def __init__(self, seed=72):
        torch.manual_seed(seed)
        self.gen = torch.Generator().manual_seed(seed)
        words = torch.stack([torch.randperm(VOCAB, generator=self.gen)[:8] for _ in range(INTENTS)])
        self.train_set = utterances(2800, words, self.gen)
        self.dev_set = utterances(350, words, self.gen)
        self.model = IntentModel()
        self.criterion = nn.NLLLoss()
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=3e-3)

    def epoch(self, bs=50):
        self.model.train()
        tokens, intent = self.train_set
        total = 0.0
        for rows in torch.randperm(len(tokens), generator=self.gen).split(bs):
            self.optimizer.zero_grad()
            loss = self.criterion(self.model(tokens[rows]), intent[rows])
            loss.backward()
            self.optimizer.step()
            total += loss.item() * len(rows)
        return total / len(tokens)

    @torch.no_grad()
    def dev_accuracy(self):
        self.model.eval()
        tokens, intent = self.dev_set
        return (self.model(tokens).argmax(-1) == intent).float().mean().item()


if __name__ == "__main__":
    torch.set_num_threads(1)
    session = Session()
    for k in range(8):
        loss = session.epoch()
        print(f"epoch {k}: nll {loss:.4f} dev acc {session.dev_accuracy():.3f}")
