/* SPDX-License-Identifier: Apache-2.0 */
#include "lost_pages.h"

#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

/* A signal handler has no user argument. */
static struct lost_pages *watched;
static struct sigaction before;

/* Who has the list touches no watched page, so that a handler gets it soon. */
static atomic_flag is_taken = ATOMIC_FLAG_INIT;

static void take(void)
{
	while (atomic_flag_test_and_set_explicit(&is_taken, memory_order_acquire))
		;
}

static void give(void)
{
	atomic_flag_clear_explicit(&is_taken, memory_order_release);
}

/* All pages after the first missing one are missing too. */
static int replace(struct lost_pages *pages, uint8_t *at)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uint8_t *from = (uint8_t *)((uintptr_t)at & ~(page - 1));

	pages->lost = 1;
	from = mmap(from, (size_t)(pages->base + pages->size - from), PROT_READ | PROT_WRITE,
		MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	return from != MAP_FAILED;
}

static void handle(int signal, siginfo_t *info, void *context)
{
	uint8_t *at = info->si_addr;
	int is_ours = 0;

	/* One that was sent may have come while this thread has the list. */
	if (info->si_code > 0) {
		take();
		for (struct lost_pages *pages = watched; pages && !is_ours; pages = pages->next)
			is_ours = at >= pages->base && at < pages->base + pages->size &&
				replace(pages, at);
		give();
	}
	/* Not ours: the signal is raised again and handled by the previous handler. */
	if (!is_ours)
		sigaction(SIGBUS, &before, NULL);
}

void lost_pages_watch(struct lost_pages *pages, void *base, size_t size)
{
	struct sigaction action = { .sa_sigaction = handle, .sa_flags = SA_SIGINFO };

	sigemptyset(&action.sa_mask);
	take();
	*pages = (struct lost_pages){ .base = base, .size = size, .next = watched };
	if (!watched)
		sigaction(SIGBUS, &action, &before);
	watched = pages;
	give();
}

void lost_pages_unwatch(struct lost_pages *pages)
{
	struct lost_pages **at = &watched;

	take();
	while (*at && *at != pages)
		at = &(*at)->next;
	if (*at) {
		*at = pages->next;
		if (!watched)
			sigaction(SIGBUS, &before, NULL);
	}
	give();
}
