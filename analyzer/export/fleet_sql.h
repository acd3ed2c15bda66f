/* SPDX-License-Identifier: Apache-2.0 */
/* The statements of an export (fleet.h), in the SQL of each engine. */
#ifndef CUFENCE_FLEET_SQL_H
#define CUFENCE_FLEET_SQL_H

/*
 * Writes for each engine below the folder:
 *
 *	create	makes the tables, or views on the files
 *	one	views on one database, whose db stands for @DB@
 *	queries	a folder with those of queries.h, for these views
 *	fleet	a folder with questions to all databases
 *
 * and one file without rows for each table, as engines refuse a pattern that no file fits.  0, or
 * -1 after a message.
 */
int fleet_statements(const char *folder);

#endif
