// SPDX-License-Identifier: GPL-2.0-only
/*
 * Prints the frequency of the host's TSC in kHz. An emulated guest reads the
 * same counter, and would measure a wrong frequency on a busy host.
 */
#include <stdio.h>
#include <time.h>
#include <x86intrin.h>

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

int main(void)
{
	double began = seconds(), now;
	unsigned long long ticks = __rdtsc();

	do
		now = seconds();
	while (now - began < 0.2);
	printf("%.0f\n", (__rdtsc() - ticks) / (now - began) / 1e3);
	return 0;
}
