#ifndef ADDER_TOOL_H
#define ADDER_TOOL_H

#include <stddef.h>

#include <jansson.h>

#include "job.h"

struct conf;
struct dispatcher;
struct run_store;
struct sandboxes;

/* One argument of a tool.  The schema that clients see and the check of
 * what they send are both made from it, so they cannot disagree. */
enum tool_type { TOOL_STRING, TOOL_NUMBER, TOOL_STRINGS, TOOL_FILES };

struct tool_param {
	const char	*name;
	enum tool_type	 type;
	int		 required;
	const char	*help;
};

/* What calling a tool leads to. */
enum tool_outcome {
	TOOL_ANSWER,	/* result is the answer */
	TOOL_JOB,	/* spec is to be run, its result is the answer */
	TOOL_WAIT	/* nothing yet: call again a little later */
};

struct tool_call {
	/* In. */
	const struct conf	*conf;
	const struct dispatcher	*dispatcher;
	struct run_store	*store;	/* NULL where nothing is kept */
	json_t			*args;	/* checked: known, well typed */
	enum policy		 policy; /* the least that is applied */
	struct sandboxes	*sandboxes;	/* the sessions, */
	const char		*owner;	/* and whose may be used */
	/* Out. */
	json_t			*result;
	struct job_spec		 spec;	/* but for principal */
	char			*note;	/* NULL, or a sentence for the answer,
					 * the caller's to free */
};

struct tool {
	const char		*name;
	const struct tool_param	*params;
	size_t			 nparams;
	/* As tools/list shows it, without name and inputSchema. */
	json_t			*(*describe)(const struct conf *);
	enum tool_outcome	(*call)(struct tool_call *);
	int			compat;	/* only with compat.tools */
	int			session;	/* only with sessions.max */
};

extern const struct tool	tool_run_python;
extern const struct tool	tool_list_packages;
extern const struct tool	tool_read_file;
extern const struct tool	tool_sandbox_initialize;
extern const struct tool	tool_sandbox_stop;
extern const struct tool	tool_sandbox_fork;
extern const struct tool	tool_ephemeral;
extern const struct tool	tool_execute;

/* NULL if there is none of this name. */
const struct tool *tool_find(const struct conf *, const char *name);
/* The array of tools/list, in a stable order. */
json_t	*tool_list(const struct conf *);
/* Arguments for tool_check(), a new reference: with compat.tools those that
 * other servers name otherwise have our names. */
json_t	*tool_compat_args(const struct conf *, const struct tool *,
	    json_t *args);
/*
 * Checks arguments (an object, or NULL for none): null counts as absent,
 * numbers may come as strings.  The new object has only what is there, in
 * its right type; NULL with *why (the caller's to free) if something is
 * wrong.
 */
json_t	*tool_check(const struct tool *, const json_t *args, char **why);
/* The files of a call, as the argument files has them (NULL for none): *list
 * and *n are the caller's.  NULL, or what is wrong, the caller's to free. */
char	*tool_files(const struct conf *, const json_t *files,
	    struct job_input **list, size_t *n);
/* run_python with code and timeout (NULL if not given): a job, or an answer. */
enum tool_outcome	tool_run_code(struct tool_call *, const json_t *code,
	    const json_t *timeout, const json_t *input);
/* Puts the session that a call names (NULL for none) into its spec, and its
 * policy; policy_named: the call has asked for one.  NULL, or what is wrong,
 * the caller's to free. */
char	*tool_session(struct tool_call *, const json_t *id,
	    int policy_named);
/* Why no packages can be had, the caller's to free; NULL if they can. */
char	*tool_no_packages(const struct conf *, enum policy);
/* The member annotations: all four hints, as some clients ask for approval
 * of a tool that lacks one. */
json_t	*tool_annotations(const char *title, int read_only, int idempotent);

#endif
