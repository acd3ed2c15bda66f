# SPDX-License-Identifier: Apache-2.0
"""One rank of a job started by torch.distributed.run: all share the first device."""
import torch
import torch.distributed

torch.distributed.init_process_group("gloo")
values = torch.ones(1 << 16, device="cuda:0")
for _ in range(50):
    values = values + 1
total = values.sum().cpu()
torch.distributed.all_reduce(total)
if torch.distributed.get_rank() == 0:
    print(int(total.item()))
torch.distributed.destroy_process_group()
