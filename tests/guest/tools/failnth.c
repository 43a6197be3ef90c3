// SPDX-License-Identifier: GPL-2.0-only
/*
 * Brings a device-mapper device up again and again, and each time the kernel
 * fails a later allocation: failnth NAME load|resume TABLE. The program ends
 * when the step makes no more allocations. It needs a kernel with fault
 * injection, in which the caller has set which allocations may fail
 * (suites/faults-debug.sh). TABLE is one line. The program removes the device
 * at the end.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/dm-ioctl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define MOST	20000

static int control;
static const char *name;

static struct {
	struct dm_ioctl io;
	struct dm_target_spec spec;
	char params[2048];
} request;

static void die(const char *what)
{
	perror(what);
	exit(2);
}

static int dm(unsigned long command)
{
	request.io.version[0] = DM_VERSION_MAJOR;
	request.io.data_size = sizeof(request);
	request.io.data_start = offsetof(typeof(request), spec);
	snprintf(request.io.name, sizeof(request.io.name), "%s", name);
	return ioctl(control, command, &request) ? -errno : 0;
}

static int plain(unsigned long command)
{
	memset(&request, 0, sizeof(request));
	return dm(command);
}

static int load(const char *table)
{
	unsigned long long start, length;
	int params = 0;

	memset(&request, 0, sizeof(request));
	if (sscanf(table, "%llu %llu %15s %n", &start, &length,
		   request.spec.target_type, &params) < 3)
		die("table");
	request.io.target_count = 1;
	request.spec.sector_start = start;
	request.spec.length = length;
	snprintf(request.params, sizeof(request.params), "%s", table + params);
	return dm(DM_TABLE_LOAD);
}

/* Retries, because udev may still have the device open. */
static void remove_device(void)
{
	int tries = 500, r;

	while ((r = plain(DM_DEV_REMOVE)) == -EBUSY && tries--)
		usleep(20000);
	if (r && r != -ENXIO)
		die("remove");
}

/*
 * This thread's fail-nth file. It reads 0 once the allocation has failed, or if
 * none was to fail.
 */
static int fail_nth;

static void arm(int nth)
{
	char text[16];
	int len = snprintf(text, sizeof(text), "%d", nth);

	if (pwrite(fail_nth, text, len, 0) != len)
		die("fail-nth");
}

static int left(void)
{
	char text[16] = "";

	if (pread(fail_nth, text, sizeof(text) - 1, 0) <= 0)
		die("fail-nth");
	return atoi(text);
}

int main(int argc, char **argv)
{
	int nth, r, unused, failed = 0, bridged = 0;

	if (argc != 4)
		die("failnth NAME load|resume TABLE");
	name = argv[1];
	control = open("/dev/mapper/control", O_RDWR);
	fail_nth = open("/proc/thread-self/fail-nth", O_RDWR);
	if (control < 0 || fail_nth < 0)
		die("open");

	for (nth = 1; nth < MOST; nth++) {
		if (plain(DM_DEV_CREATE))
			die("create");
		if (!strcmp(argv[2], "resume") && load(argv[3]))
			die("load");
		arm(nth);
		r = strcmp(argv[2], "resume") ? load(argv[3]) :
						plain(DM_DEV_SUSPEND);
		unused = left();
		arm(0);
		remove_device();
		if (unused)
			break;
		if (r && r != -ENOMEM)
			printf("%d: %s\n", nth, strerror(-r));
		failed += !!r;
		bridged += !r;
	}
	if (nth == MOST || r) {
		printf("allocation %d: %s\n", nth, strerror(-r));
		return 1;
	}
	printf("%d allocations: %d failures were reported, %d were made up for\n",
	       nth - 1, failed, bridged);
	return failed ? 0 : 1;
}
