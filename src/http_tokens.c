#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "http_tokens.h"
#include "mem.h"

#define TOKEN_MIN	16

struct token {
	char	*name;
	char	*text;
};

struct http_tokens {
	struct token	*list;
	size_t		 count;
};

static const char *
add(struct http_tokens *t, char *line)
{
	char *save, *name = strtok_r(line, " \t\r\n", &save);
	char *text = strtok_r(NULL, " \t\r\n", &save);
	const char *c;

	if (name == NULL || name[0] == '#')
		return NULL;
	if (text == NULL || strtok_r(NULL, " \t\r\n", &save) != NULL)
		return "it must be a name, a blank and a token";
	if (strlen(text) < TOKEN_MIN)
		return "the token is shorter than 16 characters, so it could "
		    "be guessed; openssl rand -hex 32 makes a good one";
	for (c = text; *c != '\0'; c++)
		if (*c < 0x21 || *c > 0x7e)
			return "the token has characters that no header can "
			    "carry";
	t->list = xreallocarray(t->list, t->count + 1, sizeof *t->list);
	t->list[t->count++] = (struct token){ xstrdup(name), xstrdup(text) };
	return NULL;
}

static void
read_lines(struct http_tokens *t, FILE *f, const char *path, char **why)
{
	const char *trouble = NULL;
	unsigned number = 0;
	char *line = NULL;
	size_t size = 0;

	while (trouble == NULL && getline(&line, &size, f) != -1) {
		number++;
		trouble = add(t, line);
	}
	if (trouble != NULL)
		xasprintf(why, "http.token_file: %s:%u: %s", path, number,
		    trouble);
	else if (ferror(f))
		xasprintf(why, "http.token_file: cannot read %s: %s", path,
		    strerror(errno));
	else if (t->count == 0)
		xasprintf(why, "http.token_file: %s holds no token; put lines "
		    "of a name, a blank and a token there", path);
	if (line != NULL)
		explicit_bzero(line, size);
	free(line);
}

struct http_tokens *
http_tokens_read(const char *path, char **why)
{
	struct http_tokens *t;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	FILE *f = fd == -1 ? NULL : fdopen(fd, "r");
	struct stat st;

	*why = NULL;
	/* It is read more than once, and nothing may hold us up. */
	if (f != NULL && (fstat(fd, &st) == -1 || !S_ISREG(st.st_mode))) {
		xasprintf(why, "http.token_file: %s is not a file", path);
		fclose(f);
		return NULL;
	}
	if (f == NULL) {
		xasprintf(why, "http.token_file: cannot read %s: %s", path,
		    strerror(errno));
		return NULL;
	}
	t = xcalloc(1, sizeof *t);
	read_lines(t, f, path, why);
	fclose(f);
	if (*why != NULL)
		http_tokens_free(&t);
	return t;
}

void
http_tokens_free(struct http_tokens **tp)
{
	struct http_tokens *t = *tp;
	size_t i;

	if (t == NULL)
		return;
	*tp = NULL;
	for (i = 0; i < t->count; i++) {
		explicit_bzero(t->list[i].text, strlen(t->list[i].text));
		free(t->list[i].text);
		free(t->list[i].name);
	}
	free(t->list);
	free(t);
}

/* Looks at every byte, whether or not one differed before. */
static int
same(const char *a, const char *b)
{
	size_t i, len = strlen(a);
	volatile unsigned char differ = 0;

	if (strlen(b) != len)
		return 0;
	for (i = 0; i < len; i++)
		differ |= a[i] ^ b[i];
	return differ == 0;
}

const char *
http_tokens_find(const struct http_tokens *t, const char *token)
{
	const char *found = NULL;
	size_t i;

	for (i = 0; i < t->count; i++)
		if (same(t->list[i].text, token))
			found = t->list[i].name;
	return found;
}
