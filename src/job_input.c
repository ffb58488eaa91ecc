#include "config.h"

#include <stdlib.h>

#include "channel.h"
#include "job_input.h"
#include "msg.h"

void
job_inputs_free(struct job_input *list, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		free(list[i].path);
		free(list[i].data);
	}
	free(list);
}

void
job_inputs_send(const struct job_spec *spec, struct channel *channel)
{
	struct msg_INPUT_FILE m;
	struct writer w;
	size_t i;

	for (i = 0; i < spec->ninputs; i++) {
		m.path = slice_of(spec->inputs[i].path);
		m.data.data = spec->inputs[i].data;
		m.data.len = spec->inputs[i].len;
		msg_encode_INPUT_FILE(&w, &m);
		channel_send(channel, &w);
	}
}
