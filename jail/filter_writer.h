#ifndef ADDER_JAIL_FILTER_WRITER_H
#define ADDER_JAIL_FILTER_WRITER_H

#include <linux/filter.h>

/*
 * Writes a cBPF program from its end: whatever an instruction leads to is
 * written before it, since cBPF only jumps forward.  Each function returns
 * where its instruction is, for those that lead to it.  After a failure, that
 * is, when the program gets longer than max, nothing counts.
 */
struct filter_writer {
	struct sock_filter	*last_first;
	unsigned		 n;
	unsigned		 max;
	int			 failed;
};

/* -1 with errno. */
int		 filter_writer_init(struct filter_writer *, unsigned max);
void		 filter_writer_free(struct filter_writer *);
unsigned	 filter_writer_fail(struct filter_writer *);
unsigned	 filter_writer_return(struct filter_writer *, __u32 value);
/* An instruction that is no jump, before another one. */
unsigned	 filter_writer_before(struct filter_writer *, __u16 code,
		    __u32 k, unsigned next);
unsigned	 filter_writer_branch(struct filter_writer *, __u16 code,
		    __u32 k, unsigned jt, unsigned jf);
/* The program from its beginning, the caller's to free; NULL with errno. */
struct sock_filter *filter_writer_finish(const struct filter_writer *);

#endif
