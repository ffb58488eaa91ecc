#include "config.h"

#include "limit.h"
#include "pack.h"

void
limits_pack(struct writer *w, const struct limits *lim)
{
	unsigned n = 0;

#define X(field, key) n++;
	LIMIT_LIST(X)
#undef X
	wr_map(w, n);
#define X(field, key) wr_key(w, #field); wr_u64(w, lim->field);
	LIMIT_LIST(X)
#undef X
}

void
limits_unpack(struct reader *r, const char *key, struct limits *lim)
{
	struct reader sub;

	rd_map(r, key, &sub);
#define X(field, k) lim->field = rd_u64(&sub, #field);
	LIMIT_LIST(X)
#undef X
	rd_end_sub(r, &sub);
}
