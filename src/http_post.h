#ifndef ADDER_HTTP_POST_H
#define ADDER_HTTP_POST_H

struct event_base;
struct http_post;
struct http_posts;
struct http_request;
struct http_session;
struct http_sessions;

/* Messages that were posted to /mcp and have no answer yet. */

struct http_posts	*http_posts_new(struct event_base *,
			    struct http_sessions *);
/* Ends those whose clients have left; before the sessions. */
void			 http_posts_free(struct http_posts **);
/* Takes the message in a session and answers, now or later. */
void			 http_post(struct http_posts *, struct http_session *,
			    struct http_request *);
/* Ends it with what is there. */
void			 http_post_end(struct http_post *);

#endif
