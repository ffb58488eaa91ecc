#include "config.h"

#include <sys/stat.h>

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "conf.h"
#include "conf_check.h"
#include "conf_file.h"
#include "log.h"
#include "mem.h"
#include "units.h"

/* Where a value came from, so that an error can say so. */
struct origin {
	enum { FROM_DEFAULT, FROM_FILE, FROM_OPTION } from;
	int	line;
};

struct loader {
	const char	*file;
	struct conf	*conf;
	struct origin	*origins;	/* one for each key */
	char		*why;
};

/* Below, workers may not even start. */
#define MEMORY_SENSIBLE	(16 * 1024 * 1024)

/* What follows a load that succeeded is a reload. */
static int loaded_once;

/* A copy of a value for a message: printable and not too long. */
static char *
shown(const char *value)
{
	size_t i, len = strlen(value);
	char *s;

	if (len > 100)
		xasprintf(&s, "%.100s...", value);
	else
		s = xstrdup(value);
	for (i = 0; s[i] != '\0'; i++)
		if (!isprint((unsigned char)s[i]))
			s[i] = '?';
	return s;
}

static int
fail(struct loader *l, const struct conf_key *k, const char *value,
    const char *message)
{
	const struct origin *o = &l->origins[k - conf_keys];
	char *text = shown(value);

	if (o->from == FROM_FILE)
		xasprintf(&l->why, "%s:%d: %s is \"%s\", but %s", l->file,
		    o->line, k->name, text, message);
	else
		xasprintf(&l->why, "%s%s is \"%s\", but %s",
		    o->from == FROM_OPTION ? "-o: " : "", k->name, text,
		    message);
	free(text);
	return -1;
}

static int
set_key(struct loader *l, const struct conf_key *k, const char *value)
{
	const char *detail;
	char expects[128], message[160];

	if (conf_key_check(k, value, &detail) == -1) {
		if (detail != NULL)
			return fail(l, k, value, detail);
		snprintf(message, sizeof message, "it must be %s",
		    conf_key_expects(k, expects, sizeof expects));
		return fail(l, k, value, message);
	}
	conf_key_store(k, l->conf, value);
	return 0;
}

static int
set_from_file(void *arg, const char *name, const char *value, int line)
{
	struct loader *l = arg;
	const struct conf_key *k = conf_key_find(name);

	l->origins[k - conf_keys] = (struct origin){ FROM_FILE, line };
	return set_key(l, k, value);
}

static int
set_from_option(struct loader *l, const char *text)
{
	const char *equals = strchr(text, '=');
	const struct conf_key *k = NULL;
	char *name;

	if (equals == NULL) {
		xasprintf(&l->why, "-o: \"%s\" is not of the form key=value",
		    text);
		return -1;
	}
	name = xmemdupz(text, equals - text);
	k = conf_key_find(name);
	if (k == NULL)
		xasprintf(&l->why, "-o: there is no key \"%s\"; adderd -T "
		    "lists the keys", name);
	free(name);
	if (k == NULL)
		return -1;
	l->origins[k - conf_keys] = (struct origin){ FROM_OPTION, 0 };
	return set_key(l, k, equals + 1);
}

static const struct conf_key *
key_of(const void *field, const struct conf *c)
{
	size_t i, offset = (const char *)field - (const char *)c;

	for (i = 0; i < conf_nkeys; i++)
		if (conf_keys[i].offset == offset)
			return &conf_keys[i];
	abort();
}

static void
replace(char **field, char *value)
{
	free(*field);
	*field = value;
}

/* Processes that are started later may have another working directory. */
static void
make_absolute(char **field)
{
	char cwd[PATH_MAX], *path;

	if ((*field)[0] == '\0' || (*field)[0] == '/' ||
	    getcwd(cwd, sizeof cwd) == NULL)
		return;
	xasprintf(&path, "%s/%s", cwd, *field);
	replace(field, path);
}

/*
 * Whether this process may not look at path any more: a reload comes after
 * adderd gave up its rights, and the keeper, which did not, uses the path.
 */
static int
hidden(const char *path)
{
	struct stat st;

	return loaded_once && lstat(path, &st) == -1 && errno == EACCES;
}

static int
resolve_zygote(struct loader *l, char **field)
{
	char exe[PATH_MAX], *slash, *path;
	ssize_t n;

	if (strcmp(*field, "@default") != 0) {
		make_absolute(field);
		if (access(*field, X_OK) == 0 || hidden(*field))
			return 0;
		return fail(l, key_of(field, l->conf), *field,
		    "no program can be executed there");
	}
	n = readlink("/proc/self/exe", exe, sizeof exe - 1);
	exe[n == -1 ? 0 : n] = '\0';
	if ((slash = strrchr(exe, '/')) != NULL)
		*slash = '\0';
	xasprintf(&path, "%s/adder-zygote", exe);
	if (access(path, X_OK) == -1 && !hidden(path)) {
		free(path);
		path = xstrdup(ADDER_LIBEXECDIR "/adder-zygote");
	}
	replace(field, path);
	return 0;
}

static int
resolve_python(struct loader *l, char **field)
{
	char *marker;
	int rv;

	if (strcmp(*field, "@default") == 0)
		replace(field, xstrdup(ADDER_PYTHON_ENV));
	if (strcmp(*field, "system") == 0)
		replace(field, xstrdup(""));
	if ((*field)[0] == '\0')
		return 0;
	make_absolute(field);
	xasprintf(&marker, "%s/pyvenv.cfg", *field);
	rv = access(marker, R_OK) == 0 || hidden(marker);
	free(marker);
	if (!rv)
		return fail(l, key_of(field, l->conf), *field,
		    "that is not a Python virtual environment: it has no "
		    "pyvenv.cfg (system means the distribution's packages)");
	return 0;
}

static int
resolve_path(struct loader *l, char **field, mode_t type, const char *message)
{
	struct stat st;

	if ((*field)[0] == '\0')
		return 0;
	make_absolute(field);
	if ((stat(*field, &st) == 0 && (st.st_mode & S_IFMT) == type) ||
	    hidden(*field))
		return 0;
	return fail(l, key_of(field, l->conf), *field, message);
}

static int
resolve_scratch(struct loader *l, char **field)
{
	const char *tmp = getenv("TMPDIR");

	if (strcmp(*field, "@default") == 0)
		replace(field, xstrdup(tmp != NULL && tmp[0] == '/' ? tmp :
		    "/tmp"));
	return resolve_path(l, field, S_IFDIR, "there is no such directory");
}

/* Asked once: a reload comes after adderd gave up being root, and its default
 * is that of the start. */
static int
started_as_root(void)
{
	static int root = -1;

	if (root == -1)
		root = geteuid() == 0;
	return root;
}

/* The usual place of caches; nowhere if there is no home. */
static void
resolve_deps(struct conf *c)
{
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	char *path = NULL;

	if (strcmp(c->deps_dir, "@default") == 0) {
		if (started_as_root())
			path = xstrdup("/var/cache/adder");
		else if (cache != NULL && cache[0] == '/')
			xasprintf(&path, "%s/adder", cache);
		else if (home != NULL && home[0] == '/')
			xasprintf(&path, "%s/.cache/adder", home);
		else
			path = xstrdup("");
		replace(&c->deps_dir, path);
	}
	make_absolute(&c->deps_dir);
}

/* Keys that bound each other: a default gives way, a written one is an
 * error. */
static int
resolve_bound(struct loader *l, uint64_t *field, uint64_t *bound)
{
	const struct conf_key *k = key_of(field, l->conf);
	const struct conf_key *b = key_of(bound, l->conf);
	char *value, *most, *message;

	if (*field <= *bound)
		return 0;
	if (l->origins[k - conf_keys].from == FROM_DEFAULT) {
		*field = *bound;
		return 0;
	}
	value = conf_key_format(k, l->conf);
	most = conf_key_format(b, l->conf);
	xasprintf(&message, "it must not be above %s, which is %s", b->name,
	    most);
	fail(l, k, value, message);
	free(message);
	free(most);
	free(value);
	return -1;
}

/* What is allowed but is hardly meant; each start and reload says it. */
static void
warn(const struct loader *l)
{
	const struct conf *c = l->conf;
	const struct conf_key *k = key_of(&c->pool_warm, c);

	if (c->limits_memory > 0 && c->limits_memory < MEMORY_SENSIBLE)
		log_warnx("limits.memory is %llu bytes, less than the 16 MiB "
		    "that a worker may need before it runs a program",
		    (unsigned long long)c->limits_memory);
	if (c->pool_warm > c->pool_max &&
	    l->origins[k - conf_keys].from != FROM_DEFAULT)
		log_warnx("pool.warm is %llu, more than pool.max, which is "
		    "%llu: workers are kept ready that cannot run at once",
		    (unsigned long long)c->pool_warm,
		    (unsigned long long)c->pool_max);
}

static int
resolve(struct loader *l)
{
	struct conf *c = l->conf;

	warn(l);
	if (resolve_bound(l, &c->limits_timeout,
	    &c->limits_timeout_max) == -1)
		return -1;
	if (resolve_zygote(l, &c->zygote_path) == -1 ||
	    resolve_python(l, &c->python_env) == -1)
		return -1;
	make_absolute(&c->http_token_file);
	if (resolve_path(l, &c->zygote_warm_file, S_IFREG,
	    "there is no such file") == -1)
		return -1;
	resolve_deps(c);
	if (resolve_path(l, &c->deps_offline, S_IFDIR,
	    "there is no such directory") == -1)
		return -1;
	return resolve_scratch(l, &c->scratch_dir);
}

static int
load(struct loader *l, const char *const *overrides)
{
	size_t i;

	for (i = 0; i < conf_nkeys; i++)
		if (set_key(l, &conf_keys[i], conf_keys[i].def) == -1)
			return -1;
	if (l->file != NULL) {
		char *why;

		if (conf_file_read(l->file, loaded_once, set_from_file, l,
		    &why) == -1) {
			if (l->why == NULL)
				l->why = why;
			return -1;
		}
	}
	for (; overrides != NULL && *overrides != NULL; overrides++)
		if (set_from_option(l, *overrides) == -1)
			return -1;
	return resolve(l);
}

struct conf *
conf_load(const char *file, const char *const *overrides, char **why)
{
	struct loader l = { .file = file };

	l.conf = xcalloc(1, sizeof *l.conf);
	l.conf->refs = 1;
	l.origins = xcalloc(conf_nkeys, sizeof *l.origins);
	if (load(&l, overrides) == -1)
		conf_unref(&l.conf);
	else
		loaded_once = 1;
	free(l.origins);
	*why = l.why;
	return l.conf;
}

struct conf *
conf_ref(struct conf *c)
{
	c->refs++;
	return c;
}

void
conf_unref(struct conf **cp)
{
	struct conf *c = *cp;
	size_t i;

	*cp = NULL;
	if (c == NULL || --c->refs > 0)
		return;
	for (i = 0; i < conf_nkeys; i++)
		if (conf_keys[i].type == CONF_TYPE_STR)
			free(*(char **)((char *)c + conf_keys[i].offset));
	free(c);
}

int
conf_check_reload(const struct conf *now, const struct conf *next, char **why)
{
	size_t i;

	*why = NULL;
	for (i = 0; *why == NULL && i < conf_nkeys; i++) {
		const struct conf_key *k = &conf_keys[i];
		char *was, *is;

		if (k->when != CONF_WHEN_RESTART)
			continue;
		was = conf_key_format(k, now);
		is = conf_key_format(k, next);
		if (strcmp(was, is) != 0)
			xasprintf(why, "%s was \"%s\" at the start and is "
			    "\"%s\" now, which only a restart applies",
			    k->name, was, is);
		free(was);
		free(is);
	}
	return *why == NULL ? 0 : -1;
}
