"""Processes by each start method, with a queue, and one that fails."""
import multiprocessing
import torch
def work(queue, n):
    queue.put((n, torch.ones(n).sum().item(), multiprocessing.current_process().name))
def fail():
    raise SystemExit(6)
if __name__ == "__main__":
    for method in ("fork", "spawn", "forkserver"):
        context = multiprocessing.get_context(method)
        queue = context.Queue()
        process = context.Process(target=work, args=(queue, 2), name=f"by-{method}")
        process.start()
        print(method, queue.get())
        process.join()
        broken = context.Process(target=fail)
        broken.start()
        broken.join()
        print(process.exitcode, broken.exitcode)
