/* SPDX-License-Identifier: Apache-2.0 */
#include "control.h"

#include <string.h>

#include "origin.h"
#include "system.h"

/* The inode of the pid namespace; 0: unknown. */
static uint64_t pid_space(void)
{
	int fd = system_open("/proc/self/ns/pid", O_RDONLY, 0);
	struct stat space;
	uint64_t inode = fd < 0 || system_stat(fd, &space) ? 0 : space.st_ino;

	if (fd >= 0)
		system_close(fd);
	return inode;
}

/* The process's start in /proc/PID/stat: field 22; the second one, in parentheses, may hold any. */
static uint64_t born(void)
{
	char text[1024], *at;
	int fd = system_open("/proc/self/stat", O_RDONLY, 0);
	ssize_t length = fd < 0 ? 0 : system_read(fd, text, sizeof(text) - 1);
	uint64_t ticks = 0;

	if (fd >= 0)
		system_close(fd);
	text[length > 0 ? length : 0] = '\0';
	at = strrchr(text, ')');
	for (int field = 2; at && field < 22; field++)
		at = strchr(at + 1, ' ');
	for (at = at ? at + 1 : text; *at >= '0' && *at <= '9'; at++)
		ticks = ticks * 10 + (uint64_t)(*at - '0');
	return ticks;
}

void control_init(int paused)
{
	struct trace_control *page = control_page();
	const char *session = origin_setting("CUFENCE_SESSION");

	page->space = pid_space();
	page->born = born();
	window_now.answered = page->answered;
	window_now.asked = &page->asked;
	page->wish = paused ? CONTROL_PAUSE : CONTROL_RECORD;
	if (session)
		memcpy(page->session, session, strnlen(session, sizeof(page->session) - 1));
	trace_lock(&shim.writer);
}

void control_watch(void)
{
	__atomic_store_n(&window_now.seen, control_asked(), __ATOMIC_RELAXED);
	__atomic_store_n(&window_now.asked, &window_now.seen, __ATOMIC_RELEASE);
}

void control_unwatch(void)
{
	__atomic_store_n(&window_now.asked, &control_page()->asked, __ATOMIC_RELEASE);
}

void control_answer(uint32_t asked)
{
	/* The program may have closed the descriptor, and with it the lock. */
	trace_lock(&shim.writer);
	__atomic_store_n(&control_page()->answered, asked, __ATOMIC_RELEASE);
	__atomic_store_n(&window_now.answered, asked, __ATOMIC_RELAXED);
}

void control_show(enum control_state state, uint32_t windows)
{
	control_page()->windows = windows;
	__atomic_store_n(&control_page()->state, state, __ATOMIC_RELEASE);
}
