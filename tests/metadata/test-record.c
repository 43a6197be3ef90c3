// SPDX-License-Identifier: GPL-2.0-only
/*
 * The text of the record: its bytes, its room, and what an older module, which
 * skips the packed line, makes of it and leaves behind.
 */

#include "util.h"
#include "old-record.h"
#include "dm-target/cache-setting-list.h"
#include "policies/heat-settings.h"
#include "policies/nhit-settings.h"

struct setting {
	const char *key;
	u32 most;
};

#define ROW(key, unit, def, min, max, help)	{ #key, max },

/* All that one policy and the engine can store, each at its longest. */
static const struct setting settings[] = {
	CACHE_SETTINGS(ROW)
	HEAT_SETTINGS(ROW)
};

/* The settings that stay of another policy that was in use before. */
static const struct setting of_nhit[] = {
	NHIT_SETTINGS(ROW)
};

/* The engine's notes for itself. */
static const struct setting notes[] = {
	{ "own", 1 },
};

/*
 * Settings that are to come; the names and the largest values are at least as
 * long as theirs will be. One that is in a list above leaves this one.
 */
static const struct setting to_come[] = {
	{ "absorb_memory", U32_MAX },
};

static const char session[] = "fedcba9876543210";
/* A note for the engine, too, but no number. */
static const char through[] = "76543210";

typedef int (*put_fn)(char *text, const char *key, const char *value);

/* ---- Small steps ---- */

static int put_number(put_fn put, char *text, const char *key, u32 number)
{
	char value[16];

	snprintf(value, sizeof(value), "%u", number);
	return put(text, key, value);
}

/* Each at its largest less @less. Returns the first error. */
static int put_rows(put_fn put, char *text, const struct setting *rows,
		    size_t nr, u32 less)
{
	int r = 0;

	for (size_t i = 0; !r && i < nr; i++)
		r = put_number(put, text, rows[i].key, rows[i].most - less);
	return r;
}

#define PUT_ALL(put, text, rows, less)	\
	put_rows(put, text, rows, ARRAY_SIZE(rows), less)

static void assert_value(const char *text, const char *key, const char *want)
{
	char value[CACHE_RECORD_BYTES];

	if (!want) {
		assert_false(cache_record_get(text, key, value, sizeof(value)));
		return;
	}
	assert_true(cache_record_get(text, key, value, sizeof(value)));
	assert_string_equal(value, want);
}

static void assert_rows(const char *text, const struct setting *rows, size_t nr,
			u32 less)
{
	char want[16];

	for (size_t i = 0; i < nr; i++) {
		snprintf(want, sizeof(want), "%u", rows[i].most - less);
		assert_value(text, rows[i].key, want);
	}
}

#define ASSERT_ALL(text, rows, less)	\
	assert_rows(text, rows, ARRAY_SIZE(rows), less)

static void put_words(put_fn put, char *text)
{
	assert_ok(put(text, "session", session));
	assert_ok(put(text, "mode", "writearound"));
}

static void assert_words(const char *text)
{
	assert_value(text, "session", session);
	assert_value(text, "mode", "writearound");
}

/* The fullest that a text gets. */
static void fill(char text[CACHE_RECORD_BYTES])
{
	memset(text, 0, CACHE_RECORD_BYTES);
	put_words(cache_record_put, text);
	assert_ok(PUT_ALL(cache_record_put, text, notes, 0));
	assert_ok(cache_record_put(text, "through", through));
	assert_ok(PUT_ALL(cache_record_put, text, of_nhit, 0));
	assert_ok(PUT_ALL(cache_record_put, text, settings, 0));
	assert_ok(PUT_ALL(cache_record_put, text, to_come, 0));
}

/* ---- The bytes ---- */

/* As many as have lines in an older module; returns how many these are. */
static size_t put_with_room(char *text, u32 less)
{
	size_t nr = 0;

	put_words(old_record_put, text);
	while (nr < ARRAY_SIZE(settings) &&
	       !put_number(old_record_put, text, settings[nr].key,
			   settings[nr].most - less))
		nr++;
	return nr;
}

/* While lines have room, the bytes are those of an older module. */
static void same_bytes_while_there_is_room(void **state)
{
	char ours[CACHE_RECORD_BYTES] = "", theirs[CACHE_RECORD_BYTES] = "";
	size_t nr;

	(void)state;
	for (u32 less = 0; less < 2; less++) {
		nr = put_with_room(theirs, less);
		/* Most have, even at their largest. */
		assert_in_range(nr, ARRAY_SIZE(settings) / 2, ARRAY_SIZE(settings));
		put_words(cache_record_put, ours);
		assert_ok(put_rows(cache_record_put, ours, settings, nr, less));
		assert_string_equal(ours, theirs);
		assert_rows(theirs, settings, nr, less);
		assert_words(theirs);
	}
	assert_ok(cache_record_put(ours, "mode", NULL));
	assert_ok(old_record_put(theirs, "mode", NULL));
	assert_string_equal(ours, theirs);
}

static const char * const number_keys[] = {
	"a", "zero_one", "max_intents", "other"
};

static void bytes_of_the_packed_line(void **state)
{
	char text[CACHE_RECORD_BYTES] = "";
	char filler[CACHE_RECORD_BYTES];

	(void)state;
	memset(filler, 'x', sizeof(filler));
	filler[CMD_RECORD_MAX - 29] = '\0';
	assert_ok(cache_record_put(text, number_keys[0], "35"));
	assert_ok(cache_record_put(text, number_keys[1], "0"));
	assert_ok(cache_record_put(text, number_keys[2], "4294967295"));
	assert_string_equal(text, "a 35\nzeon 0\nmain 4294967295\n");
	/* The filler goes in when all three are packed, the last number then. */
	assert_ok(cache_record_put(text, "mode", filler));
	assert_memory_equal(text, "= aZzeon0main1Z141Z3\nmo x", 25);
	assert_ok(cache_record_put(text, number_keys[3], "36"));
	assert_memory_equal(text, "= aZzeon0main1Z141Z3ot10\nmo x", 29);
	assert_value(text, "a", "35");
	assert_value(text, "zero_one", "0");
	assert_value(text, "max_intents", "4294967295");
	assert_value(text, "other", "36");
	assert_value(text, "ao", NULL);
	/* The last one takes the line with it. */
	for (size_t i = 0; i < ARRAY_SIZE(number_keys); i++)
		assert_ok(cache_record_put(text, number_keys[i], NULL));
	assert_memory_equal(text, "mo x", 4);
	assert_ok(cache_record_put(text, "mode", NULL));
	assert_string_equal(text, "");
}

/* Bytes that no module writes. */
static void strange_lines(void **state)
{
	static const struct {
		const char *text, *key, *value;
	} cases[] = {
		{ "= ab1cd2\nab 9\n", "ab", "9" },	/* the own line wins */
		{ "= ab1cd2\nab 9\n", "cd", "2" },
		{ "= ab1ab2\n", "ab", "1" },
		{ "= ab1\n= ab2cd3\n", "ab", "1" },
		{ "= ab1\n= ab2cd3\n", "cd", NULL },
		{ "= abc1\n", "ab", NULL },
		{ "= ab1\n", "ab_c", NULL },
		{ "= ab\n", "ab", NULL },
		{ "= 1ab2\n", "ab", NULL },
		{ "= ab1 cd2\n", "cd", NULL },
		{ "= ab1!cd2\n", "ab", "1" },
		{ "= ab1!cd2\n", "cd", NULL },
		{ "= ab00Z\n", "ab", "35" },
		{ "= ab1Z141Z3\n", "ab", "4294967295" },
		{ "= ab1Z141Z4\n", "ab", NULL },
		{ "= abZZZZZZZZZZZZZZZZZZZZ\n", "ab", NULL },
		{ "= abz\n", "ab", NULL },
		{ "=ab1\n", "ab", NULL },
		{ "=\n= \n", "ab", NULL },
		{ "= ab1", "ab", NULL },	/* half a line */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char text[CACHE_RECORD_BYTES] = "";

		memcpy(text, cases[i].text, strlen(cases[i].text));
		cache_record_take(text, strlen(text));
		assert_value(text, cases[i].key, cases[i].value);
	}
}

/* A malformed line gives way, and the text in front of it stays. */
static void malformed_line_is_mended(void **state)
{
	char text[CACHE_RECORD_BYTES] = "= ab1cd?ef2\n";
	char filler[CACHE_RECORD_BYTES];

	(void)state;
	memset(filler, 'x', sizeof(filler));
	filler[CMD_RECORD_MAX - 20] = '\0';
	assert_ok(cache_record_put(text, "gh", "7"));
	assert_ok(cache_record_put(text, "mode", filler));
	assert_memory_equal(text, "= ab1gh7\nmo x", 13);
}

/* A key that no module looks up is not moved. */
static void a_long_name_stays(void **state)
{
	static const char line[] = "abcdefghijklmnopqrst 1\n";
	char text[CACHE_RECORD_BYTES] = "", filler[CACHE_RECORD_BYTES];

	(void)state;
	memcpy(text, line, sizeof(line));
	memset(filler, 'x', sizeof(filler));
	filler[CMD_RECORD_MAX - 36] = '\0';
	assert_ok(cache_record_put(text, "gh", "1000000"));
	assert_ok(cache_record_put(text, "mode", filler));
	assert_memory_equal(text, line, strlen(line));
	assert_memory_equal(text + strlen(line), "= ghLFLS\nmo x", 13);
}

/* The first line of a key holds: a number behind it must not take its place. */
static void a_second_line_is_not_packed(void **state)
{
	char text[CACHE_RECORD_BYTES] = "mo x\nmo 5\n";
	char filler[CACHE_RECORD_BYTES];

	(void)state;
	memset(filler, 'x', sizeof(filler));
	filler[CMD_RECORD_MAX - 24] = '\0';
	assert_ok(cache_record_put(text, "gh", "1000000"));
	assert_ok(cache_record_put(text, "session", filler));
	assert_value(text, "mode", "x");
	assert_value(text, "gh", "1000000");
}

/* An older value must not show when the newest goes. */
static void nothing_is_left_of_what_goes(void **state)
{
	static const char * const texts[] = {
		"ab 1\nab 2\n", "= ab1ab2\n", "= ab1\nab 2\n",
		"cd 3\n= ab1ef4ab2\nab 5\nab 6\n", "= ab1\n= ab2\n",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		char text[CACHE_RECORD_BYTES] = "";

		memcpy(text, texts[i], strlen(texts[i]));
		assert_ok(cache_record_put(text, "ab", NULL));
		assert_value(text, "ab", NULL);
		assert_value(text, "cd", i == 3 ? "3" : NULL);
		assert_value(text, "ef", i == 3 ? "4" : NULL);
	}
}

/* ---- Damage ---- */

/* The text's module reads and writes @key without leaving the text. */
static void use(const char *text, const char *key)
{
	char value[16], changed[CACHE_RECORD_BYTES];
	int r;

	if (cache_record_get(text, key, value, sizeof(value)))
		assert_true(strlen(value) < sizeof(value) && !strchr(value, '\n'));
	memcpy(changed, text, sizeof(changed));
	r = cache_record_put(changed, key, "1000000");
	assert_true(strlen(changed) <= CMD_RECORD_MAX);
	if (!r) {
		assert_value(changed, key, "1000000");
		return;
	}
	assert_int_equal(r, -ENOSPC);
	assert_string_equal(changed, text);
}

static void use_all(const char *text)
{
	char removed[CACHE_RECORD_BYTES];

	memcpy(removed, text, sizeof(removed));
	use(text, "session");
	use(text, "mode");
	for (size_t i = 0; i < ARRAY_SIZE(settings); i++) {
		use(text, settings[i].key);
		assert_ok(cache_record_put(removed, settings[i].key, NULL));
		assert_value(removed, settings[i].key, NULL);
	}
}

/*
 * The superblock's checksum voids a record with a wrong byte. This is for a record
 * that some program has written so.
 */
static void any_wrong_byte(void **state)
{
	static const char bytes[] = { 0, '\n', ' ', '=', 'a', 'z', '0', 'Z', '!', -1 };
	char full[CACHE_RECORD_BYTES], text[CACHE_RECORD_BYTES];

	(void)state;
	fill(full);
	for (size_t at = 0; full[at]; at++) {
		for (size_t i = 0; i < ARRAY_SIZE(bytes) + 8; i++) {
			memcpy(text, full, sizeof(text));
			text[at] = i < 8 ? full[at] ^ (1 << i) : bytes[i - 8];
			cache_record_take(text, strlen(full));
			use_all(text);
		}
	}
}

/* A text that ends early: each setting has its value, or none. */
static void cut_anywhere(void **state)
{
	char full[CACHE_RECORD_BYTES], text[CACHE_RECORD_BYTES];
	char value[CACHE_RECORD_BYTES], want[16];
	u32 kept = 0;

	(void)state;
	fill(full);
	for (int length = -1; length <= (int)strlen(full); length++) {
		memcpy(text, full, sizeof(text));
		cache_record_take(text, length);
		use_all(text);
		for (size_t i = 0; i < ARRAY_SIZE(settings); i++) {
			if (!cache_record_get(text, settings[i].key, value,
					      sizeof(value)))
				continue;
			snprintf(want, sizeof(want), "%u", settings[i].most);
			assert_string_equal(value, want);
			kept++;
		}
	}
	/* Some lines stand before others that are cut off. */
	assert_true(kept > ARRAY_SIZE(settings));
}

/* ---- Room ---- */

static void an_older_module_has_no_room(void **state)
{
	char text[CACHE_RECORD_BYTES] = "";

	(void)state;
	assert_true(put_with_room(text, 0) < ARRAY_SIZE(settings));
	assert_int_equal(PUT_ALL(old_record_put, text, to_come, 0), -ENOSPC);
	assert_int_equal(PUT_ALL(old_record_put, text, of_nhit, 0), -ENOSPC);
}

static u32 room_left(const char *text)
{
	char value[CACHE_RECORD_BYTES] = "", copy[CACHE_RECORD_BYTES];
	u32 used = strlen("sp x\n"), nr = 0;

	memcpy(copy, text, sizeof(copy));
	for (; !cache_record_put(copy, "spare", value); nr++)
		value[nr] = 'x';
	return nr ? nr - 1 + used - 1 : 0;
}

static void all_have_room(void **state)
{
	char text[CACHE_RECORD_BYTES];

	(void)state;
	fill(text);
	printf("note: %u bytes are left\n", room_left(text));
	/* Set again, each to a value of its own. */
	for (u32 less = 0; less < 2; less++) {
		assert_ok(PUT_ALL(cache_record_put, text, settings, less));
		assert_ok(PUT_ALL(cache_record_put, text, notes, less));
		assert_ok(PUT_ALL(cache_record_put, text, of_nhit, less));
		assert_ok(PUT_ALL(cache_record_put, text, to_come, less));
		put_words(cache_record_put, text);
		ASSERT_ALL(text, settings, less);
		ASSERT_ALL(text, notes, less);
		ASSERT_ALL(text, of_nhit, less);
		ASSERT_ALL(text, to_come, less);
		assert_words(text);
	}
	/* All short forms differ: each setting goes alone. */
	for (size_t i = 0; i < ARRAY_SIZE(settings); i++) {
		assert_ok(cache_record_put(text, settings[i].key, NULL));
		assert_value(text, settings[i].key, NULL);
		assert_rows(text, settings + i + 1,
			    ARRAY_SIZE(settings) - i - 1, 1);
	}
	ASSERT_ALL(text, of_nhit, 1);
	ASSERT_ALL(text, to_come, 1);
	assert_words(text);
}

/* A record that an older module has filled is no obstacle. */
static void upgrade_of_a_full_record(void **state)
{
	char text[CACHE_RECORD_BYTES] = "";

	(void)state;
	put_with_room(text, 0);
	cache_record_take(text, strlen(text));
	assert_ok(PUT_ALL(cache_record_put, text, settings, 0));
	assert_ok(PUT_ALL(cache_record_put, text, to_come, 0));
	assert_ok(PUT_ALL(cache_record_put, text, of_nhit, 0));
	ASSERT_ALL(text, settings, 0);
	ASSERT_ALL(text, to_come, 0);
	ASSERT_ALL(text, of_nhit, 0);
	assert_words(text);
}

/* ---- An older module in between ---- */

/* It finds what it finds as it was put, and no other value. */
static void assert_old_skips(const char *text, const struct setting *rows,
			     size_t nr)
{
	char value[CACHE_RECORD_BYTES], want[16];

	for (size_t i = 0; i < nr; i++) {
		if (!old_record_get(text, rows[i].key, value, sizeof(value)))
			continue;
		snprintf(want, sizeof(want), "%u", rows[i].most);
		assert_string_equal(value, want);
	}
}

static void an_older_module_skips_the_packed_line(void **state)
{
	char text[CACHE_RECORD_BYTES], value[CACHE_RECORD_BYTES];

	(void)state;
	fill(text);
	old_record_take(text, strlen(text));
	assert_old_skips(text, settings, ARRAY_SIZE(settings));
	assert_old_skips(text, of_nhit, ARRAY_SIZE(of_nhit));
	assert_old_skips(text, to_come, ARRAY_SIZE(to_come));
	assert_true(old_record_get(text, "session", value, sizeof(value)));
	assert_string_equal(value, session);
	assert_true(old_record_get(text, "mode", value, sizeof(value)));
	assert_string_equal(value, "writearound");

	/* It replaces the words, because they have lines of their own. */
	assert_ok(old_record_put(text, "session", "0123456789abcdef"));
	assert_ok(old_record_put(text, "mode", NULL));
	assert_value(text, "session", "0123456789abcdef");
	assert_value(text, "mode", NULL);
	/* In the room of the mode it stores a number that is packed as well. */
	assert_ok(old_record_put(text, "dirty_low", "7"));
	assert_value(text, "dirty_low", "7");
	assert_ok(old_record_put(text, "dirty_low", NULL));
	ASSERT_ALL(text, settings, 0);
	ASSERT_ALL(text, of_nhit, 0);
	ASSERT_ALL(text, to_come, 0);
}

/* ---- Any order, old and new in turn ---- */

#define NR_KEYS	12
static const char * const any_keys[NR_KEYS] = {
	"session", "mode", "max_intents", "seq_cutoff", "seq_again",
	"full_write_level", "a", "b_c", "d1_e", "Upper_case", "_f_g_h_i_j_k_l_m",
	"zz_zz_zz_zz_zz_zz_zz",
};

struct model {
	char text[CACHE_RECORD_BYTES];
	char value[NR_KEYS][CACHE_RECORD_BYTES];	/* "": none */
};

static void any_number(u64 *rng, char *value)
{
	sprintf(value, "%u", (u32)(rnd(rng) >> (32 + below(rng, 32))));
}

static void any_value(u64 *rng, char *value)
{
	static const char * const words[] = {
		"x", "-1", "+1", "007", "00", "0x1F", "1 2", "4294967296",
		"18446744073709551615", "writethrough", "1Z", "1a",
	};

	if (one_in(rng, 4))
		strcpy(value, words[below(rng, ARRAY_SIZE(words))]);
	else if (one_in(rng, 8))
		sprintf(value, "%0*d", (int)below(rng, 150) + 1, 0);
	else
		any_number(rng, value);
}

static bool is_number(const char *value)
{
	char back[16];

	snprintf(back, sizeof(back), "%u", (u32)strtoull(value, NULL, 10));
	return !strcmp(back, value);
}

/* Bytes with all numbers packed that can be; the new module needs no more. */
static size_t least_bytes(const struct model *m)
{
	size_t sum = 0, packed = 0;

	for (u32 i = 0; i < NR_KEYS; i++) {
		const char *value = m->value[i];
		char name[OLD_SHORT_KEY_LEN];

		if (!*value)
			continue;
		old_shorten(name, any_keys[i]);
		if (!is_number(value) ||
		    strspn(name, "abcdefghijklmnopqrstuvwxyz") != strlen(name)) {
			sum += strlen(name) + strlen(value) + 2;
			continue;
		}
		packed += strlen(name) + 1;
		for (u32 v = strtoull(value, NULL, 10); v >= 36; v /= 36)
			packed++;
	}
	return sum + packed + (packed ? strlen("= \n") : 0);
}

static void compare(const struct model *m)
{
	assert_true(strlen(m->text) <= CMD_RECORD_MAX);
	for (u32 i = 0; i < NR_KEYS; i++)
		assert_value(m->text, any_keys[i],
			     *m->value[i] ? m->value[i] : NULL);
}

/* Returns whether the value was put. */
static bool step(struct model *m, u64 *rng)
{
	char before[CACHE_RECORD_BYTES], had[CACHE_RECORD_BYTES];
	u32 key = below(rng, NR_KEYS);
	bool old = one_in(rng, 4), remove = !old && one_in(rng, 6);
	put_fn put = old ? old_record_put : cache_record_put;
	int r;

	memcpy(before, m->text, sizeof(before));
	memcpy(had, m->value[key], sizeof(had));
	m->value[key][0] = '\0';
	if (old)
		any_number(rng, m->value[key]);
	else if (!remove)
		any_value(rng, m->value[key]);
	r = put(m->text, any_keys[key], remove ? NULL : m->value[key]);
	if (r) {
		assert_int_equal(r, -ENOSPC);
		assert_true(old || least_bytes(m) > CMD_RECORD_MAX);
		assert_memory_equal(m->text, before, sizeof(before));
		memcpy(m->value[key], had, sizeof(had));
	}
	compare(m);
	return !r;
}

static void any_order(void **state)
{
	u64 rng = test_seed("record", 1);
	u32 put = 0, refused = 0, packed = 0;

	(void)state;
	for (u32 i = 0; i < rounds(100); i++) {
		struct model m = { 0 };

		for (u32 j = 0; j < 200; j++) {
			if (step(&m, &rng))
				put++;
			else
				refused++;
			packed += !!strstr(m.text, "= ");
		}
	}
	printf("note: %u put, %u refused, %u texts with a packed line\n", put,
	       refused, packed);
	assert_true(put && refused && packed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(same_bytes_while_there_is_room),
		cmocka_unit_test(bytes_of_the_packed_line),
		cmocka_unit_test(strange_lines),
		cmocka_unit_test(malformed_line_is_mended),
		cmocka_unit_test(a_long_name_stays),
		cmocka_unit_test(a_second_line_is_not_packed),
		cmocka_unit_test(nothing_is_left_of_what_goes),
		cmocka_unit_test(any_wrong_byte),
		cmocka_unit_test(cut_anywhere),
		cmocka_unit_test(an_older_module_has_no_room),
		cmocka_unit_test(all_have_room),
		cmocka_unit_test(upgrade_of_a_full_record),
		cmocka_unit_test(an_older_module_skips_the_packed_line),
		cmocka_unit_test(any_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
