// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reading files that may be compressed; see input.h.
 *
 * It must not know what is in a file.
 */
#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "input.h"

struct input {
	struct archive *archive;
	int fd;
	bool failed, empty;
	size_t at, end;
	char buffer[65536];
};

/* Why a file that opens cannot be read. */
static const char *why_not(int fd)
{
	struct stat st;

	if (fd < 0 || fstat(fd, &st))
		return strerror(errno);
	return S_ISDIR(st.st_mode) ? "it is a directory" : NULL;
}

/* Read the next piece into the buffer. False at the end and after an error. */
static bool fill(struct input *in)
{
	la_ssize_t n;

	if (in->at < in->end)
		return true;
	if (in->failed || in->empty)
		return false;
	n = archive_read_data(in->archive, in->buffer, sizeof(in->buffer));
	in->failed = n < 0;
	in->at = 0;
	in->end = n > 0 ? n : 0;
	return n > 0;
}

static bool start(struct input *in)
{
	struct archive_entry *entry;
	struct archive *a = in->archive;
	int r;

	archive_read_support_filter_gzip(a);
	archive_read_support_filter_xz(a);
	archive_read_support_filter_zstd(a);
	archive_read_support_filter_bzip2(a);
	archive_read_support_format_raw(a);
	archive_read_support_format_empty(a);
	if (archive_read_open_fd(a, in->fd, 65536) != ARCHIVE_OK)
		return false;
	r = archive_read_next_header(a, &entry);
	in->empty = r == ARCHIVE_EOF;
	return r == ARCHIVE_OK || in->empty;
}

struct input *input_open(const char *path, const char **why)
{
	struct input *in = calloc(1, sizeof(*in));

	if (!in)
		abort();
	in->fd = strcmp(path, "-") ? open(path, O_RDONLY | O_CLOEXEC) : dup(0);
	*why = why_not(in->fd);
	if (*why)
		goto failed;
	in->archive = archive_read_new();
	if (!in->archive)
		abort();
	in->failed = !start(in);
	return in;
failed:
	input_close(in);
	return NULL;
}

void input_close(struct input *in)
{
	archive_read_free(in->archive);
	if (in->fd >= 0)
		close(in->fd);
	free(in);
}

bool input_is_binary(struct input *in)
{
	size_t i;

	if (!fill(in))
		return false;
	for (i = in->at; i < in->end && i < 512; i++)
		if ((unsigned char)in->buffer[i] < ' ' &&
		    !strchr("\t\n\v\f\r", in->buffer[i]))
			return true;
	return false;
}

size_t input_bytes(struct input *in, void *bytes, size_t len)
{
	size_t done = 0, n;

	while (done < len && fill(in)) {
		n = in->end - in->at;
		if (n > len - done)
			n = len - done;
		memcpy((char *)bytes + done, in->buffer + in->at, n);
		in->at += n;
		done += n;
	}
	return done;
}

bool input_line(struct input *in, char *line, size_t len)
{
	size_t n = 0;

	while (n < len - 1 && fill(in)) {
		line[n++] = in->buffer[in->at++];
		if (line[n - 1] == '\n')
			break;
	}
	line[n] = '\0';
	return n;
}

const char *input_error(struct input *in)
{
	if (!in->failed)
		return NULL;
	return archive_error_string(in->archive) ?: "it cannot be read";
}
