#include "config.h"

#include "verdict.h"

static const char *const names[] = {
#define X(name, text) text,
	VERDICT_LIST(X)
#undef X
};

const char *
verdict_name(enum verdict v)
{
	return v < VERDICT_COUNT ? names[v] : "internal";
}
