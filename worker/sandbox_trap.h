#ifndef ADDER_SANDBOX_TRAP_H
#define ADDER_SANDBOX_TRAP_H

/*
 * What happens at a system call that the filter refuses by a trap: the
 * handler of SIGSYS notes which one it was and lets it fail with EPERM, so
 * that libraries can fall back and the answer can name the call.  A program
 * may replace the handler: then the trap kills it, and that is a name for it,
 * too.
 *
 * In a pid namespace of its own a worker is pid 1, to whom the kernel does
 * not deliver a signal that is at its default disposition.  kill(2) to itself
 * comes here and is done as it would be elsewhere, and so is raise(3), which
 * this module replaces: the ended hook is called with a signal that would
 * have ended the process.
 *
 * Without a root of its own a worker may not set modes and times of files
 * (see jail/syscall_policy.h): these calls come here, too, and only look
 * whether the file is there.
 */
void	sandbox_trap_install(int own_pid_ns, void (*ended)(int sig));
/* Number of the call that was refused last, -1 if none was. */
int	sandbox_trap_last(void);
/* From now on, what is refused is refused to the program. */
void	sandbox_trap_forget(void);

#endif
