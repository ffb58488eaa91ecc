#ifndef ADDER_UNITS_H
#define ADDER_UNITS_H

#include <stddef.h>
#include <stdint.h>

/* "64k", "512m", "2g" or plain bytes; powers of 1024.  -1 if it is not a
 * size or does not fit. */
int	size_parse(const char *, uint64_t *bytes);
/* "250ms", "5s", "2m", "1h" or "1d"; a plain number is seconds and may
 * have a fraction.  -1 if it is not a duration or does not fit. */
int	duration_parse(const char *, uint64_t *ms);
/* The shortest exact form that the parsers accept. */
void	size_format(uint64_t bytes, char *, size_t);
void	duration_format(uint64_t ms, char *, size_t);
/* For sentences: "512 MiB" or "1000 bytes"; "60 s" or "0.25 s".  Minutes
 * and megabytes do not look the same there. */
void	size_text(uint64_t bytes, char *, size_t);
void	duration_text(uint64_t ms, char *, size_t);

#endif
