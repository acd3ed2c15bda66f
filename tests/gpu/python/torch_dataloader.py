# SPDX-License-Identifier: Apache-2.0
"""A DataLoader with worker processes and pinned memory."""
from common import device, show, torch


class Numbers(torch.utils.data.Dataset):
    def __len__(self):
        return 256

    def __getitem__(self, index):
        return torch.full((64, 64), float(index))


if __name__ == "__main__":
    loader = torch.utils.data.DataLoader(Numbers(), batch_size=16, num_workers=2, pin_memory=True)
    total = torch.zeros((), device=device)
    for batch in loader:
        total += batch.to(device, non_blocking=True).mean()
    show(total)
