#include "config.h"

#include "conf.h"
#include "dispatcher.h"
#include "mcp_private.h"
#include "probe.h"
#include "selftest.h"

static const char *const layer_states[] = {
	[JAIL_ABSENT] = "absent", [JAIL_HELD] = "enforced",
	[JAIL_UNNEEDED] = "not needed", [JAIL_OFF] = "switched off"
};

static const char *const check_states[] = {
	[SELFTEST_OPEN] = "open", [SELFTEST_HELD] = "held",
	[SELFTEST_BROKEN] = "broken"
};

static json_t *
layer_list(const struct jail_report *r)
{
	json_t *list = json_array(), *one;
	int i;

	for (i = 0; i < JAIL_LAYERS; i++) {
		enum jail_state state = r->layer[i].state;

		one = json_pack("{s:s, s:s}", "layer", jail_layer_name(i),
		    "state", layer_states[state]);
		if (state == JAIL_ABSENT || state == JAIL_OFF) {
			json_object_set_new(one, "reason",
			    json_string(jail_report_why(r, i)));
			json_object_set_new(one, "consequence",
			    json_string(jail_layer_absent(i)));
			json_object_set_new(one, "remedy",
			    json_string(jail_layer_remedy(i)));
		}
		json_array_append_new(list, one);
	}
	return list;
}

static json_t *
check_list(const struct selftest *t)
{
	json_t *list = json_array(), *one;
	int c;

	for (c = 0; t != NULL && c < SELFTEST_CHECKS; c++) {
		one = json_pack("{s:s, s:s, s:s}", "check", selftest_name(c),
		    "attempt", selftest_what(c),
		    "state", check_states[selftest_state(t, c)]);
		json_object_set_new(one, "detail",
		    json_string(selftest_detail(t, c)));
		json_array_append_new(list, one);
	}
	return list;
}

json_t *
mcp_doctor(struct request *r)
{
	const struct mcp *m = r->session->mcp;
	struct dispatcher_status st;

	dispatcher_status(m->dispatcher, &st);
	return json_pack("{s:s, s:s, s:s, s:b, s:o, s:i, s:o, s:s}",
	    "tier", jail_tier_name(jail_tier_of(jail_report_held(st.jail))),
	    "minimum", m->conf->sandbox_minimum,
	    "mode", m->conf->sandbox_mode,
	    "complete", st.ready && (m->selftest == NULL ||
	    selftest_complete(m->selftest)),
	    "layers", layer_list(st.jail),
	    "landlock_abi", st.jail->landlock_abi,
	    "checks", check_list(m->selftest),
	    "python", st.python);
}
