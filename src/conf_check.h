#ifndef ADDER_CONF_CHECK_H
#define ADDER_CONF_CHECK_H

#include <stddef.h>
#include <stdint.h>

struct conf;

/* The key list as data; fields are reached by their offset. */
enum conf_type { CONF_TYPE_STR, CONF_TYPE_UINT, CONF_TYPE_SIZE,
    CONF_TYPE_TIME, CONF_TYPE_BOOL };
enum conf_when { CONF_WHEN_RELOAD, CONF_WHEN_RESTART };

struct conf_key {
	const char	*name;
	const char	*def;
	const char	*help;
	enum conf_type	 type;
	enum conf_when	 when;
	uint64_t	 min, max;
	size_t		 offset;
};

extern const struct conf_key	conf_keys[];
extern const size_t		conf_nkeys;

/* NULL if there is no such key. */
const struct conf_key	*conf_key_find(const char *name);
/* What a value of this key has to look like: "a size from 64k to 64m"; the
 * text is in buf or static. */
const char	*conf_key_expects(const struct conf_key *, char *buf, size_t);
/* 0, or -1 if the text is no value of this key; *detail, if not NULL then,
 * is a static text that says more than conf_key_expects(). */
int		 conf_key_check(const struct conf_key *, const char *value,
		    const char **detail);
/* Stores a value that was checked. */
void		 conf_key_store(const struct conf_key *, struct conf *,
		    const char *value);
/* The value as a user would write it; the caller frees. */
char		*conf_key_format(const struct conf_key *,
		    const struct conf *);

#endif
