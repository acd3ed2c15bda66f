# SPDX-License-Identifier: Apache-2.0
"""A JAX program waits for each batch's answer before it prepares the next batch. The fix lets JAX
run ahead and waits for all answers at the end."""
import os
import time

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
import jax
import jax.numpy as jnp
import numpy

import pair

TURNS, BATCH, WIDTH, DEPTH, ROWS = 100, 4096, 2048, 24, 100000


@jax.jit
def predict(weights, table, rows):
    x = table[rows]
    for weight in weights:
        x = jnp.tanh(x @ weight)
    return jnp.abs(x.astype(jnp.float32)).sum()


def main(fixed):
    rng = numpy.random.default_rng(0)
    keys = jax.random.split(jax.random.key(0), DEPTH + 1)
    weights = [jax.random.normal(key, (WIDTH, WIDTH), jnp.bfloat16) * WIDTH ** -0.5
               for key in keys[1:]]
    table = jax.random.normal(keys[0], (ROWS, WIDTH), jnp.bfloat16)
    predict(weights, table, numpy.arange(BATCH)).block_until_ready()
    answers = []
    begin = time.perf_counter()
    for _ in range(TURNS):
        rows = rng.permutation(ROWS)[:BATCH]
        answer = predict(weights, table, rows)
        answers.append(answer if fixed else answer.block_until_ready())  # the wait
    jax.block_until_ready(answers)
    pair.report(time.perf_counter() - begin, TURNS, float(sum(answers)))


pair.run(main)
