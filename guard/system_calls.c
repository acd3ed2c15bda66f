/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel does not run a handler for memory that it cannot read or write: the call fails with
 * EFAULT.  Therefore the memory that a system call names is opened first, and counts as accessed by
 * the program as far as the call got.  The C library's internal calls are not intercepted, so its
 * functions for blocks of bytes are included here.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "guard_internal.h"

#undef fread_unlocked
#undef fwrite_unlocked
#undef fread
#undef fwrite

#define EXPORT __attribute__((visibility("default")))
#define PENDING() __builtin_expect(pages_pending != 0, 0)

static void open_vector(struct opened *opened, const struct iovec *vector, size_t count, int write)
{
	uint64_t offset = 0;

	for (size_t i = 0; i < count; offset += vector[i++].iov_len)
		pages_open(opened, vector[i].iov_base, vector[i].iov_len, write, offset);
}

static void open_message(struct opened *opened, const struct msghdr *message, int write)
{
	open_vector(opened, message->msg_iov, message->msg_iovlen, write);
}

/* The result counts messages: each counts as more bytes than it has. */
#define MESSAGE_BYTES (UINT64_C(1) << 32)
static void open_messages(struct opened *opened, const struct mmsghdr *message, unsigned count,
	int write)
{
	for (unsigned i = 0; i < count; i++)
		for (size_t j = 0; j < message[i].msg_hdr.msg_iovlen; j++)
			pages_open(opened, message[i].msg_hdr.msg_iov[j].iov_base,
				message[i].msg_hdr.msg_iov[j].iov_len, write, i * MESSAGE_BYTES);
}

/*
 * opening: an expression that fills opened; write: 1 if the kernel writes the memory; unit: bytes
 * per unit of the result.
 */
#define SYSTEM_CALL(type, name, params, args, opening, write, unit) \
	type name params; \
	static void *found_##name; \
	__attribute__((constructor)) static void find_##name(void) \
	{ \
		found_##name = dlsym(RTLD_NEXT, #name); \
	} \
	EXPORT type name params \
	{ \
		struct opened opened = { 0 }; \
		type(*real) params; \
		type result; \
\
		/* Not at the call: another thread may hold the loader's lock, and wait. */ \
		if (!found_##name) \
			find_##name(); \
		*(void **)&real = found_##name; \
		if (!real) { \
			errno = ENOSYS; \
			return (type)-1; \
		} \
		if (PENDING()) \
			opening; \
		result = real args; \
		if (opened.conflicts && (ssize_t)result > 0) \
			pages_report(&opened, (uint64_t)result *(unit), write, \
				__builtin_frame_address(0)); \
		return result; \
	}

#define BLOCK(buffer, bytes, write) pages_open(&opened, buffer, bytes, write, 0)
#define VECTOR(write) open_vector(&opened, vector, count < 0 ? 0 : (size_t)count, write)

/* clang-format off */
SYSTEM_CALL(ssize_t, read, (int fd, void *buffer, size_t bytes), (fd, buffer, bytes),
	BLOCK(buffer, bytes, 1), 1, 1)
SYSTEM_CALL(ssize_t, __read_chk, (int fd, void *buffer, size_t bytes, size_t room),
	(fd, buffer, bytes, room), BLOCK(buffer, bytes, 1), 1, 1)
SYSTEM_CALL(ssize_t, write, (int fd, const void *buffer, size_t bytes), (fd, buffer, bytes),
	BLOCK(buffer, bytes, 0), 0, 1)
SYSTEM_CALL(ssize_t, pread, (int fd, void *buffer, size_t bytes, off_t at),
	(fd, buffer, bytes, at), BLOCK(buffer, bytes, 1), 1, 1)
SYSTEM_CALL(ssize_t, pread64, (int fd, void *buffer, size_t bytes, off64_t at),
	(fd, buffer, bytes, at), BLOCK(buffer, bytes, 1), 1, 1)
SYSTEM_CALL(ssize_t, __pread_chk, (int fd, void *buffer, size_t bytes, off_t at, size_t room),
	(fd, buffer, bytes, at, room), BLOCK(buffer, bytes, 1), 1, 1)
SYSTEM_CALL(ssize_t, __pread64_chk, (int fd, void *buffer, size_t bytes, off64_t at, size_t room),
	(fd, buffer, bytes, at, room), BLOCK(buffer, bytes, 1), 1, 1)
SYSTEM_CALL(ssize_t, pwrite, (int fd, const void *buffer, size_t bytes, off_t at),
	(fd, buffer, bytes, at), BLOCK(buffer, bytes, 0), 0, 1)
SYSTEM_CALL(ssize_t, pwrite64, (int fd, const void *buffer, size_t bytes, off64_t at),
	(fd, buffer, bytes, at), BLOCK(buffer, bytes, 0), 0, 1)
SYSTEM_CALL(ssize_t, readv, (int fd, const struct iovec *vector, int count), (fd, vector, count),
	VECTOR(1), 1, 1)
SYSTEM_CALL(ssize_t, writev, (int fd, const struct iovec *vector, int count), (fd, vector, count),
	VECTOR(0), 0, 1)
SYSTEM_CALL(ssize_t, preadv, (int fd, const struct iovec *vector, int count, off_t at),
	(fd, vector, count, at), VECTOR(1), 1, 1)
SYSTEM_CALL(ssize_t, preadv64, (int fd, const struct iovec *vector, int count, off64_t at),
	(fd, vector, count, at), VECTOR(1), 1, 1)
SYSTEM_CALL(ssize_t, pwritev, (int fd, const struct iovec *vector, int count, off_t at),
	(fd, vector, count, at), VECTOR(0), 0, 1)
SYSTEM_CALL(ssize_t, pwritev64, (int fd, const struct iovec *vector, int count, off64_t at),
	(fd, vector, count, at), VECTOR(0), 0, 1)
SYSTEM_CALL(ssize_t, recv, (int fd, void *buffer, size_t bytes, int flags),
	(fd, buffer, bytes, flags), BLOCK(buffer, bytes, 1), 1, 1)
SYSTEM_CALL(ssize_t, __recv_chk, (int fd, void *buffer, size_t bytes, size_t room, int flags),
	(fd, buffer, bytes, room, flags), BLOCK(buffer, bytes, 1), 1, 1)
SYSTEM_CALL(ssize_t, recvfrom, (int fd, void *buffer, size_t bytes, int flags,
	struct sockaddr *from, socklen_t *length), (fd, buffer, bytes, flags, from, length),
	BLOCK(buffer, bytes, 1), 1, 1)
SYSTEM_CALL(ssize_t, __recvfrom_chk, (int fd, void *buffer, size_t bytes, size_t room, int flags,
	struct sockaddr *from, socklen_t *length), (fd, buffer, bytes, room, flags, from, length),
	BLOCK(buffer, bytes, 1), 1, 1)
SYSTEM_CALL(ssize_t, recvmsg, (int fd, struct msghdr *message, int flags), (fd, message, flags),
	open_message(&opened, message, 1), 1, 1)
SYSTEM_CALL(ssize_t, send, (int fd, const void *buffer, size_t bytes, int flags),
	(fd, buffer, bytes, flags), BLOCK(buffer, bytes, 0), 0, 1)
SYSTEM_CALL(ssize_t, sendto, (int fd, const void *buffer, size_t bytes, int flags,
	const struct sockaddr *to, socklen_t length), (fd, buffer, bytes, flags, to, length),
	BLOCK(buffer, bytes, 0), 0, 1)
SYSTEM_CALL(ssize_t, sendmsg, (int fd, const struct msghdr *message, int flags),
	(fd, message, flags), open_message(&opened, message, 0), 0, 1)
SYSTEM_CALL(int, recvmmsg, (int fd, struct mmsghdr *messages, unsigned count, int flags,
	struct timespec *timeout), (fd, messages, count, flags, timeout),
	open_messages(&opened, messages, count, 1), 1, MESSAGE_BYTES)
SYSTEM_CALL(int, sendmmsg, (int fd, struct mmsghdr *messages, unsigned count, int flags),
	(fd, messages, count, flags), open_messages(&opened, messages, count, 0), 0, MESSAGE_BYTES)
SYSTEM_CALL(size_t, fread, (void *buffer, size_t size, size_t count, FILE *file),
	(buffer, size, count, file), BLOCK(buffer, size * count, 1), 1, size)
SYSTEM_CALL(size_t, fread_unlocked, (void *buffer, size_t size, size_t count, FILE *file),
	(buffer, size, count, file), BLOCK(buffer, size * count, 1), 1, size)
SYSTEM_CALL(size_t, __fread_chk, (void *buffer, size_t room, size_t size, size_t count,
	FILE *file), (buffer, room, size, count, file), BLOCK(buffer, size * count, 1), 1, size)
SYSTEM_CALL(size_t, __fread_unlocked_chk, (void *buffer, size_t room, size_t size, size_t count,
	FILE *file), (buffer, room, size, count, file), BLOCK(buffer, size * count, 1), 1, size)
SYSTEM_CALL(size_t, fwrite, (const void *buffer, size_t size, size_t count, FILE *file),
	(buffer, size, count, file), BLOCK(buffer, size * count, 0), 0, size)
SYSTEM_CALL(size_t, fwrite_unlocked, (const void *buffer, size_t size, size_t count, FILE *file),
	(buffer, size, count, file), BLOCK(buffer, size * count, 0), 0, size)
/* clang-format on */
