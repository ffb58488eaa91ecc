#ifndef ADDER_HTTP_LINE_H
#define ADDER_HTTP_LINE_H

#include <stddef.h>

/* Whether a line looks like the request line of HTTP (RFC 9112, section 3):
 * a method in capitals, a blank, and " HTTP/" further on. */
int	http_line(const char *, size_t);

#endif
