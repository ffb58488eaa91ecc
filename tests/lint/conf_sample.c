/* Prints what conf/adderd.conf has to be. */
#include "config.h"

#include <stdio.h>

#include "conf.h"

int
main(void)
{
	conf_sample(stdout);
	return fflush(stdout) == 0 ? 0 : 1;
}
