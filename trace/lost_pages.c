/* SPDX-License-Identifier: Apache-2.0 */
#include "lost_pages.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

/* A signal handler has no user argument. */
static struct lost_pages *watched;
static struct sigaction before;

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

	for (struct lost_pages *pages = watched; pages; pages = pages->next)
		if (at >= pages->base && at < pages->base + pages->size && replace(pages, at))
			return;
	/* Not ours: the signal is raised again and handled by the previous handler. */
	sigaction(SIGBUS, &before, NULL);
}

void lost_pages_watch(struct lost_pages *pages, void *base, size_t size)
{
	struct sigaction action = { .sa_sigaction = handle, .sa_flags = SA_SIGINFO };

	*pages = (struct lost_pages){ .base = base, .size = size, .next = watched };
	sigemptyset(&action.sa_mask);
	if (!watched)
		sigaction(SIGBUS, &action, &before);
	watched = pages;
}

void lost_pages_unwatch(struct lost_pages *pages)
{
	struct lost_pages **at = &watched;

	while (*at && *at != pages)
		at = &(*at)->next;
	if (!*at)
		return;
	*at = pages->next;
	if (!watched)
		sigaction(SIGBUS, &before, NULL);
}
