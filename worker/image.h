#ifndef ADDER_IMAGE_H
#define ADDER_IMAGE_H

struct msg_IMAGE;

/* Calls up for each picture before it is sent, to set small where it is too
 * large; NULL for nobody, as at first. */
void	image_observe(void (*)(struct msg_IMAGE *));
/* Sends a picture, with a smaller one if somebody makes that; -1 as
 * workerio_IMAGE(). */
int	image_send(struct msg_IMAGE *);

#endif
