#include "config.h"

#include <string.h>

#include <jansson.h>

#include "conf.h"
#include "fuzz.h"
#include "log.h"
#include "peer.h"

struct conf *
fuzz_conf(const char **overrides)
{
	char *why = NULL;
	struct conf *conf = conf_load(NULL, overrides, &why);

	if (conf == NULL) {
		fprintf(stderr, "%s\n", why);
		abort();
	}
	/* Quiet: a million bad requests are not worth a line each. */
	log_init("fuzz", LOG_LEVEL_ERROR);
	return conf;
}

static void
check_one(const json_t *m)
{
	const json_t *id = json_object_get(m, "id");
	int result = json_object_get(m, "result") != NULL;
	int error = json_object_get(m, "error") != NULL;

	FUZZ_CHECK(json_is_object(m));
	FUZZ_CHECK(json_is_string(json_object_get(m, "jsonrpc")));
	FUZZ_CHECK(id == NULL || json_is_string(id) || json_is_integer(id));
	if (json_object_get(m, "method") != NULL) {
		FUZZ_CHECK(id == NULL && !result && !error);
		return;
	}
	FUZZ_CHECK(result != error && (id != NULL || error));
	FUZZ_CHECK(!error || json_is_integer(json_object_get(json_object_get(
	    m, "error"), "code")));
}

void
fuzz_check_message(const char *text, size_t len)
{
	const json_t *one;
	json_t *all;
	size_t i;

	for (i = 0; i < len; i++)
		FUZZ_CHECK(text[i] >= 0x20);
	all = json_loadb(text, len, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL,
	    NULL);
	FUZZ_CHECK(all != NULL);
	if (!json_is_array(all))
		check_one(all);
	json_array_foreach(all, i, one)
		check_one(one);
	json_decref(all);
}
