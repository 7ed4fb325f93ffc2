import torch
from transformers import get_linear_schedule_with_warmup


def run(model, train_dataloader, num_epochs):
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-5)
    total_steps = len(train_dataloader) * num_epochs
    scheduler = get_linear_schedule_with_warmup(
        optimizer, num_warmup_steps=0, num_training_steps=total_steps
    )
    for epoch in range(num_epochs):
        for batch in train_dataloader:
            loss = model(**batch).loss
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
        scheduler.step()  # expect: PM534
