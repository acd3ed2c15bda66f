# SPDX-License-Identifier: Apache-2.0
"""Shared by the PyTorch scripts: the same numbers in every run."""
import os

os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
import torch

torch.manual_seed(1)
torch.use_deterministic_algorithms(True)
torch.backends.cudnn.benchmark = False
device = torch.device("cuda")


def show(*values):
    print(*(f"{float(value):.6e}" for value in values))
