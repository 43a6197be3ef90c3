// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tables by libdevmapper's dm_report.  It must not know caches.
 */
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "report.h"

struct report {
	struct dm_report_object_type types[2];
	char prefix[32];
	struct dm_report_group *group;
	struct dm_report *rh;
	char *columns;
	/* The unit of bytes, and the bytes of one; factor 0 chooses a unit by the number. */
	char unit;
	uint64_t factor;
	bool no_suffix;
	const char *unknown;
};

#define MIB_SECTORS	2048

static const char nothing[] = "";

/* ---- libdevmapper prints by its log ---- */

static char *help, first_error[256];
static size_t help_len;
static FILE *help_file;

#define LEVEL		7	/* the bits of a log level; 3 is an error, 4 a line of output */

/*
 * Libdevmapper calls this for each line.  Lines of a report go to stdout.  Lines that come
 * while a report is being opened are help.  They are kept until it is clear that there is
 * no error.
 */
__attribute__((format(printf, 5, 6)))
static void hear(int level, const char *file, int line, int error, const char *format,
		 ...)
{
	va_list ap;

	(void)file;
	(void)line;
	(void)error;
	level &= LEVEL;
	va_start(ap, format);
	if (level == 4) {
		vfprintf(help_file ?: stdout, format, ap);
		fputc('\n', help_file ?: stdout);
	} else if (level < 4 && !first_error[0]) {
		vsnprintf(first_error, sizeof(first_error), format, ap);
	}
	va_end(ap);
}

static void listen(void)
{
	first_error[0] = '\0';
	help_file = open_memstream(&help, &help_len);
	if (!help_file)
		abort();
	dm_log_with_errno_init(hear);
}

static void listen_no_more(void)
{
	fclose(help_file);
	help_file = NULL;
	if (!first_error[0])
		fputs(help, stdout);
	free(help);
}

/* ---- Members ---- */

REPORT_FUNCTION(report_text)
{
	const char *text = *(const char * const *)data ?: nothing;


	return dm_report_field_string(rh, field, &text);
}

REPORT_FUNCTION(report_number)
{
	const struct report *r = private;
	const uint64_t *n = data;

	if (*n != UNKNOWN)
		return dm_report_field_uint64(rh, field, n);
	dm_report_field_set_value(field, r->unknown, n);
	return 1;
}

/*
 * dm_report selects and sorts amounts of bytes by a double, in sectors.  A number that is
 * not known is infinite, so it is above every limit.
 */
REPORT_FUNCTION(report_bytes)
{
	const struct report *r = private;
	const uint64_t *bytes = data;
	double *sectors = dm_pool_alloc(mem, sizeof(*sectors));
	const char *text = r->unknown;

	if (!sectors)
		return 0;
	*sectors = *bytes == UNKNOWN ? INFINITY : *bytes / 512.0;
	if (*bytes != UNKNOWN)
		text = dm_size_to_string(mem, *bytes / 512, r->unit, 1,
					 r->factor, !r->no_suffix, DM_SIZE_UNIT);
	if (!text)
		return 0;
	dm_report_field_set_value(field, text, sectors);
	return 1;
}

/*
 * These fields have the type of sizes, because dm_report sorts its own percents as strings,
 * and has no fractions.  In a selection dm_report takes a size without a unit for MiB.  So
 * the value 1 is stored as the sectors of one MiB.
 */
static int set_real(const struct report *r, struct dm_pool *mem,
		    struct dm_report_field *field, double value, int digits)
{
	double *sectors = dm_pool_alloc(mem, sizeof(*sectors));
	const char *kept = r->unknown;
	char text[32];

	if (isfinite(value)) {
		snprintf(text, sizeof(text), "%.*f", digits, value);
		kept = dm_pool_strdup(mem, text);
	}
	if (!sectors || !kept)
		return 0;
	*sectors = isfinite(value) ? value * MIB_SECTORS : INFINITY;
	dm_report_field_set_value(field, kept, sectors);
	return 1;
}

REPORT_FUNCTION(report_percent)
{
	return set_real(private, mem, field, 100 * *(const double *)data, 2);
}

/* Prints about three digits, so that a column stays narrow. */
REPORT_FUNCTION(report_real)
{
	double value = *(const double *)data;

	return set_real(private, mem, field, value,
			value < 9.995 ? 2 : value < 99.95 ? 1 : 0);
}

/* ---- A report ---- */

static void *same(void *row)
{
	return row;
}

bool report_wanted(const struct options *o)
{
	return o->fields || o->keys || o->selection || o->units || o->separator ||
	       o->report_format || o->no_headings || o->no_suffix;
}

static bool take_format(const char *format, dm_report_group_type_t *type)
{
	*type = DM_REPORT_GROUP_SINGLE;
	if (!format || !strcmp(format, "basic"))
		return true;
	*type = DM_REPORT_GROUP_JSON;
	if (!strcmp(format, "json"))
		return true;
	complain("--reportformat %s: there are basic and json", format);
	return false;
}

static bool take_units(struct report *r, const struct options *o)
{
	r->no_suffix = o->no_suffix;
	r->unit = 'h';
	if (!o->units)
		return true;
	r->factor = dm_units_to_factor(o->units, &r->unit, 0, NULL);
	if (r->factor)
		return true;
	complain("--units %s: there are h, b, s, k, m, g, t, p and e", o->units);
	return false;
}

/* The columns, allocated: @given, or @columns with "+FIELDS" of @given added. */
static char *columns_of(const char *given, const char *columns)
{
	char *text;

	if (asprintf(&text, "%s%s%s", !given || given[0] == '+' ? columns : "",
		     given && given[0] == '+' ? "," : "",
		     given ? given + (given[0] == '+') : "") < 0)
		abort();
	return text;
}

static uint32_t flags_of(const struct options *o)
{
	return DM_REPORT_OUTPUT_BUFFERED |
	       (o->separator ? 0 : DM_REPORT_OUTPUT_ALIGNED) |
	       (o->no_headings ? 0 : DM_REPORT_OUTPUT_HEADINGS);
}

static void begin_group(struct report *r, dm_report_group_type_t type, const char *what)
{
	r->group = dm_report_group_create(type, NULL);
	/* These fail only without memory. */
	if (!r->group ||
	    (type != DM_REPORT_GROUP_SINGLE &&
	     !dm_report_group_push(r->group, NULL, (void *)"report")) ||
	    !dm_report_group_push(r->group, r->rh, (void *)what))
		abort();
}

static bool begin(struct report *r, const struct options *o, const char *what,
		  const struct dm_report_field_type *fields, const char *keys)
{
	dm_report_group_type_t type;
	uint32_t all = 1;

	if (!take_format(o->report_format, &type) || !take_units(r, o))
		return false;
	/* The prefix and "all" make the name that stands for all columns, "cache_all" say. */
	snprintf(r->prefix, sizeof(r->prefix), "%s_", what);
	r->types[0] = (struct dm_report_object_type){ 1, what, r->prefix, same };
	listen();
	r->rh = dm_report_init_with_selection(&all, r->types, fields, r->columns,
					      o->separator ?: " ", flags_of(o),
					      o->keys ?: keys, o->selection ?: "",
					      NULL, r);
	listen_no_more();
	if (!r->rh) {
		complain("%s; 'help' in its place lists what there is",
			 first_error[0] ? first_error : "no report");
		return false;
	}
	begin_group(r, type, what);
	return true;
}

struct report *report_open(const struct options *o, const char *what,
			   const struct dm_report_field_type *fields,
			   const char *columns, const char *keys)
{
	struct report *r = calloc(1, sizeof(*r));

	if (!r)
		abort();
	r->unknown = nothing;
	r->columns = columns_of(o->fields, columns);
	if (begin(r, o, what, fields, keys))
		return r;
	report_close(r);
	return NULL;
}

void report_unknown(struct report *r, const char *text)
{
	r->unknown = text;
}

void report_add(struct report *r, void *row)
{
	dm_report_object(r->rh, row);
}

void report_show(struct report *r)
{
	/* dm_quiet() may have taken the log away since report_open(). */
	dm_log_with_errno_init(hear);
	dm_report_output(r->rh);
}

void report_close(struct report *r)
{
	dm_log_with_errno_init(hear);
	if (r->group)
		dm_report_group_destroy(r->group);
	if (r->rh)
		dm_report_free(r->rh);
	free(r->columns);
	free(r);
}
