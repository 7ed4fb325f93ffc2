"""A pool, its map, and an exception that comes back."""
import multiprocessing
import torch
def square(n):
    if n == 3:
        raise ValueError("three")
    return (torch.tensor(n) ** 2).item()
if __name__ == "__main__":
    with multiprocessing.get_context("fork").Pool(2) as pool:
        print(pool.map(square, [1, 2]))
        try:
            pool.map(square, [3])
        except ValueError as error:
            print(error)
