#ifndef ADDER_POLICY_NAME_H
#define ADDER_POLICY_NAME_H

#include "proto.h"

/* -1 if it is no policy's name. */
int	policy_parse(const char *, enum policy *);

#endif
