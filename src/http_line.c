#include "config.h"

#include <string.h>

#include "http_line.h"

int
http_line(const char *line, size_t len)
{
	size_t n = 0;

	while (n < len && line[n] >= 'A' && line[n] <= 'Z')
		n++;
	return n >= 3 && n < len && line[n] == ' ' &&
	    memmem(line + n, len - n, " HTTP/", 6) != NULL;
}
