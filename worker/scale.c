#include "config.h"

#include "pycompat.h"

#include <string.h>

#include "image.h"
#include "interp.h"
#include "msg.h"
#include "policy.h"
#include "scale.h"

/* Room in an IMAGE for its other fields. */
#define PAYLOAD_ROOM	4096
/* Where the width of a PNG is, and after it the height (W3C, PNG, 11.2.2). */
#define PNG_WIDTH_AT	16
#define PNG_HEADER	24

static uint64_t	 side_max, bytes_max;
static PyObject	*last;			/* holds small */

static uint64_t
be32(const char *s)
{
	const unsigned char *u = (const unsigned char *)s;

	return (uint64_t)u[0] << 24 | u[1] << 16 | u[2] << 8 | u[3];
}

/* Whether it is a PNG that fits, as nearly all pictures are: then nothing of
 * Python is needed to see it. */
static int
is_fitting_png(struct slice data)
{
	return data.len >= PNG_HEADER && data.len <= bytes_max &&
	    memcmp(data.data, "\x89PNG\r\n\x1a\n", 8) == 0 &&
	    be32(data.data + PNG_WIDTH_AT) <= side_max &&
	    be32(data.data + PNG_WIDTH_AT + 4) <= side_max;
}

/* A reference to bytes; NULL where there is nothing to send. */
static PyObject *
fit(struct slice data)
{
	int restricted = policy_armed();
	PyObject *made;

	/* Our own work, whatever the program may do. */
	policy_arm(0);
	made = interp_call("scale", "fit", "(y#KK)", data.data,
	    (Py_ssize_t)data.len, (unsigned long long)side_max,
	    (unsigned long long)bytes_max);
	policy_arm(restricted);
	PyErr_Clear();
	if (made == NULL || !PyBytes_Check(made) || frame_rule(FRAME_IMAGE,
	    WORKER_TO_SERVER, data.len + PyBytes_GET_SIZE(made) +
	    PAYLOAD_ROOM) != NULL)
		Py_CLEAR(made);
	return made;
}

static void
on_image(struct msg_IMAGE *m)
{
	if (is_fitting_png(m->data))
		return;
	Py_XDECREF(last);
	last = fit(m->data);
	if (last != NULL) {
		m->small.data = PyBytes_AS_STRING(last);
		m->small.len = PyBytes_GET_SIZE(last);
	}
}

void
scale_begin(uint64_t side, uint64_t bytes)
{
	side_max = side;
	bytes_max = bytes;
	image_observe(side > 0 ? on_image : NULL);
}
