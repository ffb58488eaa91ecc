#ifndef ADDER_MSG_H
#define ADDER_MSG_H

#include <stdint.h>

#include "frame.h"
#include "limit.h"
#include "pack.h"
#include "proto.h"

/*
 * The fields of each frame, once: struct, encoder and decoder are made from
 * these lists.  Kinds: U64, I64, BOOL, BIN (bytes or text), LIMITS.
 */
#define MSG_KEEPER_START(F)						\
	F(BIN, without)		/* layers not to be used, for tests */	\
	F(U64, uid_base)	/* first user id of workers */		\
	F(BIN, scratch)		/* holds the scratch directories */
#define MSG_SOCKET_REMOVE(F)						\
	F(BIN, path)							\
	F(U64, dev)		/* as from stat(2): */			\
	F(U64, ino)		/* what is to be removed */
#define MSG_ZYGOTE_START(F)						\
	F(U64, generation)						\
	F(BIN, path)		/* adder-zygote */			\
	F(BIN, python_env)	/* venv directory, "" for the system */	\
	F(BIN, modules)		/* import list, comma separated */	\
	F(BIN, warm_file)	/* program run once before forks, or "" */ \
	F(BIN, layers)		/* of the jail, comma separated */	\
	F(BIN, deps_dir)	/* holds environments, "" for none */	\
	F(U64, uid_base)	/* first user id of workers */		\
	F(BOOL, processes)	/* jobs may start processes */		\
	F(BOOL, compact)	/* join its mappings before it forks */	\
	F(BOOL, prefault)	/* find out what may be touched ahead */ \
	F(BOOL, debug)
#define MSG_ZYGOTE_STOP(F)						\
	F(U64, generation)
#define MSG_ZYGOTE_FORK(F)						\
	F(U64, generation)	/* of the zygote that forks */		\
	F(U64, child)		/* and of the one that is made */	\
	F(BIN, path)		/* the environment's directory */	\
	F(BIN, site)		/* its packages */			\
	F(BIN, modules)		/* import list, comma separated */	\
	F(BOOL, import)		/* they may be imported ahead */	\
	F(U64, memory)		/* bytes that this may take, 0: any */
#define MSG_INSTALL_START(F)						\
	F(U64, install)		/* never used twice */			\
	F(BIN, python_env)	/* venv directory, "" for the system */	\
	F(BIN, deps_dir)	/* holds environments */		\
	F(BIN, offline)		/* directory of wheels, "" for an index */ \
	F(BIN, ports)		/* TCP ports, comma separated */	\
	F(BIN, request)		/* JSON for the installer */		\
	F(BIN, layers)		/* of the jail, comma separated */	\
	F(U64, uid_base)	/* first user id of workers */		\
	F(U64, max_bytes)	/* of one file */			\
	F(BOOL, sdist)		/* packages may be built */
#define MSG_INSTALL_STOP(F)						\
	F(U64, install)
#define MSG_WORKER_FORK(F)						\
	F(U64, generation)						\
	F(U64, worker)		/* never used twice */			\
	F(BOOL, session)	/* to be the leader of a session */	\
	F(LIMITS, limits)
#define MSG_WORKER_KILL(F)						\
	F(U64, worker)
#define MSG_WORKER_LOOK(F)						\
	F(U64, worker)
#define MSG_WORKER_USES(F)						\
	F(U64, worker)							\
	F(U64, kills)		/* processes that its group ended */	\
	F(U64, memory)		/* bytes that its group holds, 0: unknown */
#define MSG_KEEPER_READY(F)						\
	F(U64, version)		/* PROTO_VERSION */			\
	F(BIN, report)		/* of the probe, a line a layer */	\
	F(BIN, cgroup)		/* where groups are made, or "" */
#define MSG_KEEPER_GONE(F)						\
	F(I64, status)		/* as from wait(2) */
#define MSG_ZYGOTE_READY(F)						\
	F(U64, generation)						\
	F(U64, pid)							\
	F(U64, import_ms)						\
	F(U64, rss_kib)							\
	F(BIN, python)		/* version */				\
	F(BIN, packages)	/* "name version\n" lines, sorted */	\
	F(BIN, layers)		/* of the jail that it has entered */	\
	F(BOOL, sessions)	/* they can be confined, too */
#define MSG_ZYGOTE_EXITED(F)						\
	F(U64, generation)						\
	F(I64, status)		/* as from wait(2) */
#define MSG_ZYGOTE_FORKED(F)						\
	F(U64, child)							\
	F(U64, pid)		/* 0: it could not be forked */
#define MSG_INSTALL_EXITED(F)						\
	F(U64, install)							\
	F(I64, status)		/* as from wait(2) */			\
	F(U64, error)		/* why it was not started: errno, or 0 */
#define MSG_WORKER_FORKED(F)						\
	F(U64, worker)							\
	F(U64, pid)
#define MSG_WORKER_REFUSED(F)						\
	F(U64, worker)							\
	F(BIN, reason)
#define MSG_WORKER_EXITED(F)						\
	F(U64, worker)							\
	F(I64, status)		/* as from wait(2) */			\
	F(U64, cpu_us)		/* user + system, children included */	\
	F(U64, peak_kib)	/* largest resident set */		\
	F(BOOL, oom)		/* the memory cgroup killed it */
#define MSG_JOB(F)							\
	F(BIN, code)							\
	F(BIN, stdin_data)						\
	F(U64, policy)							\
	F(LIMITS, limits)						\
	F(BOOL, live)		/* somebody reads the output meanwhile */ \
	F(U64, files_max)	/* files that may come back whole */	\
	F(U64, files_bytes)	/* and their bytes */			\
	F(U64, image_side)	/* pixels of a picture that is shown */	\
	F(U64, image_bytes)	/* and its bytes */
#define MSG_INPUT_FILE(F)						\
	F(BIN, path)		/* relative to the scratch directory */	\
	F(BIN, data)
#define MSG_PREFAULT(F)							\
	F(U64, pages)		/* at most, about */
#define MSG_PREFAULTED(F)						\
	F(U64, copied)		/* pages that are the worker's own now */ \
	F(BOOL, more)		/* there are further ones */
#define MSG_PARKED(F)							\
	F(U64, prepare_us)	/* fork to parked */			\
	F(U64, confine_us)	/* of that, entering the jail */
#define MSG_VALUE(F)							\
	F(BIN, text)		/* repr of the last expression */
#define MSG_EXCEPTION(F)						\
	F(BIN, type)		/* type name, qualified as Python prints it */ \
	F(BIN, message)							\
	F(BIN, traceback)	/* user frames only, with source lines */ \
	F(U64, line)		/* deepest line in user code, 0 if none */
#define MSG_IMAGE(F)							\
	F(BIN, mime)							\
	F(BIN, name)							\
	F(BIN, small)		/* a smaller picture of it, or "" */	\
	F(BIN, data)
#define MSG_FILE(F)							\
	F(BIN, path)		/* relative to the scratch directory */	\
	F(U64, size)							\
	F(BOOL, whole)		/* data holds all of it */		\
	F(BOOL, shown)		/* a picture that an IMAGE has had */	\
	F(BOOL, parts)		/* or its begin; FILE_PARTs follow */	\
	F(BIN, data)
#define MSG_FILE_PART(F)						\
	F(BIN, data)
#define MSG_DONE(F)							\
	F(I64, exit_code)						\
	F(BOOL, exited)		/* SystemExit, not the end of the code */ \
	F(U64, cpu_us)		/* the worker's own count */		\
	F(U64, peak_kib)						\
	F(BIN, denied)		/* call that the jail refused last, or "" */ \
	F(U64, files_left)	/* files that no frame has named */	\
	F(U64, signal)		/* that the program sent itself, 0 for none; \
				 * always the last */

#define MSG_SESSION_CALL(F)						\
	F(U64, state)		/* which of the leader's */		\
	F(U64, call)		/* never used twice */
#define MSG_SESSION_SETTLE(F)						\
	F(U64, call)							\
	F(BOOL, keep)		/* what the call made of the state */
#define MSG_SESSION_BRANCH(F)						\
	F(U64, state)		/* to start from */			\
	F(U64, branch)		/* the new one */
#define MSG_SESSION_STOP(F)						\
	F(U64, state)
#define MSG_SESSION_BEGIN(F)						\
	F(U64, version)
#define MSG_SESSION_SETTLED(F)						\
	F(U64, call)							\
	F(U64, fate)		/* enum session_fate */			\
	F(I64, status)		/* as from wait(2), -1 if it lives */	\
	F(U64, cpu_us)							\
	F(U64, peak_kib)	/* 0 if unknown */			\
	F(BOOL, threads)	/* threads live on in the state */
#define MSG_SESSION_BRANCHED(F)						\
	F(U64, branch)							\
	F(BOOL, made)							\
	F(BOOL, threads)	/* it was not, as threads go on */
#define MSG_SESSION_LOST(F)						\
	F(U64, state)							\
	F(I64, status)		/* as from wait(2) */

#define MSG_FIELD_U64(name)	uint64_t name;
#define MSG_FIELD_I64(name)	int64_t name;
#define MSG_FIELD_BOOL(name)	int name;
#define MSG_FIELD_BIN(name)	struct slice name;
#define MSG_FIELD_LIMITS(name)	struct limits name;
#define MSG_FIELD(kind, name)	MSG_FIELD_##kind(name)

/*
 * struct msg_JOB and so on; slices of a decoded message point into the
 * frame.  msg_encode_X appends a whole frame, header included, to a new
 * writer (the caller frees it with wr_free); it cannot fail.
 * msg_decode_X: 0, or -1 with why (at least 96 bytes) filled in.
 */
#define X(T, num, dirs, max)						\
	struct msg_##T { MSG_##T(MSG_FIELD) };			\
	void	msg_encode_##T(struct writer *,			\
		    const struct msg_##T *);				\
	int	msg_decode_##T(const struct frame *,			\
		    struct msg_##T *, char *why);
FRAME_LIST(X)
#undef X

#define MSG_WHY_BYTES	96

#endif
