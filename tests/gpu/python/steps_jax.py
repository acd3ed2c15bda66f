# SPDX-License-Identifier: Apache-2.0
"""steps_jax.py NAME: 200 steps with JAX, which orders its streams itself: there is no wait to leave out."""
import os
import sys

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
os.environ.setdefault("XLA_FLAGS", "--xla_gpu_deterministic_ops=true")
import jax
import jax.numpy as jnp

STEPS = 200


def jit():
    step = jax.jit(lambda x: jnp.tanh(x @ x) * 0.5)
    x = jnp.ones((256, 256), dtype=jnp.float32) * 0.01
    for _ in range(STEPS):
        x = step(x)
    return x.sum()


def grad():
    def loss(w, x):
        return jnp.mean((jnp.tanh(x @ w[0]) @ w[1]) ** 2)

    step = jax.jit(lambda w, x: [p - 0.1 * g for p, g in zip(w, jax.grad(loss)(w, x))])
    w = [jnp.ones((128, 256), dtype=jnp.float32) * 0.01, jnp.ones((256, 8), dtype=jnp.float32) * 0.01]
    x = jnp.ones((64, 128), dtype=jnp.float32)
    for _ in range(STEPS):
        w = step(w, x)
    return w[0].sum()


def main():
    if len(sys.argv) < 2:
        print("jit grad")
        return
    print(f"{float(globals()[sys.argv[1]]()):.4e}")


main()
