// SPDX-License-Identifier: GPL-2.0-only
/* The metadata fuzzer's entry points, for libFuzzer and for AFL++. */

#include "mutate.h"
#include "session.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t size, size_t room,
			       unsigned int seed);
size_t LLVMFuzzerCustomCrossOver(const uint8_t *one, size_t one_size,
				 const uint8_t *two, size_t two_size,
				 uint8_t *out, size_t room, unsigned int seed);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static struct image *im;

	if (!im)
		im = image_new();
	os_quiet = true;
	image_parse(im, bytes, size);
	session_run(im);
	return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t size, size_t room,
			       unsigned int seed)
{
	static struct image *im;
	u64 rng = seed;
	size_t n;

	if (!im)
		im = image_new();
	image_parse(im, bytes, size);
	image_mutate(im, &rng);
	n = image_write(im, bytes, room);
	return n ? n : size;
}

size_t LLVMFuzzerCustomCrossOver(const uint8_t *one, size_t one_size,
				 const uint8_t *two, size_t two_size,
				 uint8_t *out, size_t room, unsigned int seed)
{
	static struct image *a, *b;
	u64 rng = seed;

	if (!a)
		a = image_new();
	if (!b)
		b = image_new();
	image_parse(a, one, one_size);
	image_parse(b, two, two_size);
	image_cross(a, b, &rng);
	return image_write(a, out, room);
}
