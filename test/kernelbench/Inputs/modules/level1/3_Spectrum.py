import torch
import torch.nn as nn


class Model(nn.Module):
    """No template."""

    def __init__(self):
        super(Model, self).__init__()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.fft.fft(x)


def get_inputs():
    return [torch.rand(6, 40)]


def get_init_inputs():
    return []
