#include "config.h"

#include "conf.h"
#include "dispatcher.h"
#include "file_dir.h"
#include "mcp.h"
#include "server_private.h"

/* files.dir: opened while adderd has its rights, read with those it keeps. */

int
server_files_open(struct server *s, char **why)
{
	if (s->conf->files_dir[0] == '\0')
		return 0;
	s->files = file_dir_open(s->conf->files_dir, s->conf->user, why);
	return s->files == NULL ? -1 : 0;
}

int
server_files_load(struct server *s, char **why)
{
	if (s->files == NULL)
		return 0;
	if (file_dir_load(s->files, why) == -1)
		return -1;
	server_files_set_conf(s);
	dispatcher_keep_files(s->dispatcher, s->files);
	mcp_set_files(s->mcp, s->files);
	return 0;
}

void
server_files_set_conf(struct server *s)
{
	const struct file_bounds bounds = {
		.quota = s->conf->files_quota,
		.age_ms = s->conf->files_age,
		.run_bytes = s->conf->files_run_bytes,
		.run_files = s->conf->files_run_files
	};

	if (s->files != NULL)
		file_dir_bound(s->files, &bounds);
}

void
server_files_free(struct server *s)
{
	file_dir_free(&s->files);
}
