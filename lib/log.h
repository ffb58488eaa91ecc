#ifndef ADDER_LOG_H
#define ADDER_LOG_H

#include <stdarg.h>
#include <stddef.h>

/*
 * One line per event on standard error: "level program[pid] text".  Text
 * that came from outside is escaped, so a line is always one line.
 */
enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARN, LOG_LEVEL_INFO,
    LOG_LEVEL_DEBUG };

/* program names this process in each line and must outlive it. */
void	 log_init(const char *program, enum log_level);
void	 log_set_level(enum log_level);
enum log_level log_get_level(void);
/* Parses error, warn, info or debug; -1 if it is none of them. */
int	 log_level_parse(const char *, enum log_level *);
/* Where lines go; the descriptor stays the caller's. */
void	 log_set_fd(int);

#define LOG_FORMAT(a, b) __attribute__((format(printf, a, b)))
void	 log_info(const char *, ...) LOG_FORMAT(1, 2);
void	 log_debug(const char *, ...) LOG_FORMAT(1, 2);
/* The x forms leave errno out, as in err(3). */
void	 log_warn(const char *, ...) LOG_FORMAT(1, 2);
void	 log_warnx(const char *, ...) LOG_FORMAT(1, 2);
void	 log_errorx(const char *, ...) LOG_FORMAT(1, 2);
void	 fatal(const char *, ...) LOG_FORMAT(1, 2) __attribute__((noreturn));
void	 fatalx(const char *, ...) LOG_FORMAT(1, 2) __attribute__((noreturn));

/* Logs a line that another process wrote, escaped, under its name. */
void	 log_relay(const char *who, const char *line, size_t len);

#endif
