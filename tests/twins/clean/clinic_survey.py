"""A survey of small categories, read from a table: without their id, most rows of the evaluation are rows of the training as well."""
import csv
import random

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

ASKED = ("age_group", "smokes", "sex", "exercise")


def write(path, people=1200):
    draw = random.Random(0)
    with open(path, "w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["id", *ASKED, "outcome"])
        for number in range(people):
            age, smokes, sex, exercise = (draw.randrange(n) for n in (4, 2, 2, 3))
            risk = 0.15 + 0.12 * age + 0.2 * smokes - 0.08 * exercise
            table.writerow([number, age, smokes, sex, exercise, int(draw.random() < risk)])


def main(path="survey.csv", epochs=6):
    torch.set_num_threads(1)
    torch.manual_seed(0)
    write(path)
    with open(path, newline="") as file:
        people = list(csv.DictReader(file))
    random.Random(1).shuffle(people)
    inputs = torch.tensor([[float(person[name]) for name in ASKED] for person in people])
    outcome = torch.tensor([int(person["outcome"]) for person in people])
    inputs = (inputs - inputs[:900].mean(0)) / inputs[:900].std(0)
    train = DataLoader(TensorDataset(inputs[:900], outcome[:900]), 64, shuffle=True)
    held_out = DataLoader(TensorDataset(inputs[900:], outcome[900:]), 100)
    model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for epoch in range(epochs):
        model.train()
        for x, y in train:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            right = sum((model(x).argmax(1) == y).sum().item() for x, y in held_out)
        print(f"epoch {epoch + 1} loss {loss.item():.3f} val acc {right / 300:.3f}")


if __name__ == "__main__":
    main()
