// SPDX-License-Identifier: GPL-2.0-only
/*
 * CRC-32C: the vectors of RFC 3720, appendix B.4, by the processor's instruction and by
 * the table. Metadata that one of the two wrote has to pass the check of the other, and
 * of the kernel.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "os/os.h"
#include "rng.h"

typedef u32 (*crc_fn)(u32 crc, const void *data, size_t len);

static void known_vectors_of(crc_fn crc)
{
	u8 zeros[32], ones[32], up[32], down[32];

	memset(zeros, 0, sizeof(zeros));
	memset(ones, 0xff, sizeof(ones));
	for (u8 i = 0; i < 32; i++) {
		up[i] = i;
		down[i] = 31 - i;
	}
	assert_int_equal(~crc(~0u, zeros, 32), 0x8A9136AA);
	assert_int_equal(~crc(~0u, ones, 32), 0x62A8AB43);
	assert_int_equal(~crc(~0u, up, 32), 0x46DD794E);
	assert_int_equal(~crc(~0u, down, 32), 0x113FDB5C);
	assert_int_equal(~crc(~0u, "123456789", 9), 0xE3069283);
	assert_int_equal(crc(~0u, "", 0), ~0u);
}

static void known_vectors(void **state)
{
	(void)state;
	known_vectors_of(crc32c);
}

static void known_vectors_by_table(void **state)
{
	(void)state;
	known_vectors_of(os_crc32c_by_table);
}

/* The instruction takes 8 bytes at a time, wherever they begin, and the rest one by one. */
static void both_agree_at_any_length_and_place(void **state)
{
	u8 data[64];
	u64 rng = 1;

	(void)state;
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = rnd(&rng);
	for (size_t from = 0; from < 9; from++)
		for (size_t len = 0; from + len <= sizeof(data); len++)
			assert_int_equal(crc32c(~0u, data + from, len),
					 os_crc32c_by_table(~0u, data + from, len));
}

static void it_continues(void **state)
{
	static const char text[] = "a crc of two parts is the crc of the whole";
	size_t len = strlen(text);
	u32 whole = crc32c(~0u, text, len);

	(void)state;
	for (size_t n = 0; n <= len; n++)
		assert_int_equal(crc32c(crc32c(~0u, text, n), text + n, len - n), whole);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_vectors),
		cmocka_unit_test(known_vectors_by_table),
		cmocka_unit_test(both_agree_at_any_length_and_place),
		cmocka_unit_test(it_continues),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
