#include "config.h"

#include <grp.h>
#include <pwd.h>
#include <unistd.h>

#include "conf.h"
#include "mem.h"
#include "system_names.h"

int
system_user(const char *name, uid_t *uid, gid_t *gid, char **why)
{
	const struct passwd *pw = getpwnam(name);

	if (pw == NULL) {
		xasprintf(why, "user is %s, but there is no such user; name "
		    "one that has nothing else to do.", name);
		return -1;
	}
	*uid = pw->pw_uid;
	*gid = pw->pw_gid;
	return 0;
}

int
system_group(const char *name, gid_t *gid, char **why)
{
	const struct group *gr = getgrnam(name);

	if (gr == NULL) {
		xasprintf(why, "listen.unix_group is %s, but there is no such "
		    "group; name that of the socket's clients.", name);
		return -1;
	}
	*gid = gr->gr_gid;
	return 0;
}

int
system_names_check(const struct conf *conf, char **why)
{
	uid_t uid;
	gid_t gid;

	/* Only root becomes another user. */
	if (geteuid() == 0 && conf->user[0] != '\0' &&
	    system_user(conf->user, &uid, &gid, why) == -1)
		return -1;
	return conf->listen_unix_group[0] == '\0' ||
	    conf->listen_unix[0] == '\0' ? 0 :
	    system_group(conf->listen_unix_group, &gid, why);
}
