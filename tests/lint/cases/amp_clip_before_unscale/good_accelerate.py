from accelerate import Accelerator

accelerator = Accelerator(mixed_precision="fp16")


def run(model, loader, optimizer):
    for batch in loader:
        loss = model(**batch).loss
        accelerator.backward(loss)
        if accelerator.sync_gradients:
            accelerator.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
