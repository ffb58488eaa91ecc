#include "config.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf.h"
#include "conf_check.h"

/* Text is quoted so that the parser gives back just these bytes: in double
 * quotes a backslash escapes any character, "${" too. */
static void
print_value(FILE *out, const struct conf_key *k, const char *value)
{
	if (k->type != CONF_TYPE_STR) {
		fputs(value, out);
		return;
	}
	fputc('"', out);
	for (; *value != '\0'; value++) {
		if (strchr("\"\\$", *value) != NULL)
			fputc('\\', out);
		fputc(*value, out);
	}
	fputc('"', out);
}

void
conf_dump(const struct conf *c, FILE *out)
{
	size_t i;

	for (i = 0; i < conf_nkeys; i++) {
		char *value = conf_key_format(&conf_keys[i], c);

		/* What "" stands for once it is resolved. */
		if (value[0] == '\0' &&
		    strcmp(conf_keys[i].name, "python.env") == 0) {
			free(value);
			value = strdup("system");
		}
		fprintf(out, "%s = ", conf_keys[i].name);
		print_value(out, &conf_keys[i], value);
		fputc('\n', out);
		free(value);
	}
}

/* Help as a comment, broken into lines of at most 76 columns. */
static void
print_help(FILE *out, const char *help)
{
	size_t column = 0;

	while (*help != '\0') {
		size_t word = strcspn(help, " ");

		if (column > 0 && column + 1 + word > 76) {
			fputc('\n', out);
			column = 0;
		}
		column += fprintf(out, "%s%.*s", column == 0 ? "# " : " ",
		    (int)word, help);
		help += word;
		help += strspn(help, " ");
	}
	fputc('\n', out);
}

void
conf_sample(FILE *out)
{
	char expects[128];
	size_t i;

	fputs("# adderd.conf: every key with its default.  See "
	    "adderd.conf(5).\n# adderd -n -f FILE checks a file, "
	    "adderd -T -f FILE shows what it amounts to.\n", out);
	for (i = 0; i < conf_nkeys; i++) {
		const struct conf_key *k = &conf_keys[i];

		if (strcmp(k->name, "sandbox.without") == 0)
			continue;	/* for tests only */
		fputc('\n', out);
		print_help(out, k->help);
		if (k->type != CONF_TYPE_STR)
			fprintf(out, "# Value: %s.\n", conf_key_expects(k,
			    expects, sizeof expects));
		if (k->when == CONF_WHEN_RESTART)
			fputs("# Only a restart applies a change.\n", out);
		fprintf(out, "#%s = ", k->name);
		print_value(out, k, k->def);
		fputc('\n', out);
	}
}
