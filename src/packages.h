#ifndef ADDER_PACKAGES_H
#define ADDER_PACKAGES_H

#include <stddef.h>

#include <jansson.h>

/*
 * What a call asks for: requirement strings and script metadata (PEP 723) as
 * one line of JSON, {"requirements": [...], "script": "..."}.  adderd only
 * passes it on: the installer parses it.
 */

#define PACKAGES_MAX		64		/* requirements a call */
#define PACKAGES_BYTES_MAX	(16 * 1024)	/* of all of them */

/* NULL, without *why, if nothing is asked for: list is an array of strings or
 * NULL, code the program.  NULL with *why, a sentence the caller frees, if it
 * is too much.  The caller frees. */
char	*packages_of(const json_t *list, const char *code, size_t len,
	    char **why);
/* Whether a list asks for what such a line does, in any order. */
int	 packages_are(const json_t *list, const char *packages);
/* The requirements of such a line, as JSON; the caller frees. */
char	*packages_text(const char *packages);

#endif
