#include "config.h"

#include <sys/stat.h>

#include <confuse.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "conf.h"
#include "conf_file.h"
#include "fdutil.h"
#include "mem.h"

#define CONF_FILE_MAX	(1024 * 1024)

/* libconfuse hands no argument to its callbacks. */
static struct {
	const char	 *path;
	int		(*set)(void *, const char *, const char *, int);
	void		 *arg;
	int		  stopped;
	char		**why;
} reading;

static void __attribute__((format(printf, 2, 0)))
on_error(cfg_t *cfg, const char *fmt, va_list ap)
{
	const char *advice = "";
	char *text;

	/* Only the first error, and none that follows from a refusal. */
	if (*reading.why != NULL || reading.stopped)
		return;
	xvasprintf(&text, fmt, ap);
	if (strncmp(fmt, "no such option", 14) == 0)
		advice = "; adderd -T lists the keys";
	else if (strncmp(fmt, "unexpected token", 16) == 0)
		advice = "; put a value that has commas, braces or spaces in "
		    "double quotes";
	else if (strncmp(fmt, "premature end", 13) == 0)
		advice = "; a value or a closing quote is missing";
	xasprintf(reading.why, "%s:%d: %s%s", reading.path, cfg->line, text,
	    advice);
	free(text);
}

static int
on_value(cfg_t *cfg, cfg_opt_t *opt)
{
	const char *value = cfg_opt_getnstr(opt, cfg_opt_size(opt) - 1);

	if (reading.set(reading.arg, opt->name, value == NULL ? "" : value,
	    cfg->line) == -1) {
		reading.stopped = 1;
		return -1;
	}
	return 0;
}

/*
 * Replaces comments by blanks, by the lexer's own rules.  libconfuse 3.3
 * counts a comment as three lines, and then names a wrong one in errors.  0, or
 * the line of a comment that has no end, which the lexer would let take the
 * rest of the file.
 */
static int
blank_comments(char *s)
{
	char quote = '\0', before = ' ';
	int line = 1;

	for (; *s != '\0'; before = *s++) {
		line += *s == '\n';
		if (quote != '\0') {
			if (*s == '\\' && s[1] != '\0')
				s++;
			else if (*s == quote)
				quote = '\0';
		} else if (*s == '"' || *s == '\'') {
			quote = *s;
		} else if (*s == '#' || (strchr(" \t\n=", before) != NULL &&
		    s[0] == '/' && s[1] == '/')) {
			while (*s != '\n' && *s != '\0')
				*s++ = ' ';
			if (*s == '\0')
				return 0;
			line++;
		} else if (strchr(" \t\n=", before) != NULL && s[0] == '/' &&
		    s[1] == '*') {
			char *end = strstr(s + 2, "*/");

			if (end == NULL)
				return line;
			for (; s != end; s++)
				if (*s != '\n')
					*s = ' ';
				else
					line++;
			s[0] = s[1] = ' ';
		}
	}
	return 0;
}

/* The text of the file, comments blanked; NULL with *why. */
static char *
slurp(const char *path, int again, char **why)
{
	char *text = xmalloc(CONF_FILE_MAX + 1);
	const char *trouble = NULL;
	ssize_t n = 0, len = 0;
	struct stat st;
	int fd, line;

	/* What it is, is looked at before it can hold us up. */
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY |
	    (again ? O_NONBLOCK : 0));
	if (fd == -1 || fstat(fd, &st) == -1)
		trouble = strerror(errno);
	else if (S_ISDIR(st.st_mode))
		trouble = "it is a directory, not a file";
	else if (again && S_ISFIFO(st.st_mode))
		trouble = "it is a pipe, which is read at the start only";
	else {
		while (len < CONF_FILE_MAX && (n = read(fd, text + len,
		    CONF_FILE_MAX - len)) > 0)
			len += n;
		text[len] = '\0';
		if (n == -1)
			trouble = strerror(errno);
		else if (len == CONF_FILE_MAX)
			trouble = "it is longer than 1 MiB";
		else if (strlen(text) != (size_t)len)
			trouble = "it is not a text file";
	}
	fd_close(&fd);
	if (trouble != NULL) {
		xasprintf(why, "cannot read the configuration %s: %s", path,
		    trouble);
		free(text);
		return NULL;
	}
	if ((line = blank_comments(text)) == 0)
		return text;
	xasprintf(why, "%s:%d: the comment that begins here has no end", path,
	    line);
	free(text);
	return NULL;
}

int
conf_file_read(const char *path, int again, int (*set)(void *, const char *,
    const char *, int), void *arg, char **why)
{
	cfg_opt_t opts[] = {
#define X(field, type, key, def, min, max, when, help)			\
		CFG_STR(key, "", CFGF_NONE),
		CONF_LIST(X)
#undef X
		CFG_END()
	};
	size_t i;
	char *text;
	cfg_t *cfg;
	int rv;

	*why = NULL;
	if ((text = slurp(path, again, why)) == NULL)
		return -1;
	reading.path = path;
	reading.set = set;
	reading.arg = arg;
	reading.stopped = 0;
	reading.why = why;
	cfg = cfg_init(opts, CFGF_NONE);
	cfg_set_error_function(cfg, on_error);
	for (i = 0; opts[i].name != NULL; i++)
		cfg_set_validate_func(cfg, opts[i].name, on_value);
	rv = cfg_parse_buf(cfg, text);
	if (rv != CFG_SUCCESS && *why == NULL && !reading.stopped)
		xasprintf(why, "%s: cannot be parsed", path);
	cfg_free(cfg);
	free(text);
	return rv == CFG_SUCCESS ? 0 : -1;
}
