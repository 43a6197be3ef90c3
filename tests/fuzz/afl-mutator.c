// SPDX-License-Identifier: GPL-2.0-only
/* The mutator as a library for AFL++ (AFL_CUSTOM_MUTATOR_LIBRARY). */

#include "mutate.h"
#include "tests/lib/rng.h"

struct mutator {
	struct image *im, *other;
	u64 rng;
	u8 bytes[IMAGE_MAX_BYTES];
};

void *afl_custom_init(void *afl, unsigned int seed);
size_t afl_custom_fuzz(struct mutator *m, u8 *in, size_t size, u8 **out,
		       u8 *other, size_t other_size, size_t room);
void afl_custom_deinit(struct mutator *m);

void *afl_custom_init(void *afl, unsigned int seed)
{
	struct mutator *m = calloc(1, sizeof(*m));

	(void)afl;
	m->im = image_new();
	m->other = image_new();
	m->rng = seed;
	return m;
}

size_t afl_custom_fuzz(struct mutator *m, u8 *in, size_t size, u8 **out,
		       u8 *other, size_t other_size, size_t room)
{
	size_t n;

	image_parse(m->im, in, size);
	if (other && rnd(&m->rng) % 8 == 0) {
		image_parse(m->other, other, other_size);
		image_cross(m->im, m->other, &m->rng);
	}
	image_mutate(m->im, &m->rng);
	n = image_write(m->im, m->bytes, min(room, sizeof(m->bytes)));
	*out = n ? m->bytes : in;
	return n ? n : size;
}

void afl_custom_deinit(struct mutator *m)
{
	image_free(m->im);
	image_free(m->other);
	free(m);
}
