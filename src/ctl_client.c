#include "config.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ctl.h"
#include "fdutil.h"
#include "mem.h"

#define PROTOCOL_VERSION	"2025-11-25"

struct ctl_client {
	const char	*sock;
	int		 fd;
	FILE		*in;		/* reads from fd and owns it */
	json_int_t	 last_id;
	pid_t		 child;		/* 0 for none */
};

static int
connect_unix(const char *sock)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd;

	if (strlen(sock) >= sizeof addr.sun_path)
		ctl_die(CTL_EXIT_USAGE, "the socket path %s is longer than "
		    "the %zu bytes that the system allows", sock,
		    sizeof addr.sun_path - 1);
	strcpy(addr.sun_path, sock);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd == -1 ||
	    connect(fd, (struct sockaddr *)&addr, sizeof addr) == -1)
		ctl_die(CTL_EXIT_UNAVAILABLE, "cannot connect to %s: %s; is "
		    "adderd running with listen.unix set to it? -s or "
		    "ADDER_SOCKET names another socket", sock,
		    strerror(errno));
	return fd;
}

static void __attribute__((noreturn))
lost(const struct ctl_client *c)
{
	ctl_die(CTL_EXIT_UNAVAILABLE, "the server at %s closed the "
	    "connection before it answered; its log says why", c->sock);
}

/* Takes over message. */
static void
send_message(struct ctl_client *c, json_t *message)
{
	char *text = json_dumps(message, JSON_COMPACT);

	if (text == NULL)
		ctl_die(CTL_EXIT_PROTOCOL, "out of memory: encoding a "
		    "message");
	if (fd_write_all(c->fd, text, strlen(text)) == -1 ||
	    fd_write_all(c->fd, "\n", 1) == -1)
		lost(c);
	free(text);
	json_decref(message);
}

static json_t *
read_message(struct ctl_client *c)
{
	char *line = NULL;
	size_t size = 0;
	ssize_t len = getline(&line, &size, c->in);
	json_error_t error;
	json_t *message;

	if (len == -1)
		lost(c);
	message = json_loadb(line, (size_t)len, JSON_ALLOW_NUL, &error);
	if (message == NULL)
		ctl_die(CTL_EXIT_PROTOCOL, "the server at %s sent something "
		    "else than JSON: %s", c->sock, error.text);
	free(line);
	return message;
}

json_t *
ctl_client_call(struct ctl_client *c, const char *method, json_t *params)
{
	json_t *message, *result;
	const char *text;

	send_message(c, json_pack("{s:s, s:I, s:s, s:o}", "jsonrpc", "2.0",
	    "id", ++c->last_id, "method", method, "params", params));
	for (;;) {
		message = read_message(c);
		if (json_integer_value(json_object_get(message, "id")) ==
		    c->last_id && json_object_get(message, "method") == NULL)
			break;
		json_decref(message);
	}
	result = json_incref(json_object_get(message, "result"));
	if (result == NULL) {
		text = json_string_value(json_object_get(
		    json_object_get(message, "error"), "message"));
		ctl_die(CTL_EXIT_PROTOCOL, "the server refused %s: %s",
		    method, text != NULL ? text : "it gave no reason");
	}
	json_decref(message);
	return result;
}

static struct ctl_client *
begin(const char *name, int fd)
{
	struct ctl_client *c = xcalloc(1, sizeof *c);

	c->sock = name;
	c->fd = fd;
	c->in = fdopen(c->fd, "r");
	if (c->in == NULL)
		ctl_die(CTL_EXIT_UNAVAILABLE, "out of memory: opening a "
		    "stream");
	json_decref(ctl_client_call(c, "initialize",
	    json_pack("{s:s, s:{}, s:{s:s, s:s}}",
	    "protocolVersion", PROTOCOL_VERSION, "capabilities",
	    "clientInfo", "name", "adderctl", "version", PACKAGE_VERSION)));
	send_message(c, json_pack("{s:s, s:s}", "jsonrpc", "2.0",
	    "method", "notifications/initialized"));
	return c;
}

struct ctl_client *
ctl_client_open(const char *sock)
{
	return begin(sock, connect_unix(sock));
}

struct ctl_client *
ctl_client_spawn(char *const argv[])
{
	struct ctl_client *c;
	int pair[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == -1 ||
	    (pid = fork()) == -1)
		ctl_die(CTL_EXIT_UNAVAILABLE, "cannot start %s: %s", argv[0],
		    strerror(errno));
	if (pid == 0) {
		if (dup2(pair[1], STDIN_FILENO) != -1 &&
		    dup2(pair[1], STDOUT_FILENO) != -1)
			execv(argv[0], argv);
		fprintf(stderr, "adderctl: cannot start %s: %s\n", argv[0],
		    strerror(errno));
		_exit(CTL_EXIT_UNAVAILABLE);
	}
	close(pair[1]);
	c = begin(argv[0], pair[0]);
	c->child = pid;
	return c;
}

void
ctl_client_close(struct ctl_client **cp)
{
	struct ctl_client *c = *cp;

	if (c == NULL)
		return;
	*cp = NULL;
	fclose(c->in);
	if (c->child != 0)
		waitpid(c->child, NULL, 0);
	free(c);
}
