#ifndef ADDER_JSON_REPAIR_H
#define ADDER_JSON_REPAIR_H

#include <stddef.h>

#include <jansson.h>

/*
 * Some JSON is valid but refused by jansson: escapes of lone surrogates
 * (JavaScript clients send them), integers beyond 64 bits, numbers beyond
 * double.  A repaired copy says nearly the same in a way that it takes:
 * U+FFFD, the number as a real, the largest double.
 */
struct json_repair {
	char		*text;		/* the caller frees */
	size_t		 len;
	int		 changed;
	/* The value of the "id" of an object on the top level, as far as the
	 * text could be followed; points into text, NULL if none was seen. */
	const char	*id;
	size_t		 id_len;
};

/* Never fails: what cannot be followed is copied. */
void	json_repair(const char *, size_t len, struct json_repair *);

/* json_loadb(3), with the error of the text as it came, that takes all of valid
 * JSON but for what the flags refuse. */
json_t	*json_load(const char *, size_t len, size_t flags, json_error_t *);

#endif
