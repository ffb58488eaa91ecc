#ifndef ADDER_ZYGOTE_EARLY_H
#define ADDER_ZYGOTE_EARLY_H

#include <stdint.h>
#include <sys/types.h>

struct zygote_options;

/*
 * An early zygote: a fork of one that has imported its modules but is not
 * warm.  It leaves the warm-up and the compaction out, and serves until the
 * one that it was forked from takes over; whatever happens in either of them
 * from here on does not reach the other.
 *
 * Looks, without waiting, whether the keeper has asked for one (ZYGOTE_FORK
 * without an environment).  Returns twice then: the given options, and in the
 * fork, which has its own control socket and log, options of its own with
 * early set.  A fork that fails is logged and left out.
 */
const struct zygote_options *zygote_early_fork(const struct zygote_options *);
/* Answers ZYGOTE_FORK; pid 0: there is none.  Closes pidfd.  -1 if the keeper
 * is gone. */
int	zygote_say_forked(uint64_t child, pid_t, int pidfd);

#endif
