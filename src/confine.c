#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "caps.h"
#include "conf.h"
#include "confine.h"
#include "confine_filter.h"
#include "landlock.h"
#include "log.h"
#include "mem.h"
#include "system_names.h"

static int
become_user(const char *name, char **why)
{
	uid_t uid;
	gid_t gid;

	if (geteuid() != 0 || name[0] == '\0')
		return 0;
	if (system_user(name, &uid, &gid, why) == -1)
		return -1;
	if (ids_become(uid, gid) == 0)
		return 0;
	xasprintf(why, "adderd cannot become user %s: %s.", name,
	    strerror(errno));
	return -1;
}

/* Only what a reload reads may still be opened, and what runs leave. */
static int
restrict_files(const char *conf, const char *tokens, const char *files)
{
	struct landlock_path paths[3];
	size_t n = 0;
	int ruleset, rv;

#ifdef __SANITIZE_ADDRESS__
	/* The leak check at the end reads /proc and traces this process. */
	return prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
#endif
	if (landlock_abi() == 0)
		return 0;	/* the report on the jail says so */
	if (conf != NULL)
		paths[n++] = (struct landlock_path){ conf, LANDLOCK_READ };
	if (tokens != NULL)
		paths[n++] = (struct landlock_path){ tokens, LANDLOCK_READ };
	if (files[0] != '\0')
		paths[n++] = (struct landlock_path){ files, LANDLOCK_WORK };
	ruleset = landlock_ruleset(paths, n);
	if (ruleset == -1)
		return -1;
	rv = landlock_restrict(ruleset);
	close(ruleset);
	return rv;
}

/* A file that is replaced by an edit is another file: its directory. */
static char *
directory_of(const char *file)
{
	char *path, *slash;

	if (file == NULL || file[0] == '\0')
		return NULL;
	path = realpath(file, NULL);
	if (path != NULL && (slash = strrchr(path, '/')) != NULL)
		slash[slash == path] = '\0';
	return path;
}

int
confine_server(const struct conf *conf, const char *conf_file, char **why)
{
	char *directory = directory_of(conf_file);
	char *tokens = directory_of(conf->http_token_file);
	const char *step = NULL;

	/* While it still may. */
	if (caps_drop_bounding(CAPS_ALL) == -1)
		step = "bounding";
	else if (become_user(conf->user, why) == -1) {
		free(directory);
		free(tokens);
		return -1;
	} else if (caps_set(0) == -1)
		step = "capabilities";
	else if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == -1)
		step = "no_new_privs";
	else if (restrict_files(directory, tokens, conf->files_dir) == -1)
		step = "landlock";
	else if (confine_filter_load(conf->files_dir[0] != '\0') == -1)
		step = "seccomp";
	free(directory);
	free(tokens);
	if (step == NULL)
		return 0;
	xasprintf(why, "adderd cannot give up its rights (%s): %s.", step,
	    strerror(errno));
	return -1;
}
