// SPDX-License-Identifier: GPL-2.0-only
/*
 * The parts of user.h that are neither macros nor inline: the checksum, and the
 * variables by which a test makes allocations fail, or stops messages.
 *
 * It must not know anything about metadata, caches or policies.
 */
#include "os.h"

bool os_quiet;
bool (*os_alloc_fails)(void);

static u32 crc_table[256];

/* Fills the table before main(), because two threads may need it first at the same time. */
__attribute__((constructor))
static void fill_crc_table(void)
{
	for (u32 i = 0; i < 256; i++) {
		u32 c = i;

		/* Castagnoli's polynomial, bits reversed. */
		for (int k = 0; k < 8; k++)
			c = c >> 1 ^ (c & 1 ? 0x82F63B78u : 0);
		crc_table[i] = c;
	}
}

u32 os_crc32c_by_table(u32 crc, const void *data, size_t len)
{
	const u8 *p = data;

	while (len--)
		crc = crc_table[(crc ^ *p++) & 0xff] ^ crc >> 8;
	return crc;
}

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
	return os_crc32c_by_table(crc, data, len);
}
