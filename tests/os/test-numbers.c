// SPDX-License-Identifier: GPL-2.0-only
/*
 * Numbers and bits of os/user.h: each result is what a slower, plainer calculation says,
 * or what the kernel returns.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "os/os.h"
#include "os/sync.h"
#include "rng.h"

static int calls;

static int counted(int v)
{
	calls++;
	return v;
}

/* A caller may pass i++ or a function that has effects. */
static void arguments_are_evaluated_once(void **state)
{
	(void)state;
	calls = 0;
	assert_int_equal(min(counted(3), counted(5)), 3);
	assert_int_equal(max(counted(3), counted(5)), 5);
	assert_int_equal(calls, 4);
	assert_int_equal(min3(counted(7), counted(5), counted(6)), 5);
	assert_int_equal(clamp(counted(9), counted(2), counted(8)), 8);
	assert_int_equal(calls, 10);
}

static void least_and_greatest(void **state)
{
	(void)state;
	for (int a = -2; a <= 2; a++)
		for (int b = -2; b <= 2; b++) {
			assert_int_equal(min(a, b), a < b ? a : b);
			assert_int_equal(max(a, b), a > b ? a : b);
			for (int c = -2; c <= 2; c++) {
				int most = a > b ? a : b, least = a < b ? a : b;

				assert_int_equal(min3(a, b, c), least < c ? least : c);
				if (b <= c)
					assert_int_equal(clamp(a, b, c), most < c ? most : c);
			}
		}
}

/* min_t(u32, ...) compares as u32, whatever the arguments were. */
static void comparison_in_another_type(void **state)
{
	(void)state;
	assert_int_equal(min_t(u32, -1, 5), 5);
	assert_int_equal(max_t(u8, 0x1ff, 0x10), 0xff);
	assert_int_equal(clamp_t(s64, 5u, -3, -2), -2);
}

static void division(void **state)
{
	u32 rest;

	(void)state;
	for (u32 n = 0; n < 50; n++)
		for (u32 d = 1; d < 10; d++) {
			u32 up = DIV_ROUND_UP(n, d);

			assert_true(up * d >= n && up * d < n + d);
		}
	/* Not in 32 bits. */
	assert_true(DIV_ROUND_UP_ULL(U32_MAX, 2) == 1ULL << 31);
	assert_true(div_u64_rem((5ULL << 32) * 7 + 3, 7, &rest) == 5ULL << 32);
	assert_int_equal(rest, 3);
	assert_true(div_u64(1ULL << 40, 1 << 8) == 1ULL << 32);
	assert_true(div64_u64(U64_MAX, 1ULL << 40) == (1ULL << 24) - 1);
	/* To zero, as in C. */
	assert_int_equal(div_s64(-7, 2), -3);
	assert_true(mul_u32_u32(U32_MAX, U32_MAX) == (u64)U32_MAX * U32_MAX);
}

static void halves(void **state)
{
	(void)state;
	assert_int_equal(lower_32_bits(0x0102030405060708), 0x05060708);
	assert_int_equal(upper_32_bits(0x0102030405060708), 0x01020304);
}

static void logarithms_and_powers(void **state)
{
	(void)state;
	for (u32 k = 0; k < 63; k++) {
		assert_int_equal(ilog2(1ULL << k), k);
		assert_int_equal(ilog2((2ULL << k) - 1), k);
		assert_true(roundup_pow_of_two(1UL << k) == 1UL << k);
	}
	assert_int_equal(ilog2(U64_MAX), 63);
	assert_int_equal(roundup_pow_of_two(3), 4);
	assert_int_equal(roundup_pow_of_two(5), 8);
	assert_true(roundup_pow_of_two((1UL << 40) + 1) == 1UL << 41);
}

/* The disk has little-endian numbers, whatever the processor. */
static void little_endian(void **state)
{
	__le16 v16 = cpu_to_le16(0x0102);
	__le32 v32 = cpu_to_le32(0x01020304);
	__le64 v64 = cpu_to_le64(0x0102030405060708);

	(void)state;
	assert_memory_equal(&v16, "\x02\x01", 2);
	assert_memory_equal(&v32, "\x04\x03\x02\x01", 4);
	assert_memory_equal(&v64, "\x08\x07\x06\x05\x04\x03\x02\x01", 8);
	assert_int_equal(le16_to_cpu(v16), 0x0102);
	assert_int_equal(le32_to_cpu(v32), 0x01020304);
	assert_true(le64_to_cpu(v64) == 0x0102030405060708);
}

static void masks(void **state)
{
	(void)state;
	for (u32 l = 0; l < BITS_PER_LONG; l++)
		for (u32 h = l; h < BITS_PER_LONG; h++) {
			unsigned long mask = 0;

			for (u32 bit = l; bit <= h; bit++)
				mask |= BIT(bit);
			assert_true(GENMASK(h, l) == mask);
		}
}

static void first_bits(void **state)
{
	(void)state;
	for (u32 bit = 0; bit < 64; bit++)
		assert_int_equal(__ffs64(U64_MAX << bit), bit);
}

/* An array of bits against an array of bools, in the middle of a word and at its ends. */
static void arrays_of_bits(void **state)
{
	unsigned long bits[BITS_TO_LONGS(200)] = { 0 };
	bool is_set[200] = { 0 };
	u64 rng = 1;

	(void)state;
	assert_int_equal(BITS_TO_LONGS(BITS_PER_LONG), 1);
	assert_int_equal(BITS_TO_LONGS(BITS_PER_LONG + 1), 2);
	for (u32 i = 0; i < 2000; i++) {
		u32 n = below(&rng, 200);

		is_set[n] = one_in(&rng, 2);
		if (is_set[n])
			__set_bit(n, bits);
		else
			__clear_bit(n, bits);
		for (u32 k = 0; k < 200; k++)
			assert_int_equal(!!test_bit(k, bits), is_set[k]);
	}
}

static unsigned long plain_next_zero(const unsigned long *p, unsigned long size,
				     unsigned long n)
{
	while (n < size && test_bit(n, p))
		n++;
	return n < size ? n : size;
}

static void the_next_zero_bit(void **state)
{
	unsigned long bits[3];
	u64 rng = 1;

	(void)state;
	for (u32 round = 0; round < 200; round++) {
		u32 size = 1 + below(&rng, 3 * BITS_PER_LONG);

		/* Some words have no zero at all. */
		for (u32 i = 0; i < 3; i++)
			bits[i] = one_in(&rng, 2) ? ~0UL : ~(1UL << below(&rng, BITS_PER_LONG));
		for (u32 n = 0; n <= size + 1; n++)
			assert_int_equal(find_next_zero_bit(bits, size, n),
					 plain_next_zero(bits, size, n));
	}
}

/*
 * The kernel's hash: the high bits of the product with the golden ratio (linux/hash.h).
 * The simulator and the fuzzer find the chains that the kernel would have.
 */
static void the_hash_of_numbers(void **state)
{
	(void)state;
	assert_int_equal(hash_64(1, 32), 0x61C88646);
	assert_int_equal(hash_64(1, 8), 0x61);
	assert_int_equal(hash_64(2, 4), 0xC);
	assert_int_equal(hash_64(1ULL << 32, 32), 0x80B583EB);
	/* The product is taken modulo 2^64: this is minus the golden ratio. */
	assert_int_equal(hash_64(U64_MAX, 32), 0x9E3779B9);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(arguments_are_evaluated_once),
		cmocka_unit_test(least_and_greatest),
		cmocka_unit_test(comparison_in_another_type),
		cmocka_unit_test(division),
		cmocka_unit_test(halves),
		cmocka_unit_test(logarithms_and_powers),
		cmocka_unit_test(little_endian),
		cmocka_unit_test(masks),
		cmocka_unit_test(first_bits),
		cmocka_unit_test(arrays_of_bits),
		cmocka_unit_test(the_next_zero_bit),
		cmocka_unit_test(the_hash_of_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
