#ifndef ADDER_RMTREE_H
#define ADDER_RMTREE_H

/*
 * Removes the directory name below dirfd with everything in it.  Links are
 * removed, never followed, and depth costs neither descriptors nor stack:
 * what lies deeper is moved up first.  0, or -1 with errno if something is
 * left.
 */
int	rmtree_at(int dirfd, const char *name);

#endif
