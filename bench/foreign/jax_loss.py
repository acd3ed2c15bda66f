# SPDX-License-Identifier: Apache-2.0
"""A JAX training loop turns each step's loss into a float to log it. The fix keeps the losses as
arrays until the end."""
import os
import time

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
import jax
import jax.numpy as jnp
import numpy

import pair

TURNS, BATCH, WIDTH, DEPTH, ROWS = 60, 8192, 1024, 12, 65536


def loss_of(weights, x):
    y = x
    for weight in weights:
        y = y + jax.nn.gelu(y @ weight)
    return jnp.mean((y - jnp.sin(x)).astype(jnp.float32) ** 2)


@jax.jit
def step(weights, table, rows):
    loss, slopes = jax.value_and_grad(loss_of)(weights, table[rows])
    return [weight - 1e-4 * slope for weight, slope in zip(weights, slopes)], loss


def main(fixed):
    rng = numpy.random.default_rng(0)
    keys = jax.random.split(jax.random.key(0), DEPTH + 1)
    weights = [jax.random.normal(key, (WIDTH, WIDTH), jnp.bfloat16) * 0.01 for key in keys[1:]]
    table = jax.random.normal(keys[0], (ROWS, WIDTH), jnp.bfloat16)
    losses = []
    jax.block_until_ready(step(weights, table, numpy.arange(BATCH)))
    begin = time.perf_counter()
    for _ in range(TURNS):
        rows = rng.permutation(ROWS)[:BATCH]
        weights, loss = step(weights, table, rows)
        losses.append(loss if fixed else float(loss))  # the wait
    jax.block_until_ready(weights)
    pair.report(time.perf_counter() - begin, TURNS, float(losses[-1]))


pair.run(main)
