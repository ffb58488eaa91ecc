/*
 * Prints the lists of proto/ in the form in which tests/lint/protocol.sh
 * reads them from proto/PROTOCOL.md.
 */
#include "config.h"

#include <stdio.h>

#include "msg.h"
#include "verdict.h"

static const struct {
	unsigned	 dir;
	const char	*text;
} directions[] = {
	{ SERVER_TO_KEEPER, "adderd to keeper" },
	{ KEEPER_TO_SERVER, "keeper to adderd" },
	{ KEEPER_TO_ZYGOTE, "keeper to zygote" },
	{ ZYGOTE_TO_KEEPER, "zygote to keeper" },
	{ SERVER_TO_WORKER, "adderd to worker" },
	{ WORKER_TO_SERVER, "worker to adderd" },
	{ SERVER_TO_LEADER, "adderd to leader" },
	{ LEADER_TO_SERVER, "leader to adderd" },
};

static void
print_frame(const char *name, unsigned number, unsigned dirs, size_t max)
{
	const char *separator = "";
	size_t i;

	printf("frame|%s|%u|", name, number);
	for (i = 0; i < sizeof directions / sizeof directions[0]; i++) {
		if ((dirs & directions[i].dir) == 0)
			continue;
		printf("%s%s", separator, directions[i].text);
		separator = ", ";
	}
	if (max % MIB == 0)
		printf("|%zu MiB\n", max / MIB);
	else
		printf("|%zu KiB\n", max / KIB);
}

int
main(void)
{
	printf("version|%d\n", PROTO_VERSION);
	printf("control|%d|%d\n", CONTROL_FRAME_MAX, FRAME_FDS_MAX);
	printf("policy|%d isolated, %d restricted\n", POLICY_ISOLATED,
	    POLICY_RESTRICTED);
#define FIELD(kind, name)	"|" #name "|" #kind "\n"
#define F(kind, name)		printf("field|%s" FIELD(kind, name), frame);
#define X(T, num, dirs, max)						\
	{								\
		const char *frame = #T;					\
									\
		print_frame(frame, num, dirs, max);			\
		MSG_##T(F)						\
	}
	FRAME_LIST(X)
#undef X
#define X(field, key)	puts("limit|" #field "|limits." key);
	LIMIT_LIST(X)
#undef X
#define X(name, text)	puts("verdict|" text);
	VERDICT_LIST(X)
#undef X
	return 0;
}
