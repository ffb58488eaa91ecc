#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "log.h"

#define LINE_MAX_BYTES	2048

static const char	*log_program = "adder";
static enum log_level	 log_level = LOG_LEVEL_INFO;
static int		 log_fd = STDERR_FILENO;

static const char *const level_names[] = { "error", "warn", "info", "debug" };

void
log_init(const char *program, enum log_level level)
{
	log_program = program;
	log_level = level;
}

void
log_set_level(enum log_level level)
{
	log_level = level;
}

enum log_level
log_get_level(void)
{
	return log_level;
}

int
log_level_parse(const char *s, enum log_level *level)
{
	size_t i;

	for (i = 0; i < sizeof level_names / sizeof level_names[0]; i++)
		if (strcmp(s, level_names[i]) == 0) {
			*level = i;
			return 0;
		}
	return -1;
}

void
log_set_fd(int fd)
{
	log_fd = fd;
}

/* Appends text with control and non-ASCII bytes as \xNN; returns the end. */
static size_t
append_escaped(char *line, size_t at, const char *text, size_t len)
{
	size_t i;

	for (i = 0; i < len && at + 5 < LINE_MAX_BYTES; i++) {
		unsigned char c = text[i];

		if (c >= 0x20 && c < 0x7f)
			line[at++] = c;
		else
			at += snprintf(line + at, LINE_MAX_BYTES - at,
			    "\\x%02x", c);
	}
	return at;
}

static void
log_line(enum log_level level, const char *who, const char *text, size_t len)
{
	char line[LINE_MAX_BYTES];
	size_t at;

	if (level > log_level)
		return;
	at = snprintf(line, sizeof line, "%s %s[%ld] ", level_names[level],
	    who, (long)getpid());
	at = append_escaped(line, at, text, len);
	line[at++] = '\n';
	/* A log that cannot be written must not stop the program. */
	if (write(log_fd, line, at) == -1)
		return;
}

static void __attribute__((format(printf, 3, 0)))
log_format(enum log_level level, int err, const char *fmt, va_list ap)
{
	char text[LINE_MAX_BYTES];
	int n;

	if (level > log_level)
		return;
	n = vsnprintf(text, sizeof text, fmt, ap);
	if (n < 0)
		return;
	if ((size_t)n >= sizeof text)
		n = sizeof text - 1;
	if (err != 0) {
		int m = snprintf(text + n, sizeof text - n, ": %s",
		    strerror(err));

		n += m;
		if ((size_t)n >= sizeof text)
			n = sizeof text - 1;
	}
	log_line(level, log_program, text, n);
}

#define LOG_FUNCTION(name, level, err)			\
void							\
name(const char *fmt, ...)				\
{							\
	int saved = errno;				\
	va_list ap;					\
							\
	va_start(ap, fmt);				\
	log_format(level, (err) ? saved : 0, fmt, ap);	\
	va_end(ap);					\
	errno = saved;					\
}

LOG_FUNCTION(log_info, LOG_LEVEL_INFO, 0)
LOG_FUNCTION(log_debug, LOG_LEVEL_DEBUG, 0)
LOG_FUNCTION(log_warn, LOG_LEVEL_WARN, 1)
LOG_FUNCTION(log_warnx, LOG_LEVEL_WARN, 0)
LOG_FUNCTION(log_errorx, LOG_LEVEL_ERROR, 0)

void
fatal(const char *fmt, ...)
{
	int saved = errno;
	va_list ap;

	va_start(ap, fmt);
	log_format(LOG_LEVEL_ERROR, saved, fmt, ap);
	va_end(ap);
	exit(1);
}

void
fatalx(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	log_format(LOG_LEVEL_ERROR, 0, fmt, ap);
	va_end(ap);
	exit(1);
}

void
log_relay(const char *who, const char *line, size_t len)
{
	log_line(LOG_LEVEL_INFO, who, line, len);
}
