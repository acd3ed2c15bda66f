/* SPDX-License-Identifier: Apache-2.0 */
/*
 * blocking-free: cudaFree or cudaFreeArray waited for the device.  "cudaFree may perform implicit
 * synchronization": it waits for every stream of the device, including non-blocking ones.
 *
 * blocking-unregister: cudaFreeHost or cudaHostUnregister waited for the device.  NVIDIA documents
 * no wait.  Measured: both return when every stream of every device is idle, since any of them may
 * still use the memory.
 *
 * blocking-module: loading or unloading a module waited for the device.  "Loading a kernel might
 * require context synchronization" (CUDA programming guide, "Lazy loading").  Measured: a module is
 * loaded and unloaded only when every stream of the device is idle.
 */
#include "pass_waits.h"

static int is_free(const struct pass_input *input, const struct waited *waited)
{
	(void)input;
	return kind_family(waited->call->kind) == FAMILY_free;
}

static int is_unregister(const struct pass_input *input, const struct waited *waited)
{
	(void)input;
	return kind_family(waited->call->kind) == FAMILY_host_memory;
}

static int is_module(const struct pass_input *input, const struct waited *waited)
{
	(void)input;
	return kind_family(waited->call->kind) == FAMILY_module;
}

static int run_free(const struct pass_input *input, struct findings *findings)
{
	return pass_add_waits(input, findings, RULE_blocking_free, is_free);
}

static int run_unregister(const struct pass_input *input, struct findings *findings)
{
	return pass_add_waits(input, findings, RULE_blocking_unregister, is_unregister);
}

static int run_module(const struct pass_input *input, struct findings *findings)
{
	return pass_add_waits(input, findings, RULE_blocking_module, is_module);
}

const struct pass pass_blocking_free = { .run = run_free, .say = pass_say_waited };
const struct pass pass_blocking_unregister = { .run = run_unregister, .say = pass_say_waited };
const struct pass pass_blocking_module = { .run = run_module, .say = pass_say_waited };
