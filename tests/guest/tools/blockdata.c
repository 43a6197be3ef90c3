// SPDX-License-Identifier: GPL-2.0-only
/*
 * Writes data that carries its place and the seed of its writing, or checks it:
 * blockdata write|check DEVICE SEED OFFSET LENGTH BLOCK seq|rand
 *
 * Every 512-byte sector holds the seed, its place on the device, and words
 * derived from both. The check therefore finds stale, misplaced and torn data.
 * A few processes write each block once with direct I/O; "rand" changes only
 * the order.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WORKERS = 4, WORDS = 64, MAX_REPORTS = 5 };

struct job {
	const char *device;
	int check;
	int random;
	uint64_t seed;
	uint64_t offset;
	uint64_t length;
	uint64_t block;
};

static uint64_t mix(uint64_t x)
{
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
	return x ^ (x >> 31);
}

static void fill(uint64_t *words, uint64_t seed, uint64_t sector)
{
	uint64_t x = mix(seed * 0x9e3779b97f4a7c15ull + sector);
	int i;

	words[0] = seed;
	words[1] = sector;
	for (i = 2; i < WORDS; i++)
		words[i] = x += 0x9e3779b97f4a7c15ull;
}

static int check_block(const struct job *j, uint64_t at, const uint64_t *buf, int *reports)
{
	uint64_t want[WORDS], n = j->block / 512, i;
	int bad = 0;

	for (i = 0; i < n; i++) {
		const uint64_t *have = buf + i * WORDS;

		fill(want, j->seed, at / 512 + i);
		if (!memcmp(have, want, sizeof(want)))
			continue;
		bad = 1;
		if ((*reports)++ < MAX_REPORTS)
			fprintf(stderr, "sector %" PRIu64 " of %s: seed %" PRIx64 " sector %" PRIx64
				" found, seed %" PRIu64 " expected\n", at / 512 + i, j->device,
				have[0], have[1], j->seed);
	}
	return bad;
}

static int work(const struct job *j, uint64_t worker)
{
	uint64_t blocks = j->length / j->block, i, s;
	/* An odd step without a common factor visits every block once. */
	uint64_t step = j->random ? 7919 : 1;
	uint64_t *buf;
	int reports = 0, bad = 0, fd;

	while (j->random && blocks % step == 0)
		step += 2;
	fd = open(j->device, (j->check ? O_RDONLY : O_WRONLY) | O_DIRECT);
	if (fd < 0 || posix_memalign((void **)&buf, 4096, j->block)) {
		perror(j->device);
		return 2;
	}
	for (i = worker; i < blocks; i += WORKERS) {
		uint64_t at = j->offset + i * step % blocks * j->block;

		if (j->check) {
			if (pread(fd, buf, j->block, at) != (ssize_t)j->block) {
				perror("read");
				return 2;
			}
			bad |= check_block(j, at, buf, &reports);
			continue;
		}
		for (s = 0; s < j->block / 512; s++)
			fill(buf + s * WORDS, j->seed, at / 512 + s);
		if (pwrite(fd, buf, j->block, at) != (ssize_t)j->block) {
			perror("write");
			return 2;
		}
	}
	return close(fd) ? 2 : bad;
}

int main(int argc, char **argv)
{
	struct job j;
	int i, status, result = 0;

	if (argc != 8) {
		fprintf(stderr, "usage: %s write|check DEVICE SEED OFFSET LENGTH BLOCK seq|rand\n", argv[0]);
		return 2;
	}
	j.check = !strcmp(argv[1], "check");
	j.device = argv[2];
	j.seed = strtoull(argv[3], NULL, 0);
	j.offset = strtoull(argv[4], NULL, 0);
	j.length = strtoull(argv[5], NULL, 0);
	j.block = strtoull(argv[6], NULL, 0);
	j.random = !strcmp(argv[7], "rand");
	for (i = 0; i < WORKERS; i++)
		if (fork() == 0)
			_exit(work(&j, i));
	while (wait(&status) > 0)
		if (!WIFEXITED(status) || WEXITSTATUS(status))
			result = 1;
	return result;
}
