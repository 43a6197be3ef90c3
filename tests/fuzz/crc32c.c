// SPDX-License-Identifier: GPL-2.0-only
/*
 * pd-device-user.c's checksum, faster: most of a run would be spent in it.
 * (The Makefile gives the other one another name.)
 */

#include "persistent-data/pd-os.h"

u32 crc32c_by_table(u32 crc, const void *data, size_t len);

#if defined(__x86_64__)
__attribute__((target("sse4.2")))
static u32 crc32c_by_cpu(u32 crc, const u8 *p, size_t len)
{
	u64 wide = crc, v;

	for (; len >= sizeof(v); p += sizeof(v), len -= sizeof(v)) {
		memcpy(&v, p, sizeof(v));
		wide = __builtin_ia32_crc32di(wide, v);
	}
	crc = wide;
	while (len--)
		crc = __builtin_ia32_crc32qi(crc, *p++);
	return crc;
}
#endif

u32 crc32c(u32 crc, const void *data, size_t len)
{
#if defined(__x86_64__)
	if (__builtin_cpu_supports("sse4.2"))
		return crc32c_by_cpu(crc, data, len);
#endif
	return crc32c_by_table(crc, data, len);
}
