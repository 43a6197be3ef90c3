// SPDX-License-Identifier: GPL-2.0-only
/*
 * Files that say whether they are whole: filesload run|verify DIR ACKS
 *
 * run: processes replace files for ever, each by writing a new one, fsync,
 * rename and fsync of the directory.  Only then does a process write "ACK FILE
 * SEQUENCE" to ACKS.
 *
 * verify: every file must be whole.  The program writes "HAVE FILE SEQUENCE"
 * for each to ACKS, so that the reader can tell whether an acknowledged file is
 * missing.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WORKERS = 3, FILES = 240, MAX_WORDS = 64 * 1024, HEADER = 3 };

static uint64_t buf[MAX_WORDS];
static const char *dir;
static int acks;

static uint64_t mix(uint64_t x)
{
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
	return x ^ (x >> 31);
}

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static void say(const char *word, unsigned int file, uint64_t seq)
{
	char line[64];
	int n = snprintf(line, sizeof(line), "%s %u %llu\n", word, file,
			 (unsigned long long)seq);

	if (write(acks, line, n) != n)
		die("acks");
}

/* The header holds the file's length, and determines the rest. */
static size_t fill(unsigned int file, uint64_t seq)
{
	size_t words = 512 + mix(seq * FILES + file) % (MAX_WORDS - 512);

	buf[0] = file;
	buf[1] = seq;
	buf[2] = words;
	for (size_t i = HEADER; i < words; i++)
		buf[i] = mix(seq * MAX_WORDS + i) + file;
	return words;
}

static void replace(unsigned int file, uint64_t seq, int dirfd)
{
	size_t bytes = fill(file, seq) * sizeof(*buf);
	char name[32], temporary[32];
	int fd;

	snprintf(name, sizeof(name), "%u", file);
	snprintf(temporary, sizeof(temporary), "%u.new", file);
	fd = openat(dirfd, temporary, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	if (fd < 0 || write(fd, buf, bytes) != (ssize_t)bytes || fsync(fd) || close(fd))
		die(temporary);
	if (renameat(dirfd, temporary, dirfd, name) || fsync(dirfd))
		die(name);
	say("ACK", file, seq);
}

/* Returns the sequence in the file's header, or 0 if there is no such file. */
static uint64_t sequence(unsigned int file, int dirfd)
{
	uint64_t header[HEADER];
	char name[32];
	ssize_t n;
	int fd;

	snprintf(name, sizeof(name), "%u", file);
	fd = openat(dirfd, name, O_RDONLY);
	if (fd < 0)
		return 0;
	n = read(fd, header, sizeof(header));
	close(fd);
	return n == sizeof(header) ? header[1] : 0;
}

static void run(unsigned int worker)
{
	int dirfd = open(dir, O_RDONLY | O_DIRECTORY);
	uint64_t seq = 0, x = getpid();

	if (dirfd < 0)
		die(dir);
	for (unsigned int i = 0; i < FILES; i++)
		if (sequence(i, dirfd) > seq)
			seq = sequence(i, dirfd);
	for (;;) {
		x = mix(x + 0x9e3779b97f4a7c15ull);
		replace(x % (FILES / WORKERS) * WORKERS + worker, ++seq, dirfd);
	}
}

static int verify_file(unsigned int file)
{
	static uint64_t have[MAX_WORDS];
	char path[256];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "%s/%u", dir, file);
	fd = open(path, O_RDONLY);
	if (fd < 0)
		return errno == ENOENT ? 0 : 1;
	n = read(fd, have, sizeof(have));
	close(fd);
	if (n < (ssize_t)(HEADER * sizeof(*have)) || have[0] != file ||
	    (ssize_t)(fill(file, have[1]) * sizeof(*have)) != n || memcmp(have, buf, n)) {
		say("BAD", file, n > 16 ? have[1] : 0);
		return 1;
	}
	say("HAVE", file, have[1]);
	return 0;
}

int main(int argc, char **argv)
{
	int bad = 0;

	if (argc != 4)
		return 2;
	dir = argv[2];
	acks = open(argv[3], O_WRONLY | O_APPEND);
	if (acks < 0)
		die(argv[3]);
	if (!strcmp(argv[1], "verify")) {
		for (unsigned int i = 0; i < FILES; i++)
			bad |= verify_file(i);
		say("VERIFIED", bad, 0);
		return bad;
	}
	for (unsigned int i = 0; i < WORKERS; i++)
		if (!fork())
			run(i);
	wait(NULL);
	return 1;
}
