import torch
import torch.nn as nn


class Model(nn.Module):
    """A layer, an activation, and the sum of each row."""

    def __init__(self, inputs, outputs):
        super(Model, self).__init__()
        self.linear = nn.Linear(inputs, outputs)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.sum(torch.relu(self.linear(x)), dim=1)


batch_size = 6


def get_inputs():
    return [torch.rand(batch_size, 8)]


def get_init_inputs():
    return [8, 12]
