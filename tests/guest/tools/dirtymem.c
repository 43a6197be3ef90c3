// SPDX-License-Identifier: GPL-2.0-only
/*
 * Writes and reads memory again and again in random order, and checks that each
 * page holds what was stored in it:  dirtymem MIB ROUNDS SEED
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

enum { PAGE = 4096, WORDS = PAGE / sizeof(uint64_t) };

static uint64_t word(uint64_t seed, uint64_t round, uint64_t page, int i)
{
	uint64_t x = (seed << 48) + (round << 40) + page * WORDS + i;

	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
	return x ^ (x >> 27);
}

static int check(const uint64_t *at, uint64_t seed, uint64_t round, uint64_t page)
{
	int i;

	for (i = 0; i < WORDS; i++) {
		if (at[i] == word(seed, round, page, i))
			continue;
		fprintf(stderr, "page %" PRIu64 ", word %d: %" PRIx64 " found, round %" PRIu64
			" expected\n", page, i, at[i], round);
		return 1;
	}
	return 0;
}

/* Visits each page once, in an order that no read-ahead guesses. */
static int one_round(uint64_t *memory, uint64_t pages, uint64_t seed, uint64_t round)
{
	uint64_t step = 7919, n, page;
	int i;

	while (pages % step == 0)
		step += 2;
	for (n = 0; n < pages; n++) {
		uint64_t *at;

		page = n * step % pages;
		at = memory + page * WORDS;
		if (round && check(at, seed, round - 1, page))
			return 1;
		for (i = 0; i < WORDS; i++)
			at[i] = word(seed, round, page, i);
	}
	return 0;
}

int main(int argc, char **argv)
{
	uint64_t pages, rounds, seed, round;
	uint64_t *memory;

	if (argc != 4) {
		fprintf(stderr, "usage: %s MIB ROUNDS SEED\n", argv[0]);
		return 2;
	}
	pages = strtoull(argv[1], NULL, 0) * 256;
	rounds = strtoull(argv[2], NULL, 0);
	seed = strtoull(argv[3], NULL, 0);
	memory = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (memory == MAP_FAILED) {
		perror("mmap");
		return 2;
	}
	/* The kernel swaps small pages one by one. */
	madvise(memory, pages * PAGE, MADV_NOHUGEPAGE);
	for (round = 0; round < rounds; round++) {
		time_t began = time(NULL);

		if (one_round(memory, pages, seed, round))
			return 1;
		printf("round %" PRIu64 ": %ld s\n", round, (long)(time(NULL) - began));
		fflush(stdout);
	}
	return 0;
}
