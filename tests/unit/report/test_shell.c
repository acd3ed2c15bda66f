/* SPDX-License-Identifier: Apache-2.0 */
/* A word that a shell is given is the name again. */
#include "unit.h"

#include "shell.h"

static const char *const names[] = {
	"cufence.db",
	"../a-b/c_1.db",
	"two words.db",
	"it's.db",
	"$HOME `x` \"y\" \\n.db",
	"*.db",
	"~",
	"tab\there",
	"new\nline's \\ end",
	"größe.db",
	"",
	"a&b;c|d<e>f#g!h(i)",
	"\x01\x7f",
};

TEST(a_shell_reads_the_name)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		char *word = shell_word(names[i]), command[400], read[200];
		size_t length;
		FILE *out;

		assert_non_null(word);
		snprintf(command, sizeof(command), "bash -c \"$WORD\"");
		snprintf(read, sizeof(read), "printf %%s %s", word);
		setenv("WORD", read, 1);
		out = popen(command, "r");
		assert_non_null(out);
		length = fread(read, 1, sizeof(read) - 1, out);
		read[length] = '\0';
		assert_int_equal(pclose(out), 0);
		assert_string_equal(read, names[i]);
		free(word);
	}
}

TEST(plain_names_stay_and_dashes_are_no_options)
{
	char *plain = shell_word("a/cufence.db"), *dash = shell_word("-o.db");

	assert_string_equal(plain, "a/cufence.db");
	assert_string_equal(dash, "./-o.db");
	free(plain);
	free(dash);
}
