#ifndef ADDER_CONF_H
#define ADDER_CONF_H

#include <stdint.h>
#include <stdio.h>

#include "conf_keys.h"

#define CONF_STR	char *
#define CONF_UINT	uint64_t
#define CONF_SIZE	uint64_t
#define CONF_TIME	uint64_t
#define CONF_BOOL	int

/* One loaded configuration: immutable and counted by reference, so that
 * jobs keep the one they started with when another is loaded. */
struct conf {
	unsigned	 refs;
	/* Always set: what @default stands for is filled in. */
#define X(field, type, key, def, min, max, when, help) CONF_##type field;
	CONF_LIST(X)
#undef X
};

/*
 * Defaults, then the file (NULL for none), then the "key=value" overrides
 * (NULL-terminated).  NULL if anything is wrong; *why (the caller's to
 * free) is then one sentence that names the place, the key, the value and
 * what is allowed.
 */
struct conf	*conf_load(const char *file, const char *const *overrides,
		    char **why);
struct conf	*conf_ref(struct conf *);
void		 conf_unref(struct conf **);
/* The effective configuration in the syntax of the file. */
void		 conf_dump(const struct conf *, FILE *);
/* Every key, commented out, with its help and default: conf/adderd.conf. */
void		 conf_sample(FILE *);
/* Whether next can take the place of now: -1 and a sentence in *why, to be
 * freed, on the first key that differs and that only a restart applies. */
int		 conf_check_reload(const struct conf *now,
		    const struct conf *next, char **why);

#endif
