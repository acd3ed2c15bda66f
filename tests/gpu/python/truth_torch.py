# SPDX-License-Identifier: Apache-2.0
"""Calls of libraries for tests/gpu/truth, a function each, through PyTorch.  Inputs are made on the
host, so that few kernels are launched beside those in question; no access of theirs depends on
data that a case has left out."""
import torch
import torch.nn.functional as F

F16, BF16, F32, F64, I64 = torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.int64


def ready(library):
    """Before the first CUDA call."""
    torch.manual_seed(1)
    allocator = torch.cuda.memory.CUDAPluggableAllocator(library, "truth_malloc", "truth_free")
    torch.cuda.memory.change_current_allocator(allocator)


def done():
    torch.cuda.synchronize()


def rand(*shape, dtype=F32):
    return torch.randn(*shape).to(dtype).cuda()


def grad(*shape, dtype=F32):
    return rand(*shape, dtype=dtype).requires_grad_()


def ints(bound, *shape, dtype=I64):
    return torch.randint(0, bound, shape).to(dtype).cuda()


def positive(n, batch=()):
    a = torch.randn(*batch, n, n)
    return (a @ a.mT + n * torch.eye(n)).cuda()


# --- cuBLAS ---
def gemm_f32():
    rand(128, 256) @ rand(256, 192)


def gemm_f32_split():
    rand(64, 8192) @ rand(8192, 64)


def gemm_tf32():
    torch.backends.cuda.matmul.allow_tf32 = True
    rand(256, 512) @ rand(512, 256)


def gemm_bf16():
    rand(512, 512, dtype=BF16) @ rand(512, 512, dtype=BF16)


def gemm_f16_transposed():
    rand(512, 256, dtype=F16).t() @ rand(512, 384, dtype=F16)


def gemm_f64():
    rand(128, 128, dtype=F64) @ rand(128, 128, dtype=F64)


def gemm_complex():
    rand(96, 96, dtype=torch.complex64) @ rand(96, 96, dtype=torch.complex64)


def gemm_int8():
    torch._int_mm(ints(100, 128, 128, dtype=torch.int8), ints(100, 128, 128, dtype=torch.int8))


def gemm_bias():
    torch.addmm(rand(256), rand(128, 512), rand(512, 256))


def gemm_bias_gelu():
    torch._addmm_activation(rand(256, dtype=BF16), rand(128, 512, dtype=BF16),
                            rand(512, 256, dtype=BF16), use_gelu=True)


def gemm_beta():
    torch.addmm(rand(128, 128), rand(128, 128), rand(128, 128), beta=0.5)


def gemm_strided_batch():
    torch.bmm(rand(16, 64, 64), rand(16, 64, 64))


def gemm_strided_batch_bf16():
    torch.baddbmm(rand(16, 128, 128, dtype=BF16), rand(16, 128, 128, dtype=BF16),
                  rand(16, 128, 128, dtype=BF16))


def gemv():
    torch.mv(rand(512, 256), rand(256))


def gemv_transposed():
    torch.mv(rand(512, 256).t(), rand(512))


def gemv_beta():
    torch.addmv(rand(512), rand(512, 256), rand(256), beta=0.5)


def dot():
    torch.dot(rand(1 << 14), rand(1 << 14))


def vdot_complex():
    torch.vdot(rand(4096, dtype=torch.complex64), rand(4096, dtype=torch.complex64))


def triangular_solve():
    torch.linalg.solve_triangular(positive(64).tril(), rand(64, 32), upper=False)


def triangular_solve_batch():
    torch.linalg.solve_triangular(positive(16, (8,)).tril(), rand(8, 16, 4), upper=False)


def lu_batch():
    torch.linalg.lu_factor(positive(24, (16,)))


def inverse_batch():
    torch.linalg.inv(positive(24, (8,)))


# --- cuSOLVER ---
def cholesky():
    torch.linalg.cholesky(positive(128))


def cholesky_batch():
    torch.linalg.cholesky(positive(16, (8,)))


def lu():
    torch.linalg.lu_factor(positive(128))


def qr():
    torch.linalg.qr(rand(96, 64))


def eigenvalues():
    torch.linalg.eigh(positive(48))


def singular_values():
    torch.linalg.svd(rand(48, 32), full_matrices=False)


# --- cuDNN ---
def convolution():
    F.conv2d(rand(8, 16, 32, 32), rand(32, 16, 3, 3), rand(32), padding=1)


def convolution_small():
    F.conv2d(rand(32, 3, 32, 32), rand(16, 3, 3, 3), rand(16), padding=1)


def convolution_bf16():
    F.conv2d(rand(8, 32, 32, 32, dtype=BF16).to(memory_format=torch.channels_last),
             rand(64, 32, 3, 3, dtype=BF16).to(memory_format=torch.channels_last), padding=1)


def convolution_strided():
    F.conv2d(rand(8, 16, 31, 31), rand(16, 16, 3, 3), stride=2)


def convolution_backward():
    x, w, b = grad(8, 16, 32, 32), grad(32, 16, 3, 3), grad(32)
    y = F.conv2d(x, w, b, padding=1)
    y.backward(rand(8, 32, 32, 32))


def convolution_small_backward():
    x, w, b = grad(32, 3, 32, 32), grad(16, 3, 3, 3), grad(16)
    F.conv2d(x, w, b, padding=1).backward(rand(32, 16, 32, 32))


def convolution_strided_backward():
    x, w = grad(32, 16, 32, 32), grad(16, 16, 3, 3)
    F.conv2d(x, w, stride=2).backward(rand(32, 16, 15, 15))


def convolution_1d():
    F.conv1d(rand(8, 16, 512), rand(16, 16, 5))


def convolution_3d():
    F.conv3d(rand(2, 8, 12, 12, 12), rand(8, 8, 3, 3, 3))


def convolution_transposed():
    F.conv_transpose2d(rand(8, 16, 16, 16), rand(16, 8, 2, 2), stride=2)


def convolution_depthwise():
    F.conv2d(rand(4, 32, 28, 28), rand(32, 1, 3, 3), groups=32, padding=1)


def batch_norm():
    x = grad(16, 8, 16, 16)
    y = F.batch_norm(x, rand(8), rand(8).abs(), grad(8), grad(8), training=True)
    y.backward(rand(16, 8, 16, 16))


def lstm():
    net = torch.nn.LSTM(32, 64).cuda()
    net(rand(8, 4, 32))


# --- attention ---
def attention_flash():
    q, k, v = (grad(2, 4, 128, 64, dtype=BF16) for _ in range(3))
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.FLASH_ATTENTION):
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        y.backward(rand(2, 4, 128, 64, dtype=BF16))


def attention_memory():
    q, k, v = (grad(2, 4, 64, 32) for _ in range(3))
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.EFFICIENT_ATTENTION):
        F.scaled_dot_product_attention(q, k, v).backward(rand(2, 4, 64, 32))


def attention_cudnn():
    q, k, v = (rand(2, 4, 128, 64, dtype=BF16) for _ in range(3))
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.CUDNN_ATTENTION):
        F.scaled_dot_product_attention(q, k, v)


# --- PyTorch's own ---
def elementwise():
    x, y = rand(1 << 14), rand(1 << 14)
    (x + y).mul_(y)
    torch.where(x > 0, x, y)
    x.clamp_(-1, 1)
    x.to(F16)


def elementwise_broadcast():
    torch.exp(rand(64, 1, 32) + rand(128, 32))


def copies():
    x = rand(64, 96)
    x.t().contiguous()
    x[:, ::3].contiguous()
    x[::2].copy_(rand(32, 96))
    x.flip(0)
    x.roll(3, 1)


def concatenation():
    torch.cat([rand(16, 32), rand(8, 32), rand(4, 32)])
    torch.cat([rand(16, 32), rand(16, 8)], dim=1)
    torch.stack([rand(64) for _ in range(5)])


def reductions():
    x = rand(256, 192)
    x.sum()
    x.sum(0)
    x.mean(1)
    x.max(1)
    x.argmin()
    x.norm()
    x.var(0)
    (x > 4).any()


def large_reduction():
    rand(1 << 18).sum()
    rand(1 << 18).argmax()


def scans():
    rand(64, 128).cumsum(1)
    rand(1 << 15).cumsum(0)
    rand(64, 64).cumsum(0)
    rand(64, 64).cummax(1)
    rand(64, 64).logcumsumexp(1)


def sort_small():
    rand(16, 100).sort(dim=1)


def sort_medium():
    rand(16, 1024).sort(dim=1)


def sort_large():
    rand(1 << 15).sort()


def sort_segmented():
    rand(200, 5000).sort(dim=1)


def sort_stable():
    ints(50, 4, 3000).sort(dim=1, stable=True)


def selection():
    rand(16, 500).topk(5)
    rand(4, 300).kthvalue(7)
    rand(4, 301).median(1)
    ints(5, 4, 30).mode(1)


def top_large():
    rand(1 << 16).topk(20)


def unique():
    torch.unique(ints(100, 2000), return_inverse=True, return_counts=True)


def masks():
    x = rand(4000)
    torch.nonzero(x > 0)
    x[x > 0]
    x.masked_fill_(x < 0, 0)
    x.masked_scatter_(x > 0, rand(4000))


def histograms():
    torch.bincount(ints(50, 3000))
    torch.histc(rand(3000), 20)
    torch.searchsorted(rand(100).sort().values, rand(300))
    torch.bucketize(rand(300), rand(16).sort().values)


def index():
    x, at = rand(200, 64), ints(200, 50)
    x[at]
    x.index_select(0, at)
    x.gather(0, ints(200, 10, 64))
    x.take(at)


def index_store():
    x, at = rand(200, 64), torch.randperm(200)[:50].cuda()
    x[at] = rand(50, 64)
    x.index_add_(0, at, rand(50, 64))
    x.index_copy_(0, at, rand(50, 64))
    x.index_fill_(0, at, 1.0)


def index_accumulate():
    rand(200, 64).index_put_((ints(200, 500),), rand(500, 64), accumulate=True)


def scatter():
    x, at = rand(100, 32), ints(100, 40, 32)
    x.scatter_(0, at, rand(40, 32))
    x.scatter_add_(0, at, rand(40, 32))
    x.scatter_reduce_(0, at, rand(40, 32), "amax")


def embedding():
    w = grad(500, 64)
    F.embedding(ints(500, 200), w).sum().backward()


def embedding_large():
    w = grad(500, 64)
    F.embedding(ints(500, 4000), w).backward(rand(4000, 64))


def embedding_bag():
    w = grad(500, 64)
    F.embedding_bag(ints(500, 20, 8), w).backward(rand(20, 64))


def softmax():
    x = grad(64, 100)
    F.softmax(x, 1).backward(rand(64, 100))
    y = grad(16, 5000)
    F.log_softmax(y, 1).backward(rand(16, 5000))
    F.softmax(rand(30, 20, 10), 1)


def layer_norm():
    x, w, b = grad(64, 256), grad(256), grad(256)
    F.layer_norm(x, (256,), w, b).backward(rand(64, 256))


def group_norm():
    x, w, b = grad(4, 32, 8, 8), grad(32), grad(32)
    F.group_norm(x, 4, w, b).backward(rand(4, 32, 8, 8))


def losses():
    x = grad(64, 100)
    F.cross_entropy(x, ints(100, 64)).backward()
    F.mse_loss(rand(64), rand(64))
    F.nll_loss(rand(2, 5, 8, 8), ints(5, 2, 8, 8))


def pools():
    x = grad(4, 8, 32, 32)
    F.max_pool2d(x, 2).sum().backward()
    F.avg_pool2d(x, 3).sum().backward()
    F.adaptive_avg_pool2d(x, 7).sum().backward()


def resampling():
    x = grad(2, 3, 16, 16)
    F.interpolate(x, scale_factor=2, mode="bilinear").sum().backward()
    F.grid_sample(x, rand(2, 8, 8, 2).tanh()).sum().backward()
    F.pad(x, (1, 1, 1, 1), mode="reflect").sum().backward()


def random_numbers():
    torch.randn(1000, device="cuda")
    torch.randperm(3000, device="cuda")
    F.dropout(rand(5000), 0.5)
    torch.multinomial(rand(100).abs(), 10)
    rand(100).exponential_()


def adam_foreach():
    p = [grad(64, 64), grad(100), grad(3, 7)]
    for each in p:
        each.grad = torch.ones_like(each)
    torch.optim.AdamW(p, foreach=True).step()


def adam_fused():
    p = [grad(64, 64), grad(100), grad(3, 7)]
    for each in p:
        each.grad = torch.ones_like(each)
    torch.optim.AdamW(p, fused=True).step()


def clip_gradients():
    p = [grad(64, 64), grad(100)]
    for each in p:
        each.grad = torch.ones_like(each)
    torch.nn.utils.clip_grad_norm_(p, 1.0)


def scaler():
    x = grad(64)
    amp = torch.amp.GradScaler("cuda")
    step = torch.optim.SGD([x], lr=0.1)
    amp.scale((x * x).sum()).backward()
    amp.step(step)
    amp.update()


def triangles():
    rand(30, 30).tril()
    torch.cdist(rand(40, 16), rand(50, 16))
    torch.cross(rand(50, 3), rand(50, 3), dim=1)
    torch.diag_embed(rand(20))


# --- cuFFT ---
def fft():
    torch.fft.fft(rand(16, 256, dtype=torch.complex64))


def fft_real():
    torch.fft.irfft(torch.fft.rfft(rand(16, 1000)))


def fft_planes():
    torch.fft.fft2(rand(4, 128, 96, dtype=torch.complex64))


def fft_prime():
    torch.fft.fft(rand(8, 1031, dtype=torch.complex64))


def fft_long():
    torch.fft.fft(rand(1 << 17, dtype=torch.complex64))


# --- cuSPARSE ---
def sparse(rows, columns):
    return (torch.randn(rows, columns) * (torch.rand(rows, columns) < 0.2)).to_sparse_csr().cuda()


def sparse_vector():
    sparse(200, 300) @ rand(300)


def sparse_matrix():
    sparse(200, 300) @ rand(300, 64)


def sparse_product():
    sparse(100, 120) @ sparse(120, 80)


def sparse_sampled():
    torch.sparse.sampled_addmm(sparse(100, 80), rand(100, 32), rand(32, 80))


def sparse_coordinates():
    a = (torch.randn(100, 80) * (torch.rand(100, 80) < 0.2)).to_sparse_coo().cuda()
    (a + a).coalesce()
    torch.sparse.mm(a, rand(80, 16))


def sparse_solve():
    a = positive(64).cpu().tril().to_sparse_csr().cuda()
    torch.triangular_solve(rand(64, 4), a, upper=False)


CASES = {name: case for name, case in list(globals().items())
         if callable(case) and getattr(case, "__module__", "") == __name__
         and case.__code__.co_argcount == 0 and name != "done"}
del CASES["rand"], CASES["grad"]
