/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tables by libdevmapper's dm_report, with the options that lvs has: columns, order,
 * selection, units, JSON.  It must not know caches.
 *
 * A field shows one member of a struct.  Its row of the table of fields has the member's
 * offset, and one of the functions below, which prints members of that type.
 */
#ifndef HEARTH_PLUGIN_REPORT_H
#define HEARTH_PLUGIN_REPORT_H

#include <libdevmapper.h>
#include <stdbool.h>
#include <stdint.h>

#include "hearth.h"

/* The columns of each report; the last row has no id. */
extern const struct dm_report_field_type status_fields[], iostat_fields[], get_fields[];

/* The value of a member that is not known; report_unknown() says what is printed for it. */
#define UNKNOWN		UINT64_MAX

/**
 * REPORT_FUNCTION() - a function that prints a type of members, for rows of tables of fields
 * @name: the function. Libdevmapper calls it, with the member and the report that is open,
 *	and it returns 1, or 0 without memory
 */
#define REPORT_FUNCTION(name)						\
	int name(struct dm_report *rh, struct dm_pool *mem,		\
		 struct dm_report_field *field, const void *data, void *private)

/** report_text() - const char *, which must stay until report_show(); NULL prints nothing */
REPORT_FUNCTION(report_text);

/** report_number() - uint64_t, or UNKNOWN */
REPORT_FUNCTION(report_number);

/** report_bytes() - uint64_t, bytes, printed in the unit of --units; or UNKNOWN */
REPORT_FUNCTION(report_bytes);

/** report_percent() - double, a share, printed times 100; or NAN */
REPORT_FUNCTION(report_percent);

/** report_real() - double, or NAN */
REPORT_FUNCTION(report_real);

/* A number of up to six digits makes no column wider. */
#define COLUMN_WIDTH(heading)						\
	(sizeof(heading) - 1 > 6 ? (int32_t)sizeof(heading) - 1 : 6)

/*
 * The rows of a table of fields, for members of a struct line, which the file with the table
 * has.  A column is at least as wide as its heading.
 */
#define FIELD(member, id, heading, kind, print, desc)			\
	{ 1, kind, offsetof(struct line, member), COLUMN_WIDTH(heading), id, \
	  heading, print, desc }
#define TEXT(member, id, heading, desc)					\
	FIELD(member, id, heading, DM_REPORT_FIELD_TYPE_STRING, report_text, desc)
#define NUMBER(member, id, heading, desc)				\
	FIELD(member, id, heading, DM_REPORT_FIELD_TYPE_NUMBER, report_number, desc)
#define BYTES(member, id, heading, desc)				\
	FIELD(member, id, heading, DM_REPORT_FIELD_TYPE_SIZE, report_bytes, desc)
#define PERCENT(member, id, heading, desc)				\
	FIELD(member, id, heading, DM_REPORT_FIELD_TYPE_SIZE, report_percent, desc)
#define REAL_NUMBER(member, id, heading, desc)				\
	FIELD(member, id, heading,					\
	      DM_REPORT_FIELD_TYPE_SIZE | DM_REPORT_FIELD_ALIGN_RIGHT,	\
	      report_real, desc)

struct report;

/**
 * report_wanted() - did the user give an option of reports?
 * @o: the command line
 *
 * Return: true if so.
 */
bool report_wanted(const struct options *o);

/**
 * report_open() - begin a report as the options ask for it
 * @o: the command line, whose words must stay until report_close()
 * @what: the thing that a line is about, "cache" say; the key of the lines in JSON
 * @fields: ends with a zeroed row; must stay until report_close()
 * @columns: the columns unless @o names others, with commas
 * @keys: the columns that lines are sorted by, unless @o names others; "" does not sort
 *
 * Takes libdevmapper's log, because libdevmapper prints a report's lines there. If fields or
 * the selection are "help", prints help, and then report_show() prints nothing. Aborts without
 * memory.
 *
 * Return: the report, which report_close() frees; NULL after a complaint if an option makes
 * no sense.
 */
struct report *report_open(const struct options *o, const char *what,
			   const struct dm_report_field_type *fields,
			   const char *columns, const char *keys);
/**
 * report_unknown() - set the text that is printed for a number that is not known
 * @r: the report, which has no line yet; before this call, the text is ""
 * @text: must stay until report_close()
 */
void report_unknown(struct report *r, const char *text);

/**
 * report_add() - add a line
 * @r: the report
 * @row: a struct of the type whose members the fields are; must stay until report_show()
 */
void report_add(struct report *r, void *row);

/**
 * report_show() - print the added lines on stdout, and forget them
 * @r: the report
 */
void report_show(struct report *r);

/**
 * report_close() - end a report, and free it; as JSON, this prints the closing brackets
 * @r: the report
 */
void report_close(struct report *r);

#endif
