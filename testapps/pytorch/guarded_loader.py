# SPDX-License-Identifier: Apache-2.0
# Clean: a DataLoader with pinned batches and four workers, whose uploads are asynchronous.  Its
# output under the guard is what it is without.
import torch

STEPS = 200
BATCH = 64


class Numbers(torch.utils.data.Dataset):
    def __len__(self):
        return STEPS * BATCH

    def __getitem__(self, i):
        return torch.full((1024,), float(i % 251))


def main():
    loader = torch.utils.data.DataLoader(Numbers(), BATCH, num_workers=4, pin_memory=True)
    total = torch.zeros((), device="cuda")
    for batch in loader:
        total += batch.cuda(non_blocking=True).sum()
    print(f"{total.item():.1f}")


if __name__ == "__main__":
    main()
