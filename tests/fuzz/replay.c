// SPDX-License-Identifier: GPL-2.0-only
/*
 * Runs inputs without a fuzzer: replay [-n RUNS] [-s SEED] FILE...
 *
 * Runs each file once, then RUNS mutations of them.  It needs only a compiler.  If
 * a sanitizer ends a run, the run's input is left in ./fuzz-crash.
 */

#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "session.h"

#define MAX_BYTES	(512u << 10)
#define MAX_FILES	4096
#define RUN_SECONDS	20

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t size, size_t room,
			       unsigned int seed);
void __sanitizer_set_death_callback(void (*fn)(void));

struct input {
	uint8_t *bytes;
	size_t size;
};

static struct input inputs[MAX_FILES];
static unsigned int nr_inputs;
static const uint8_t *running;
static size_t running_size;

static void save_running(void)
{
	int fd = open("fuzz-crash", O_WRONLY | O_CREAT | O_TRUNC, 0644);

	if (fd >= 0 && write(fd, running, running_size) == (ssize_t)running_size)
		fprintf(stderr, "replay: the input is in fuzz-crash\n");
}

static void died(int sig)
{
	save_running();
	signal(sig, SIG_DFL);
	raise(sig);
}

static void run(const uint8_t *bytes, size_t size)
{
	running = bytes;
	running_size = size;
	alarm(RUN_SECONDS);	/* a hang is a failure */
	LLVMFuzzerTestOneInput(bytes, size);
	alarm(0);
}

static void load(const char *path)
{
	struct input *in = &inputs[nr_inputs];
	FILE *f = fopen(path, "rb");

	in->bytes = malloc(MAX_BYTES);
	if (!f || !in->bytes || nr_inputs == MAX_FILES) {
		fprintf(stderr, "replay: cannot read %s\n", path);
		exit(1);
	}
	in->size = fread(in->bytes, 1, MAX_BYTES, f);
	fclose(f);
	nr_inputs++;
}

/* Mutates each file in turn, and each mutation a few times more. */
static void mutate(unsigned long runs, unsigned int seed)
{
	uint8_t *bytes = malloc(MAX_BYTES);
	size_t size = 0;

	for (unsigned long i = 0; i < runs; i++) {
		const struct input *in = &inputs[i / 8 % nr_inputs];

		if (i % 8 == 0) {
			memcpy(bytes, in->bytes, in->size);
			size = in->size;
		}
		size = LLVMFuzzerCustomMutator(bytes, size, MAX_BYTES,
					       seed * 0x9E3779B9u + i);
		run(bytes, size);
	}
	free(bytes);
}

int main(int argc, char **argv)
{
	unsigned long runs = 0;
	unsigned int seed = 1, i;
	int opt;

	while ((opt = getopt(argc, argv, "n:s:")) != -1)
		if (opt == 'n')
			runs = strtoul(optarg, NULL, 0);
		else if (opt == 's')
			seed = strtoul(optarg, NULL, 0);
		else
			return 2;
	for (; optind < argc; optind++)
		load(argv[optind]);
	__sanitizer_set_death_callback(save_running);
	signal(SIGABRT, died);
	signal(SIGALRM, died);

	for (i = 0; i < nr_inputs; i++)
		run(inputs[i].bytes, inputs[i].size);
	if (nr_inputs)
		mutate(runs, seed);
	printf("note: %u inputs and %lu mutations of them, SEED=%u\n",
	       nr_inputs, runs, seed);
	printf("note: %llu accepted by the constructor, %llu resumed, %llu sound before\n",
	       (unsigned long long)session_stats.opened,
	       (unsigned long long)session_stats.resumed,
	       (unsigned long long)session_stats.sound);
	for (i = 0; i < nr_inputs; i++)
		free(inputs[i].bytes);
	return 0;
}
