#ifndef ADDER_CONF_KEYS_H
#define ADDER_CONF_KEYS_H

/*
 * Every configuration key, once.  The parser, -T, conf/adderd.conf and the
 * key table of adderd.conf(5) come from this list or are tested against it.
 *
 * X(field, TYPE, key, default, min, max, when, help)
 * TYPE: STR (char *), UINT (uint64_t), SIZE (bytes), TIME (milliseconds),
 *       BOOL (int).  Defaults are written as a user writes them.
 * when: RELOAD (a SIGHUP applies it) or RESTART.
 */
#define CONF_PUBLIC_LIST(X)						\
X(listen_unix, STR, "listen.unix", "", 0, 0, RESTART,			\
  "Path of the Unix socket that MCP clients and adderctl connect to; empty for none.") \
X(listen_unix_mode, STR, "listen.unix_mode", "0660", 0, 0, RESTART,	\
  "Permissions of the Unix socket, octal.")				\
X(listen_unix_group, STR, "listen.unix_group", "", 0, 0, RESTART,	\
  "Group that owns the Unix socket; empty to leave it alone.")		\
X(listen_tcp, STR, "listen.tcp", "", 0, 0, RESTART,			\
  "Comma-separated host:port addresses for raw MCP over TCP; a port alone means 127.0.0.1.  Empty for none.") \
X(policy, STR, "policy", "isolated", 0, 0, RELOAD,			\
  "What programs may do.  isolated: all of Python, in the jail.  restricted: a calculator, a few builtins and numeric libraries; calls may ask for restricted, never for more.") \
X(listen_unix_policy, STR, "listen.unix_policy", "", 0, 0, RELOAD,	\
  "Policy for connections to the Unix socket; empty for that of policy.") \
X(listen_tcp_policy, STR, "listen.tcp_policy", "", 0, 0, RELOAD,	\
  "Policy for connections over TCP; empty for that of policy.")		\
X(listen_http_policy, STR, "listen.http_policy", "", 0, 0, RELOAD,	\
  "Policy for HTTP; empty for that of policy.")				\
X(listen_http, STR, "listen.http", "", 0, 0, RESTART,			\
  "Comma-separated host:port addresses for HTTP; a port alone means 127.0.0.1, and any that other machines reach needs http.token_file.  Empty for none.") \
X(http_token_file, STR, "http.token_file", "", 0, 0, RELOAD,		\
  "File of bearer tokens, a name and a token a line, one of which each HTTP request must have; empty to ask for none.") \
X(http_hosts, STR, "http.hosts", "localhost,127.0.0.1,[::1]", 0, 0, RELOAD, \
  "Comma-separated names by which HTTP clients may address this server (their Host header, without the port); * for any.") \
X(http_origins, STR, "http.origins", "localhost,127.0.0.1,[::1]", 0, 0, RELOAD, \
  "Comma-separated hosts, or whole origins such as https://app.example, of web pages that may send HTTP requests; * for any.") \
X(http_timeout, TIME, "http.timeout", "60s", 100, 86400000, RELOAD,	\
  "Time in which an HTTP client has to send a whole request, and for which a connection without one is kept.") \
X(http_sessions, UINT, "http.sessions", "1024", 1, 1048576, RELOAD,	\
  "Sessions of MCP clients up to version 2025-11-25 that are kept over HTTP; the one unused for longest makes room.") \
X(http_session_idle, TIME, "http.session_idle", "30m", 1000, 604800000, RELOAD, \
  "Time after which such a session ends if nothing is asked in it.")	\
X(http_replay, SIZE, "http.replay", "16m", 0, 1073741824, RELOAD,		\
  "Bytes of messages kept, for all HTTP clients of version 2025-11-25 together, until one whose stream broke comes back for them; the oldest go first.  0 keeps none.") \
X(http_legacy_sse, BOOL, "http.legacy_sse", "off", 0, 0, RELOAD,	\
  "Whether the two paths of the oldest MCP over HTTP are served, GET /sse and POST /messages.") \
X(clients_max, UINT, "clients.max", "256", 1, 65536, RELOAD,		\
  "Connections served at once, on sockets and over HTTP each; further ones wait to be accepted.") \
X(client_calls_max, UINT, "clients.calls_max", "64", 1, 65536, RELOAD,	\
  "Calls that one connection may have waiting or running; further ones are answered busy.") \
X(message_max, SIZE, "message.max", "16m", 65536, 64 * 1024 * 1024, RELOAD, \
  "Longest message, in bytes, that a client may send.")			\
X(log_level, STR, "log.level", "info", 0, 0, RELOAD,			\
  "error, warn, info or debug.")					\
X(pool_warm, UINT, "pool.warm", "4", 1, 4096, RELOAD,			\
  "Idle workers kept ready: forked, confined and parked.")		\
X(pool_prefault, UINT, "pool.prefault", "1", 0, 4096, RELOAD,		\
  "Idle workers, those that take the next jobs, that touch ahead the memory which libraries use first, while nothing else is to be done; 0 for none.") \
X(pool_max, UINT, "pool.max", "16", 1, 4096, RELOAD,			\
  "Jobs that may run at once.")						\
X(queue_max, UINT, "queue.max", "256", 0, 1048576, RELOAD,		\
  "Jobs that may wait for a worker; further ones are answered busy.")	\
X(queue_timeout, TIME, "queue.timeout", "30s", 1, 86400000, RELOAD,	\
  "Longest time that a job waits for a worker before it is answered busy.") \
X(limits_timeout, TIME, "limits.timeout", "5s", 1, 86400000, RELOAD,	\
  "Wall-clock time of a job that names no timeout.")			\
X(limits_timeout_max, TIME, "limits.timeout_max", "60s", 1, 86400000, RELOAD, \
  "Largest timeout that a call may ask for; larger ones are lowered to it.") \
X(limits_code, SIZE, "limits.code", "4m", 1024, 67108864, RELOAD,	\
  "Longest program, in bytes, that a call may send.")			\
X(limits_cpu, TIME, "limits.cpu", "0", 0, 86400000, RELOAD,		\
  "CPU time of a job; 0 means its timeout plus two seconds.")		\
X(limits_memory, SIZE, "limits.memory", "512m", 0, 1099511627776, RELOAD, \
  "Memory that a job may add to what the libraries use; 0 for no limit.") \
X(limits_output, SIZE, "limits.output", "1m", 1024, 67108864, RELOAD,	\
  "Bytes of stdout, and of stderr, that are kept: the first and the last half.") \
X(limits_output_kill, SIZE, "limits.output_kill", "64m", 1024, 1099511627776, RELOAD, \
  "Bytes of output after which a job is ended.")			\
X(limits_scratch, SIZE, "limits.scratch", "64m", 0, 1099511627776, RELOAD, \
  "Bytes of files that a job may hold.")				\
X(limits_files, UINT, "limits.files", "8192", 0, 16777216, RELOAD,	\
  "Files that a job may hold.")						\
X(limits_pids, UINT, "limits.pids", "64", 0, 65536, RELOAD,		\
  "Processes and threads of a job.")					\
X(limits_fds, UINT, "limits.fds", "256", 16, 65536, RELOAD,		\
  "Descriptors that a job may have open.")				\
X(limits_inputs, UINT, "limits.inputs", "256", 0, 65536, RELOAD,	\
  "Files that a call may send for its program; 0 for none.")		\
X(limits_input_bytes, SIZE, "limits.input_bytes", "16m", 0, 50331648, RELOAD, \
  "Bytes of all files that a call may send.")				\
X(result_files, UINT, "result.files", "32", 0, 4096, RELOAD,		\
  "Files and images of a job that come back with its answer.")		\
X(result_bytes, SIZE, "result.bytes", "32m", 0, 1073741824, RELOAD,	\
  "Bytes of files and images of a job that come back with its answer.")	\
X(result_max_text, SIZE, "result.max_text", "20k", 1024, 8388608, RELOAD, \
  "Bytes of text in an answer: of more, the beginning and the end are shown and the whole is kept for read_file.") \
X(result_max_image_px, UINT, "result.max_image_px", "1568", 64, 8000, RELOAD, \
  "Longest side, in pixels, of a picture in an answer; larger ones are made smaller, and the original is kept.") \
X(result_max_images, SIZE, "result.max_images", "700k", 1024, 8388608, RELOAD, \
  "Bytes, as base64, of all pictures in an answer; further ones are kept and named.") \
X(result_keep, SIZE, "result.keep", "64m", 0, 4294967296, RELOAD,	\
  "Bytes of memory for what did not go out whole with the answers of recent runs; 0 keeps nothing.") \
X(result_keep_age, TIME, "result.keep_age", "10m", 1000, 86400000, RELOAD, \
  "How long it is kept at most.")					\
X(files_dir, STR, "files.dir", "", 0, 0, RESTART,			\
  "Directory in which the files and pictures of runs are kept, also over a restart; empty to keep what result.keep holds and nothing else.") \
X(files_quota, SIZE, "files.quota", "1g", 4096, 1125899906842624, RELOAD, \
  "Bytes that files.dir may hold; runs that were not used for longest make room.") \
X(files_age, TIME, "files.age", "1d", 1000, 31536000000, RELOAD,	\
  "How long the files of a run are kept in files.dir at most.")	\
X(files_run_bytes, SIZE, "files.run_bytes", "256m", 0, 1125899906842624, RELOAD, \
  "Bytes of one run that are kept in files.dir.")			\
X(files_run_files, UINT, "files.run_files", "1000", 0, 20000, RELOAD,	\
  "Files of one run that are kept in files.dir.")			\
X(result_structured, BOOL, "result.structured", "off", 0, 0, RELOAD,	\
  "Whether an answer has its text also as structuredContent, for clients that show a model nothing else.") \
X(compat_tools, BOOL, "compat.tools", "off", 0, 0, RELOAD,		\
  "Whether run_python also goes by the names that other servers gave it, run_python_ephemeral and execute_python_code, and session_id by container_id.") \
X(sessions_max, UINT, "sessions.max", "100", 0, 65536, RELOAD,		\
  "Sessions that may be open at once; 0 offers none.")			\
X(sessions_memory, SIZE, "sessions.memory", "4g", 0, 1099511627776, RELOAD, \
  "Memory that all sessions together may hold, where control groups count it; the one unused for longest ends to make room.  0 for no limit.") \
X(sessions_ttl, TIME, "sessions.ttl", "30m", 1, 604800000, RELOAD,	\
  "Time after which a session ends if nothing is run in it.")		\
X(sessions_ttl_max, TIME, "sessions.ttl_max", "24h", 1, 2592000000, RELOAD, \
  "Longest such time that a client may ask for; longer ones are lowered to it.") \
X(sessions_max_age, TIME, "sessions.max_age", "24h", 1, 2592000000, RELOAD, \
  "Time after which a session ends in any case.")			\
X(sessions_node, STR, "sessions.node", "", 0, 0, RELOAD,		\
  "Name of this server at the start of a session_id, for balancers; empty for that of the host.") \
X(deps_dir, STR, "deps.dir", "@default", 0, 0, RESTART,			\
  "Directory for the packages that calls ask for by dependencies; @default for adder below the user's cache directory, or /var/cache/adder for root.  Empty to install none.") \
X(deps_index, STR, "deps.index", "", 0, 0, RELOAD,			\
  "Address of the package index; empty for the one that pip is configured for.") \
X(deps_offline, STR, "deps.offline", "", 0, 0, RELOAD,			\
  "Directory of wheels to install from, without any network; empty to use an index.") \
X(deps_ports, STR, "deps.ports", "80,443", 0, 0, RELOAD,		\
  "Comma-separated TCP ports that the installer may connect to, besides those in deps.index and in the proxies of the environment.") \
X(deps_sdist, BOOL, "deps.sdist", "off", 0, 0, RELOAD,			\
  "Whether packages without a wheel may be built from source, which runs code of theirs in the installer's jail.") \
X(deps_allow, STR, "deps.allow", "", 0, 0, RELOAD,			\
  "Comma-separated names of packages that may be installed, * matching anything; empty for all.  What they need has to be named, too.") \
X(deps_deny, STR, "deps.deny", "", 0, 0, RELOAD,			\
  "Comma-separated names of packages that are never installed, * matching anything.") \
X(deps_max_bytes, SIZE, "deps.max_bytes", "4g", 1048576, 1125899906842624, RELOAD, \
  "Bytes of all installed packages; the sets unused for longest make room.") \
X(deps_timeout, TIME, "deps.timeout", "3m", 1000, 86400000, RELOAD,	\
  "Longest time that an installation may take, besides the program's own time.") \
X(deps_installs, UINT, "deps.installs", "2", 1, 64, RELOAD,		\
  "Installations that may run at once; further ones wait.")		\
X(deps_zygotes, UINT, "deps.zygotes", "4", 1, 32, RELOAD,		\
  "Sets of packages that are kept imported, with idle workers, at once.") \
X(deps_idle, TIME, "deps.idle", "10m", 100, 604800000, RELOAD,	\
  "How long one that is not used is kept so.")				\
X(python_env, STR, "python.env", "@default", 0, 0, RELOAD,		\
  "Virtual environment that workers import from; system for the distribution's packages, @default for the one adderd was built with.") \
X(python_modules, STR, "python.modules",				\
  "numpy,scipy.optimize,scipy.integrate,scipy.stats,scipy.linalg,scipy.signal,scipy.interpolate,scipy.special,scipy.sparse,scipy.fft,sympy,pandas,matplotlib.pyplot", \
  0, 0, RELOAD,								\
  "Comma-separated modules imported before any worker is forked; a missing one is reported and left out.") \
X(zygote_path, STR, "zygote.path", "@default", 0, 0, RELOAD,		\
  "The adder-zygote program; @default for the one beside adderd or in the libexec directory.") \
X(zygote_compact, BOOL, "zygote.compact", "on", 0, 0, RELOAD,		\
  "Whether a zygote moves its memory into few mappings before it forks, which makes forks several times faster.") \
X(zygote_warm_file, STR, "zygote.warm_file", "", 0, 0, RELOAD,		\
  "Python file that is run once in the zygote after its own warm-up.")	\
X(zygote_early, BOOL, "zygote.early", "on", 0, 0, RELOAD,		\
  "Whether the first calls are served as soon as the modules are imported, while the warm-up goes on.") \
X(user, STR, "user", "nobody", 0, 0, RESTART,				\
  "User that adderd becomes once it listens, when it is started as root; empty to stay root.  It has to be able to read the configuration for a reload.") \
X(sandbox_mode, STR, "sandbox.mode", "require", 0, 0, RESTART,		\
  "require: serve only behind a jail that is at least sandbox.minimum.  off: serve behind whatever holds, and say so at every start.") \
X(sandbox_minimum, STR, "sandbox.minimum", "medium", 0, 0, RESTART,	\
  "Weakest jail that is served behind: weak, medium, strong or strong+.") \
X(sandbox_selftest, BOOL, "sandbox.selftest", "on", 0, 0, RESTART,	\
  "Whether adderd tries at every start to break out of its own jail, and serves nothing if it can.") \
X(sandbox_processes, STR, "sandbox.processes", "auto", 0, 0, RELOAD,	\
  "auto: a job may start processes where the jail holds them.  deny: threads only.") \
X(sandbox_uid_base, UINT, "sandbox.uid_base", "60000", 1000, 4000000000, RESTART, \
  "First of 1000 user ids that workers get, one each, when adderd is started as root; nothing else may use them.") \
X(scratch_dir, STR, "scratch.dir", "@default", 0, 0, RESTART,		\
  "Directory below which adderd makes a private one for scratch directories; @default for the system's temporary directory.")

/* Keys that exist only in a build for tests. */
#ifdef TEST_HOOKS
#define CONF_TEST_LIST(X)						\
X(sandbox_without, STR, "sandbox.without", "", 0, 0, RESTART,		\
  "Layers of the jail that are not to be used, comma-separated.")
#else
#define CONF_TEST_LIST(X)
#endif

#define CONF_LIST(X)	CONF_PUBLIC_LIST(X) CONF_TEST_LIST(X)

#endif
