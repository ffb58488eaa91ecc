#include "config.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "mem.h"

void *
xmalloc(size_t size)
{
	void *p = malloc(size == 0 ? 1 : size);

	if (p == NULL)
		fatalx("out of memory: %zu bytes", size);
	return p;
}

void *
xcalloc(size_t n, size_t size)
{
	void *p = calloc(n == 0 ? 1 : n, size == 0 ? 1 : size);

	if (p == NULL)
		fatalx("out of memory: %zu times %zu bytes", n, size);
	return p;
}

void *
xreallocarray(void *old, size_t n, size_t size)
{
	void *p;

	if (size != 0 && n > SIZE_MAX / size)
		fatalx("allocation too large: %zu times %zu bytes", n, size);
	p = realloc(old, n * size == 0 ? 1 : n * size);
	if (p == NULL)
		fatalx("out of memory: %zu bytes", n * size);
	return p;
}

char *
xstrdup(const char *s)
{
	return xmemdupz(s, strlen(s));
}

char *
xmemdupz(const void *data, size_t len)
{
	char *p = xmalloc(len + 1);

	if (len > 0)
		memcpy(p, data, len);
	p[len] = '\0';
	return p;
}

int
xvasprintf(char **out, const char *fmt, va_list ap)
{
	int n = vasprintf(out, fmt, ap);

	if (n == -1)
		fatalx("out of memory: formatting a string");
	return n;
}

int
xasprintf(char **out, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = xvasprintf(out, fmt, ap);
	va_end(ap);
	return n;
}
