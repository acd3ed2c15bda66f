/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Code that is loaded again is the module of before, in the same context, and stays loaded.  The
 * plan names the images: they have no variables, so that a module is as it was when it was loaded.
 * Should the program ask for a variable all the same, that module is not given out again.
 */
#include "fix_internal.h"
#include "image_size.h"

enum { MODULES = 64 };

static struct {
	_Atomic int lock;
	struct module {
		uint64_t handle, image; /* 0: free; its hash */
		CUcontext context;
		unsigned users; /* loads that were not unloaded */
		int is_shared;  /* it is given out again */
	} module[MODULES];
} modules;

/* Of a load without options, of an image that the plan names: its hash, else 0. */
static uint64_t image_of(const struct fixed_call *call)
{
	const char *image = (const char *)(uintptr_t)call->image;
	uint64_t size, hash;

	if ((call->id != CALL_cuModuleLoadData && call->id != CALL_cuModuleLoadFatBinary) ||
		!image || !fix.plan->images_count)
		return 0;
	size = image_size(image);
	hash = size && size <= IMAGE_MOST_BYTES ? image_hash(image, size) : 0;
	for (unsigned i = 0; i < fix.plan->images_count; i++)
		if (fix.plan->images[i] == hash)
			return hash;
	return 0;
}

/* Handle 0: a free entry. */
static struct module *find(uint64_t handle)
{
	for (unsigned i = 0; i < MODULES; i++)
		if (modules.module[i].handle == handle)
			return &modules.module[i];
	return NULL;
}

static int load(const struct fixed_call *call)
{
	uint64_t image = image_of(call);
	CUcontext context = image ? fix_context() : NULL;
	int found = 0;

	fix_lock(&modules.lock);
	for (unsigned i = 0; i < MODULES && context && !found; i++) {
		struct module *module = &modules.module[i];

		if (!module->is_shared || module->image != image || module->context != context)
			continue;
		*call->made = module->handle;
		module->users++;
		found = 1;
	}
	fix_unlock(&modules.lock);
	return found;
}

/* One that is given out again stays loaded; others when their last user is gone. */
static int unload(const struct fixed_call *call, int keeps)
{
	struct module *module;
	int stays = 0;

	fix_lock(&modules.lock);
	module = call->module ? find(call->module) : NULL;
	if (module && module->users) {
		module->users--;
		stays = module->users || (module->is_shared && keeps);
		if (!stays)
			module->handle = module->is_shared = 0;
	}
	fix_unlock(&modules.lock);
	return stays;
}

int modules_before(const struct fixed_call *call, struct fix_finding *finding)
{
	int done = call->kind == KIND_MODULE_UNLOAD ? unload(call, finding != NULL)
						    : finding && call->made && load(call);

	if (done && finding)
		finding->applied++;
	return done;
}

void modules_note(const struct fixed_call *call)
{
	uint64_t image = call->made && fix_finding_of(FIX_REMEMBER) ? image_of(call) : 0;
	CUcontext context = image ? fix_context() : NULL;
	struct module *module;

	if (!context)
		return;
	fix_lock(&modules.lock);
	/* What had that handle ended with its context. */
	module = find(*call->made);
	if (!module)
		module = find(0);
	if (module)
		*module = (struct module){ .handle = *call->made,
			.image = image,
			.context = context,
			.users = 1,
			.is_shared = 1 };
	fix_unlock(&modules.lock);
}

void modules_asked(const struct fixed_call *call, struct fix_finding *finding)
{
	struct module *module;

	fix_lock(&modules.lock);
	module = call->module ? find(call->module) : NULL;
	if (module)
		module->is_shared = 0;
	fix_unlock(&modules.lock);
	if (module && finding)
		fix_turn_off(finding, FIX_SURPRISE_VARIABLE, call->id, 0);
}

/* Those of other contexts still have users, who unload them. */
void modules_forget(void)
{
	fix_lock(&modules.lock);
	for (unsigned i = 0; i < MODULES; i++)
		modules.module[i].is_shared = 0;
	fix_unlock(&modules.lock);
}

void modules_child(void)
{
	memset(&modules, 0, sizeof(modules));
}
