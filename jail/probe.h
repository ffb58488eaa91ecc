#ifndef ADDER_JAIL_PROBE_H
#define ADDER_JAIL_PROBE_H

#include "layers.h"

enum jail_state {
	JAIL_ABSENT,		/* tried and refused, error says why */
	JAIL_HELD,		/* tried, and it works */
	JAIL_UNNEEDED,		/* another layer makes it superfluous */
	JAIL_OFF		/* switched off for a test */
};

struct jail_report {
	struct {
		enum jail_state	 state;
		int		 error;		/* errno, 0 if none */
	} layer[JAIL_LAYERS];
	int	landlock_abi;
};

/*
 * Finds out what this kernel lets this process do, by trying each layer in
 * a child: on some systems a namespace can be made and is then useless.
 * without: layers that are not to be used; scratch: the directory for scratch
 * directories.  cgroup is left ABSENT; its owner fills it in.
 */
void	 jail_probe(jail_set without, unsigned uid_base,
	    const char *scratch, struct jail_report *);
/* Why a layer does not hold, in a few words; "" if it does. */
const char *jail_report_why(const struct jail_report *, enum jail_layer);
/* The layers that hold. */
jail_set jail_report_held(const struct jail_report *);
/*
 * One line: "strong (mount pid net ...) missing: cgroup (why)"; returns buf.
 */
char	*jail_report_line(const struct jail_report *, char *buf, size_t);
/* One line a layer, "name state error-number\n", as it travels in
 * KEEPER_READY; and back (-1 if it is no such text). */
char	*jail_report_format(const struct jail_report *, char *buf, size_t);
int	 jail_report_parse(const char *, size_t, struct jail_report *);

#endif
