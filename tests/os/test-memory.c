// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory, errors in the place of a pointer, strings, lists and messages of os/, as the
 * kernel has them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>
#include <cmocka.h>

#include "os/os.h"
#include "os/sync.h"

/* ---- Memory ---- */

/* The allocator returns memory that the round before has filled. */
static void memory_is_zeroed(void **state)
{
	(void)state;
	for (int i = 0; i < 50; i++) {
		u8 *p = os_zalloc(100), *q = kvcalloc(25, 4, GFP_KERNEL);
		u8 *r = kzalloc(100, GFP_KERNEL);

		assert_null(memchr_inv(p, 0, 100));
		assert_null(memchr_inv(q, 0, 100));
		assert_null(memchr_inv(r, 0, 100));
		memset(p, 0xaa, 100);
		memset(q, 0xaa, 100);
		memset(r, 0xaa, 100);
		os_free(p);
		kvfree(q);
		kfree(r);
	}
	os_free(NULL);
	kvfree(NULL);
	kfree(NULL);
}

static unsigned int asked;

static bool every_second(void)
{
	return asked++ % 2;
}

static void a_test_makes_allocations_fail(void **state)
{
	void *p[3];

	(void)state;
	asked = 0;
	os_alloc_fails = every_second;
	p[0] = os_zalloc(1);
	assert_null(os_zalloc(1));
	p[1] = kvcalloc(1, 1, GFP_KERNEL);
	assert_null(kvcalloc(1, 1, GFP_KERNEL));
	p[2] = kzalloc(1, GFP_KERNEL);
	assert_null(kzalloc(1, GFP_KERNEL));
	os_alloc_fails = NULL;
	assert_int_equal(asked, 6);
	for (int i = 0; i < 3; i++) {
		assert_non_null(p[i]);
		os_free(p[i]);
	}
}

/* A number of elements from damaged metadata must not make a small array. */
static void an_array_above_all_memory_fails(void **state)
{
	(void)state;
	assert_null(kvcalloc(SIZE_MAX / 4 + 2, 4, GFP_KERNEL));
	assert_null(kvmalloc_array(SIZE_MAX / 4 + 2, 4, GFP_KERNEL));
}

/* ---- Errors in the place of a pointer ---- */

static void errors_are_no_pointers(void **state)
{
	int v;

	(void)state;
	for (long e = 1; e <= 4095; e++) {
		assert_true(IS_ERR(ERR_PTR(-e)));
		assert_int_equal(PTR_ERR(ERR_PTR(-e)), -e);
	}
	assert_false(IS_ERR(ERR_PTR(-4096)));
	assert_false(IS_ERR(&v));
	assert_false(IS_ERR(NULL));
}

/* ---- Strings ---- */

static void the_first_other_byte(void **state)
{
	u8 b[9];

	(void)state;
	memset(b, 0xee, sizeof(b));
	assert_null(memchr_inv(b, 0xee, sizeof(b)));
	/* As memset(), it takes the low 8 bits. */
	assert_null(memchr_inv(b, 0x1ee, sizeof(b)));
	b[8] = 0;
	assert_null(memchr_inv(b, 0xee, 8));
	assert_ptr_equal(memchr_inv(b, 0xee, 9), b + 8);
	b[3] = 1;
	assert_ptr_equal(memchr_inv(b, 0xee, 9), b + 3);
	assert_null(memchr_inv(b, 0, 0));
}

/* Not inlined, because the compiler warns of strings that are shorter than @size. */
__attribute__((noipa))
static long copy(char *dst, const char *src, size_t size)
{
	return strscpy(dst, src, size);
}

static void copies_of_strings_end(void **state)
{
	char dst[5];

	(void)state;
	assert_int_equal(copy(dst, "abcd", sizeof(dst)), 4);
	assert_string_equal(dst, "abcd");
	memset(dst, '-', sizeof(dst));
	assert_int_equal(copy(dst, "vwxyz", sizeof(dst)), -E2BIG);
	assert_string_equal(dst, "vwxy");
	assert_int_equal(copy(dst, "", sizeof(dst)), 0);
	assert_string_equal(dst, "");
	assert_int_equal(copy(dst, "abc", 1), -E2BIG);
	assert_string_equal(dst, "");
}

static void a_copy_to_no_room_writes_nothing(void **state)
{
	char dst = 'x';

	(void)state;
	assert_int_equal(copy(&dst, "abc", 0), -E2BIG);
	assert_int_equal(dst, 'x');
}

/* ---- Lists ---- */

struct item {
	int before;
	struct list_head link;
	int n;
};

static struct list_head list, other;
static struct item items[6];

static void lists_start(void)
{
	INIT_LIST_HEAD(&list);
	INIT_LIST_HEAD(&other);
	for (int i = 0; i < 6; i++) {
		items[i].n = i;
		INIT_LIST_HEAD(&items[i].link);
	}
}

/* The items of @l are numbered as @numbers says, forwards and backwards. */
static void assert_list(const struct list_head *l, const char *numbers)
{
	const struct list_head *p = l->next;

	for (const char *c = numbers; *c; c++, p = p->next) {
		assert_ptr_not_equal(p, l);
		assert_int_equal(list_entry(p, struct item, link)->n, *c - '0');
		assert_ptr_equal(p->next->prev, p);
		assert_ptr_equal(p->prev->next, p);
	}
	assert_ptr_equal(p, l);
	assert_int_equal(list_empty(l), !*numbers);
}

static void a_list_keeps_the_order(void **state)
{
	(void)state;
	lists_start();
	assert_list(&list, "");
	for (int i = 0; i < 4; i++)
		list_add_tail(&items[i].link, &list);
	assert_list(&list, "0123");
	assert_ptr_equal(list_first_entry(&list, struct item, link), &items[0]);
	list_del_init(&items[0].link);
	list_del_init(&items[2].link);
	list_del_init(&items[3].link);
	assert_list(&list, "1");
	assert_true(list_empty(&items[2].link));
	/* An item that is in no list may leave again. */
	list_del_init(&items[2].link);
	list_del_init(&items[1].link);
	assert_list(&list, "");
}

static void a_list_goes_behind_another(void **state)
{
	(void)state;
	lists_start();
	list_splice_tail_init(&other, &list);
	assert_list(&list, "");
	for (int i = 0; i < 6; i++)
		list_add_tail(&items[i].link, i < 4 ? &list : &other);
	list_splice_tail_init(&other, &list);
	assert_list(&list, "012345");
	assert_list(&other, "");
	list_splice_tail_init(&list, &other);
	assert_list(&list, "");
	assert_list(&other, "012345");
	list_splice_tail_init(&list, &other);
	assert_list(&other, "012345");
}

/* ---- Messages and modules ---- */

/* How many bytes os_err() has written. */
static long said_by_os_err(void)
{
	FILE *f = tmpfile();
	int kept = dup(STDERR_FILENO);
	long bytes;

	fflush(stderr);
	dup2(fileno(f), STDERR_FILENO);
	os_err("block %d", 5);
	fflush(stderr);
	dup2(kept, STDERR_FILENO);
	close(kept);
	fseek(f, 0, SEEK_END);
	bytes = ftell(f);
	fclose(f);
	return bytes;
}

static void a_quiet_test_reads_no_messages(void **state)
{
	(void)state;
	assert_int_equal(said_by_os_err(), strlen("metadata: block 5\n"));
	os_quiet = true;
	assert_int_equal(said_by_os_err(), 0);
	os_quiet = false;
}

MODULE_LICENSE("GPL");
MODULE_ALIAS("one");
MODULE_ALIAS("two");

extern const char *const __start_os_aliases[], *const __stop_os_aliases[];

static void every_alias_is_in_the_section(void **state)
{
	(void)state;
	assert_int_equal(__stop_os_aliases - __start_os_aliases, 2);
	/* The compiler chooses the order. */
	assert_int_equal(!strcmp(__start_os_aliases[0], "one") +
			 !strcmp(__start_os_aliases[1], "one"), 1);
	assert_int_equal(!strcmp(__start_os_aliases[0], "two") +
			 !strcmp(__start_os_aliases[1], "two"), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(memory_is_zeroed),
		cmocka_unit_test(a_test_makes_allocations_fail),
		cmocka_unit_test(an_array_above_all_memory_fails),
		cmocka_unit_test(errors_are_no_pointers),
		cmocka_unit_test(the_first_other_byte),
		cmocka_unit_test(copies_of_strings_end),
		cmocka_unit_test(a_copy_to_no_room_writes_nothing),
		cmocka_unit_test(a_list_keeps_the_order),
		cmocka_unit_test(a_list_goes_behind_another),
		cmocka_unit_test(a_quiet_test_reads_no_messages),
		cmocka_unit_test(every_alias_is_in_the_section),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
