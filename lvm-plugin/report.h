/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tables by libdevmapper's dm_report, with the options that lvs has: columns,
 * order, selection, units, JSON.
 *
 * A field shows one member of a struct, at the offset that its row of the table of
 * fields gives; the functions below print the types of members.
 */
#ifndef HEARTH_PLUGIN_REPORT_H
#define HEARTH_PLUGIN_REPORT_H

#include <libdevmapper.h>
#include <stdbool.h>
#include <stdint.h>

#include "hearth.h"

/* The columns of each report; the last one has no name. */
extern const struct dm_report_field_type status_fields[], iostat_fields[], get_fields[];

/* A member that is not known: report_number() and report_bytes() print nothing. */
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

/** report_bytes() - uint64_t, bytes, printed in the unit that the user asked for; or UNKNOWN */
REPORT_FUNCTION(report_bytes);

/** report_percent() - double, a share, printed times 100; or NAN */
REPORT_FUNCTION(report_percent);

/** report_real() - double, or NAN */
REPORT_FUNCTION(report_real);

/* A number of up to six digits makes no column wider. */
#define COLUMN_WIDTH(heading)						\
	(sizeof(heading) - 1 > 6 ? (int32_t)sizeof(heading) - 1 : 6)

/* The rows of a table of fields.  A column is as wide as its heading, or wider. */
#define REPORT_FIELD(type, member, id, heading, kind, print, desc)	\
	{ 1, kind, offsetof(type, member), COLUMN_WIDTH(heading), id,	\
	  heading, print, desc }
#define TEXT_FIELD(type, member, id, heading, desc)			\
	REPORT_FIELD(type, member, id, heading,				\
		     DM_REPORT_FIELD_TYPE_STRING, report_text, desc)
#define NUMBER_FIELD(type, member, id, heading, desc)			\
	REPORT_FIELD(type, member, id, heading,				\
		     DM_REPORT_FIELD_TYPE_NUMBER, report_number, desc)
#define BYTES_FIELD(type, member, id, heading, desc)			\
	REPORT_FIELD(type, member, id, heading,				\
		     DM_REPORT_FIELD_TYPE_SIZE, report_bytes, desc)
#define PERCENT_FIELD(type, member, id, heading, desc)			\
	REPORT_FIELD(type, member, id, heading,				\
		     DM_REPORT_FIELD_TYPE_SIZE, report_percent, desc)
#define REAL_FIELD(type, member, id, heading, desc)			\
	REPORT_FIELD(type, member, id, heading,				\
		     DM_REPORT_FIELD_TYPE_SIZE | DM_REPORT_FIELD_ALIGN_RIGHT, \
		     report_real, desc)

struct report;

/**
 * report_wanted() - did the user ask for a report by any of its options?
 * @o: the command line
 *
 * Return: true if so.
 */
bool report_wanted(const struct options *o);

/**
 * report_open() - begin a report as the options ask for it
 * @o: the command line, whose words must stay until report_close()
 * @what: a line is about one of these; a key of JSON
 * @fields: ends with a zeroed row; must stay
 * @columns: the columns unless @o names others, with commas
 * @keys: the order of lines unless @o gives another
 *
 * Takes libdevmapper's log, because libdevmapper prints a report's lines there. With "help" in
 * the place of fields or of a selection, prints help; report_show() then prints nothing.
 * Aborts without memory.
 *
 * Return: the report, which report_close() frees; NULL after a complaint if an option makes
 * no sense.
 */
struct report *report_open(const struct options *o, const char *what,
			   const struct dm_report_field_type *fields,
			   const char *columns, const char *keys);
/**
 * report_unknown() - set what is printed where a number is not known, in place of nothing
 * @r: the report, which has no line yet
 * @text: must stay until report_close()
 */
void report_unknown(struct report *r, const char *text);

/**
 * report_add() - add a line
 * @r: the report
 * @row: a struct of the kind that the fields are of; must stay until report_show()
 */
void report_add(struct report *r, void *row);

/**
 * report_show() - print the lines that have been added on stdout, and forget them
 * @r: the report
 */
void report_show(struct report *r);

/**
 * report_close() - end a report, and free it; as JSON, this prints the closing brackets
 * @r: the report
 */
void report_close(struct report *r);

#endif
