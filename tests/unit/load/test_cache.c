/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cache.h"

static char home[] = "/tmp/cufence-cache-XXXXXX";
static char folder[64];

static void expect(const char *key, const char *wanted)
{
	size_t size = 0;
	char *got = cache_get("test", key, &size);

	if (!wanted) {
		assert_null(got);
		return;
	}
	assert_non_null(got);
	assert_int_equal(size, strlen(wanted));
	assert_string_equal(got, wanted);
	free(got);
}

static void put(const char *key, const char *value)
{
	cache_put("test", key, value, strlen(value));
}

/* Calls visit with the path of each file in the folder: their number. */
static int each_file(void (*visit)(const char *path))
{
	DIR *entries = opendir(folder);
	const struct dirent *entry;
	char path[400];
	int count = 0;

	while (entries && (entry = readdir(entries))) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
		if (visit)
			visit(path);
		count++;
	}
	if (entries)
		closedir(entries);
	return count;
}

static void remove_file(const char *path)
{
	unlink(path);
}

static int empty_folder(void **state)
{
	chmod(folder, 0700);
	each_file(remove_file);
	return 0;
}

TEST_WITH(a_value_is_found_by_its_key_alone, NULL, empty_folder)
{
	expect("one", NULL);
	put("one", "first");
	put("two", "second");
	expect("one", "first");
	expect("two", "second");
	expect("three", NULL);
	put("one", "");
	expect("one", "");
	assert_int_equal(each_file(NULL), 2);
}

static void damage(const char *path)
{
	int fd = open(path, O_RDWR);

	assert_int_equal(pwrite(fd, "X", 1, lseek(fd, 0, SEEK_END) - 1), 1);
	close(fd);
}

static void cut(const char *path)
{
	assert_int_equal(truncate(path, 20), 0);
}

TEST_WITH(what_is_damaged_is_not_found, NULL, empty_folder)
{
	put("one", "first");
	each_file(damage);
	expect("one", NULL);
	put("one", "first");
	expect("one", "first");
	each_file(cut);
	expect("one", NULL);
}

TEST_WITH(a_folder_that_others_may_use_is_no_cache, NULL, empty_folder)
{
	put("one", "first");
	chmod(folder, 0750);
	expect("one", NULL);
	put("two", "second");
	assert_int_equal(each_file(NULL), 1);
	chmod(folder, 0700);
	expect("one", "first");
	chmod(home, 0777);
	expect("one", NULL);
	chmod(home, 0700);
}

static void replace_by_link(const char *path)
{
	char target[100];

	snprintf(target, sizeof(target), "%s/elsewhere", home);
	assert_int_equal(rename(path, target), 0);
	assert_int_equal(symlink(target, path), 0);
}

TEST_WITH(no_link_is_followed, NULL, empty_folder)
{
	char moved[100];

	put("one", "first");
	each_file(replace_by_link);
	expect("one", NULL);
	put("one", "again");
	expect("one", "again");
	snprintf(moved, sizeof(moved), "%s/elsewhere", home);
	unlink(moved);
	assert_int_equal(rename(folder, moved), 0);
	assert_int_equal(symlink(moved, folder), 0);
	expect("one", NULL);
	unlink(folder);
	assert_int_equal(rename(moved, folder), 0);
	expect("one", "again");
}

static void set_old(const char *path)
{
	struct timespec long_ago[2] = { { 1000000, 0 }, { 1000000, 0 } };

	utimensat(AT_FDCWD, path, long_ago, 0);
}

TEST_WITH(what_was_used_last_stays, NULL, empty_folder)
{
	put("one", "first");
	put("two", "second");
	each_file(set_old);
	expect("one", "first");
	cache_trim(60);
	expect("one", "first");
	expect("two", NULL);
	cache_trim(0);
	expect("one", NULL);
}

TEST_WITH(without_a_home_there_is_none, NULL, empty_folder)
{
	setenv("XDG_CACHE_HOME", "/dev/null", 1);
	put("one", "first");
	expect("one", NULL);
	setenv("XDG_CACHE_HOME", home, 1);
	expect("one", NULL);
}

static int make_home(void **state)
{
	if (!mkdtemp(home))
		return -1;
	snprintf(folder, sizeof(folder), "%s/cufence", home);
	return setenv("XDG_CACHE_HOME", home, 1);
}

static int remove_home(void **state)
{
	rmdir(folder);
	return rmdir(home);
}

GROUP(make_home, remove_home)
