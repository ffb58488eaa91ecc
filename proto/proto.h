#ifndef ADDER_PROTO_H
#define ADDER_PROTO_H

/*
 * The one list of frames between adderd, keeper, zygote and worker.
 * proto/PROTOCOL.md is the normative text; a test compares the two.
 *
 * A frame is an 8-byte header (u32 payload length, u16 type, u16 zero, all
 * big-endian) and one msgpack map as payload.  Control links are
 * SOCK_SEQPACKET, one frame a packet, with descriptors as SCM_RIGHTS; the
 * job link of a worker is SOCK_STREAM, the session link of a session's leader
 * SOCK_SEQPACKET with descriptors.
 */
#define PROTO_VERSION		3
#define FRAME_HEADER_BYTES	8
/* Largest frame on a control link, header included. */
#define CONTROL_FRAME_MAX	(64 * 1024)
/* Descriptors that may travel with one frame. */
#define FRAME_FDS_MAX		4

/* Who may send a frame to whom: one bit a direction. */
enum frame_dir {
	SERVER_TO_KEEPER = 1 << 0,
	KEEPER_TO_SERVER = 1 << 1,
	KEEPER_TO_ZYGOTE = 1 << 2,
	ZYGOTE_TO_KEEPER = 1 << 3,
	SERVER_TO_WORKER = 1 << 4,
	WORKER_TO_SERVER = 1 << 5,
	SERVER_TO_LEADER = 1 << 6,
	LEADER_TO_SERVER = 1 << 7
};

#define KIB	1024u
#define MIB	(1024u * 1024u)

/* name, number, directions, largest payload in bytes.  Numbers are never
 * used again; a frame that is retired stays listed here in a comment.
 * STARTED 51: the job has begun (now told by the socket). */
#define FRAME_LIST(X)							\
	/* control: what adderd asks of the keeper */			\
	X(ZYGOTE_START,   10, SERVER_TO_KEEPER, 32 * KIB)		\
	X(ZYGOTE_STOP,    11, SERVER_TO_KEEPER, 1 * KIB)		\
	X(WORKER_FORK,    12, SERVER_TO_KEEPER | KEEPER_TO_ZYGOTE, 4 * KIB) \
	X(WORKER_KILL,    13, SERVER_TO_KEEPER, 1 * KIB)		\
	X(KEEPER_START,   14, SERVER_TO_KEEPER, 4 * KIB)		\
	X(SOCKET_REMOVE,  15, SERVER_TO_KEEPER, 4 * KIB)		\
	X(WORKER_LOOK,    16, SERVER_TO_KEEPER, 1 * KIB)		\
	X(ZYGOTE_FORK,    17, SERVER_TO_KEEPER | KEEPER_TO_ZYGOTE, 48 * KIB) \
	X(INSTALL_START,  18, SERVER_TO_KEEPER, 48 * KIB)		\
	X(INSTALL_STOP,   19, SERVER_TO_KEEPER, 1 * KIB)		\
	/* control: what happened */					\
	X(KEEPER_READY,   20, KEEPER_TO_SERVER, 8 * KIB)		\
	X(ZYGOTE_READY,   21, ZYGOTE_TO_KEEPER | KEEPER_TO_SERVER, 48 * KIB) \
	X(ZYGOTE_EXITED,  22, KEEPER_TO_SERVER, 1 * KIB)		\
	X(WORKER_FORKED,  23, ZYGOTE_TO_KEEPER | KEEPER_TO_SERVER, 1 * KIB) \
	X(WORKER_REFUSED, 24, ZYGOTE_TO_KEEPER | KEEPER_TO_SERVER, 4 * KIB) \
	X(WORKER_EXITED,  25, KEEPER_TO_SERVER, 1 * KIB)		\
	X(KEEPER_GONE,    26, KEEPER_TO_SERVER, 1 * KIB)		\
	X(WORKER_USES,    27, KEEPER_TO_SERVER, 1 * KIB)		\
	X(ZYGOTE_FORKED,  28, ZYGOTE_TO_KEEPER, 1 * KIB)		\
	X(INSTALL_EXITED, 29, KEEPER_TO_SERVER, 1 * KIB)		\
	/* job link */							\
	X(JOB,            40, SERVER_TO_WORKER, 64 * MIB)		\
	X(INPUT_FILE,     41, SERVER_TO_WORKER, 64 * MIB)		\
	X(PREFAULT,       42, SERVER_TO_WORKER, 1 * KIB)		\
	X(PARKED,         50, WORKER_TO_SERVER | LEADER_TO_SERVER, 1 * KIB) \
	X(VALUE,          52, WORKER_TO_SERVER, 1 * MIB)		\
	X(EXCEPTION,      53, WORKER_TO_SERVER, 1 * MIB)		\
	X(IMAGE,          54, WORKER_TO_SERVER, 16 * MIB)		\
	X(FILE,           55, WORKER_TO_SERVER, 16 * MIB)		\
	X(DONE,           56, WORKER_TO_SERVER, 1 * KIB)		\
	X(FILE_PART,      57, WORKER_TO_SERVER, 2 * MIB)		\
	X(PREFAULTED,     58, WORKER_TO_SERVER, 1 * KIB)		\
	/* session link */						\
	X(SESSION_CALL,   60, SERVER_TO_LEADER, 1 * KIB)		\
	X(SESSION_SETTLE, 61, SERVER_TO_LEADER, 1 * KIB)		\
	X(SESSION_BRANCH, 62, SERVER_TO_LEADER, 1 * KIB)		\
	X(SESSION_STOP,   63, SERVER_TO_LEADER, 1 * KIB)		\
	X(SESSION_BEGIN,  64, SERVER_TO_LEADER, 1 * KIB)		\
	X(SESSION_SETTLED, 70, LEADER_TO_SERVER, 1 * KIB)		\
	X(SESSION_BRANCHED, 71, LEADER_TO_SERVER, 1 * KIB)		\
	X(SESSION_LOST,   72, LEADER_TO_SERVER, 1 * KIB)

enum frame_type {
#define X(name, num, dirs, max) FRAME_##name = (num),
	FRAME_LIST(X)
#undef X
};

/* Descriptor numbers in a worker: fixed, reserved before Python starts. */
#define WORKER_FD_JOB		3	/* stream socket to adderd */
#define ZYGOTE_FD_CONTROL	3	/* packet socket to the keeper */
#define KEEPER_FD_CONTROL	3	/* packet socket to adderd */

/* What JOB calls code is this file of the scratch directory. */
#define PROGRAM_NAME		"main.py"

/* Exit status of a worker that could not be confined: it ran no job. */
#define WORKER_EXIT_SANDBOX	125

/* What became of the variables of a session in a call. */
enum session_fate { SESSION_NONE = 0, SESSION_KEPT = 1, SESSION_ROLLED_BACK = 2,
    SESSION_GONE = 3 };

/* How a job may run; see "policy" in adderd.conf(5). */
enum policy { POLICY_ISOLATED = 0, POLICY_RESTRICTED = 1 };

#endif
