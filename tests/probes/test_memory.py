"""Which memory a tensor has: that of its values, also where it is sparse."""

import pytest
import torch

from premortem.tensors.memory import storage


@pytest.mark.filterwarnings("ignore:Sparse")
@pytest.mark.parametrize("layout", [torch.strided, torch.sparse_coo, torch.sparse_csr])
def test_the_memory_of_a_tensor(layout):
    table = torch.eye(3)
    tensor = table if layout == torch.strided else table.to_sparse(layout=layout)
    assert storage(tensor) == storage(tensor) != storage(torch.eye(3))


def test_a_sparse_gradient_has_its_values_memory():
    table = torch.nn.Embedding(10, 3, sparse=True)
    table(torch.tensor([1, 2])).sum().backward()
    assert storage(table.weight.grad) == storage(table.weight.grad._values())
