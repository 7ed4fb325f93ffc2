"""Training inside coroutines."""
import asyncio
import torch
model = torch.nn.Linear(2, 1)
torch.nn.init.ones_(model.weight), torch.nn.init.zeros_(model.bias)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
async def step(n):
    await asyncio.sleep(0)
    optimizer.zero_grad()
    loss = model(torch.ones(1, 2)).sum() ** 2
    loss.backward()
    optimizer.step()
    return n, loss.item()
async def main():
    for n in range(4):
        print(await step(n))
    results = await asyncio.gather(step(9), asyncio.sleep(0, "slept"), return_exceptions=True)
    print(results)
    await asyncio.wait_for(asyncio.sleep(10), 0.01)
asyncio.run(main())
