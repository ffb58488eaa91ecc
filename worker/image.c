#include "config.h"

#include "image.h"
#include "workerio.h"

static void	(*observer)(struct msg_IMAGE *);

void
image_observe(void (*call)(struct msg_IMAGE *))
{
	observer = call;
}

int
image_send(struct msg_IMAGE *m)
{
	m->small = slice_of("");
	/* A child that the program forked draws for itself alone. */
	if (observer != NULL && workerio_is_owner())
		observer(m);
	return workerio_IMAGE(m);
}
