# SPDX-License-Identifier: Apache-2.0. TorchRec-like train pipeline: copy stream, distribution stream, default stream; 'bug' leaves a wait out, 'slow' uses pageable memory and .item()
import sys, torch
mode=sys.argv[1] if len(sys.argv)>1 else 'good'; torch.manual_seed(0)
emb=torch.nn.EmbeddingBag(200000,128,mode='sum').cuda(); mlp=torch.nn.Sequential(torch.nn.Linear(128,512),torch.nn.ReLU(),torch.nn.Linear(512,1)).cuda(); o=torch.optim.SGD(list(emb.parameters())+list(mlp.parameters()),1e-2)
B,L=4096,20; host=[torch.randint(0,200000,(B,L)) for _ in range(8)]
if mode!='slow': host=[h.pin_memory() for h in host]
cs,ds=torch.cuda.Stream(),torch.cuda.Stream(); cur=torch.cuda.current_stream()
def copy(i):
    with torch.cuda.stream(cs): return host[i%8].to('cuda',non_blocking=True)
def dist(b):
    ds.wait_stream(cs)
    with torch.cuda.stream(ds): b.record_stream(ds); s=b.sort(dim=1)[0]; s=(s*7+3)%200000; return s
b=copy(0); q=dist(b); tot=torch.zeros((),device='cuda'); t=0.
for i in range(60):
    nb=copy(i+1)
    if mode!='bug': cur.wait_stream(ds)
    q.record_stream(cur)
    l=mlp(emb(q)).square().mean(); o.zero_grad(set_to_none=True); l.backward(); o.step()
    if mode=='slow': t+=l.item()
    else: tot+=l.detach()
    q=dist(nb)
print('%.4f'%(t or tot.item()))
