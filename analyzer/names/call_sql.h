/* SPDX-License-Identifier: Apache-2.0 */
/* SQL for calls as the program's author wrote them. */
#ifndef CUFENCE_CALL_SQL_H
#define CUFENCE_CALL_SQL_H

/* The call t at site s as the program's author wrote it, see words_call(); a launch by <<<>>> has
 * the name that others have. */
#define CALL_NAME \
	"CASE WHEN NOT t.runtime AND s.api IS NOT NULL THEN s.api" \
	" WHEN NOT t.runtime AND t.name GLOB '*_v[0-9]'" \
	" THEN substr(t.name, 1, length(t.name) - 3)" \
	" ELSE ltrim(t.name, '_') END"
/* The outermost recorded call around call c. */
#define OUTERMOST \
	"(WITH RECURSIVE up(id, parent) AS (SELECT c.id, c.parent UNION" \
	" SELECT p.id, p.parent FROM up JOIN call p ON p.id = up.parent)" \
	" SELECT id FROM up WHERE parent IS NULL)"
/* That call is u, of type t, at site s. */
#define FROM_OUTERMOST \
	" JOIN call u ON u.id = " OUTERMOST \
	" JOIN call_type t ON t.id = u.type" \
	" LEFT JOIN site s ON s.id = u.site"

#endif
