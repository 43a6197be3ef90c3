// SPDX-License-Identifier: GPL-2.0-only
/*
 * Metadata as the XML that cache_restore reads.
 *
 * Owns the XML.  Reads through the schema, as the kernel does.
 */

#include "metadata-check.h"

struct dump {
	FILE *out;
	bool all_dirty;
	bool hints;		/* this is the pass that prints hints */
};

static void put_base64(FILE *out, u32 hint)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				     "abcdefghijklmnopqrstuvwxyz0123456789+/";
	u8 b[6] = { hint, hint >> 8, hint >> 16, hint >> 24 };

	for (int i = 0; i < 6; i += 3) {
		u32 v = b[i] << 16 | b[i + 1] << 8 | b[i + 2];

		for (int k = 18; k >= 0; k -= 6)
			putc(i && k < 12 ? '=' : digits[v >> k & 63], out);
	}
}

/* Control characters become "?", because XML cannot hold them. */
static void put_attribute(FILE *out, const char *text)
{
	for (; *text; text++)
		switch (*text) {
		case '"':
			fputs("&quot;", out);
			break;
		case '<':
			fputs("&lt;", out);
			break;
		case '>':
			fputs("&gt;", out);
			break;
		case '&':
			fputs("&amp;", out);
			break;
		case '\'':
			fputs("&apos;", out);
			break;
		default:
			putc(*text < ' ' || *text > '~' ? '?' : *text, out);
		}
}

static int put_block(void *ctx, u32 cblock, u64 oblock, bool dirty, u32 hint,
		     bool hint_valid)
{
	struct dump *d = ctx;

	if (!d->hints) {
		fprintf(d->out, "    <mapping cache_block=\"%u\" origin_block=\"%llu\" dirty=\"%s\"/>\n",
			cblock, oblock,
			dirty || d->all_dirty ? "true" : "false");
		return 0;
	}
	if (!hint_valid)
		return 0;
	fprintf(d->out, "    <hint cache_block=\"%u\" data=\"", cblock);
	put_base64(d->out, hint);
	fputs("\"/>\n", d->out);
	return 0;
}

/*
 * The flag is an element, because every cache_restore refuses an element that it
 * does not know. cache_restore 0.9 would overlook an attribute.
 */
static void put_log(FILE *out)
{
	fputs("  <!-- A write log is in use: the cache device has newer data of some origin blocks.\n"
	      "       'hearth-metadata settle' copies them home; without this element they are lost. -->\n"
	      "  <write_log/>\n", out);
}

int metadata_dump(struct cmd *cmd, FILE *out)
{
	struct dump d = { out, !cmd_opened_clean(cmd), false };
	u32 version[3];
	int r;

	cmd_policy_version(cmd, version);
	fprintf(out, "<superblock uuid=\"\" block_size=\"%u\" nr_cache_blocks=\"%u\" policy=\"",
		cmd_data_block_size(cmd), cmd_cache_blocks(cmd));
	put_attribute(out, cmd_policy_name(cmd));
	fputs("\" hint_width=\"4\">\n", out);
	if (cmd_log_flag(cmd))
		put_log(out);
	fputs("  <mappings>\n", out);
	r = cmd_load(cmd, NULL, NULL, put_block, &d);
	fputs("  </mappings>\n  <hints>\n", out);
	d.hints = true;
	if (!r)
		r = cmd_load(cmd, cmd_policy_name(cmd), version, put_block, &d);
	if (r)
		return r;
	fputs("  </hints>\n</superblock>\n", out);
	return fflush(out) || ferror(out) ? -EIO : 0;
}
