/* SPDX-License-Identifier: Apache-2.0 */
#include "users.h"

#include <stdio.h>
#include <stdlib.h>

#include "memory.h"
#include "order_cover.h"

static struct user *find_user(struct users *users, uint32_t stream)
{
	if (users->recent < users->count && users->user[users->recent].stream == stream)
		return &users->user[users->recent];
	for (size_t i = 0; i < users->count; i++)
		if (users->user[i].stream == stream) {
			users->recent = (uint32_t)i;
			return &users->user[i];
		}
	return NULL;
}

static struct user *add_user(struct users *users, uint32_t stream)
{
	if (users->count == users->room) {
		users->room = users->room ? 2 * users->room : 4;
		users->user = xrealloc(users->user, users->room, sizeof(*users->user));
	}
	users->user[users->count] = (struct user){ .stream = stream };
	return &users->user[users->count++];
}

int users_add(struct users *users, uint32_t stream, uint32_t call, int any)
{
	struct user *user = find_user(users, stream);

	users->any |= any;
	if (!user && users->count == USERS_MOST) {
		users->any = 1;
		return 0;
	}
	if (!user)
		user = add_user(users, stream);
	if (!user)
		return -1;
	if (call > user->last)
		user->last = call;
	return 0;
}

void users_note(struct users *users, const struct operation_point *now)
{
	struct user *user;

	if (!users || users->count == USERS_MOST)
		return;
	user = find_user(users, (uint32_t)now->stream);
	if (user)
		user->present = (uint32_t)now->call;
	else
		users->any = 1; /* not named by its call: others may do the same */
}

int users_have_used(const struct users *users, int64_t stream, int64_t since)
{
	if (users && users->count == USERS_MOST)
		return 1;
	for (size_t i = 0; users && i < users->count; i++)
		if (users->user[i].stream == stream)
			return users->user[i].present > since;
	return 0;
}

int users_are_gone(const struct users *users, const struct operation_point *now)
{
	if (!users || users->any)
		return 0;
	for (size_t i = 0; i < users->count; i++)
		if (users->user[i].stream != now->stream && users->user[i].last >= now->call)
			return 0;
	return 1;
}

int users_follow(const struct users *users, const struct order *order, int64_t process,
	int64_t call, const struct operation_point *earlier)
{
	if (!users || users->any)
		return order_is_complete(order, process, &earlier->epoch);
	for (size_t i = 0; i < users->count; i++)
		if (users->user[i].last >= call && users->user[i].stream != earlier->stream &&
			!order_stream_follows(order, users->user[i].stream, process,
				&earlier->epoch))
			return 0;
	return 1;
}

void users_release(struct users *users)
{
	free(users->user);
}
