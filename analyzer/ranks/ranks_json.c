/* SPDX-License-Identifier: Apache-2.0 */
#include "ranks.h"

/* All of a merged database but the times that do not deviate.  Members are named by their ids. */
static const char json_sql[] =
	"SELECT json_object('tool', 'cufence', 'per', iif((SELECT count(*) = count(turns)"
	"  FROM member), 'turn', 'run'),"
	" 'members', (SELECT json_group_array(json_object('member', m.id, 'rank', m.rank,"
	"  'local_rank', m.local_rank, 'world', m.world, 'host', m.host, 'device', m.device,"
	"  'pid', m.pid, 'source', s.path, 'duration_ns', m.duration, 'turns', m.turns,"
	"  'turn_ns', t.time / m.turns, 'loop', m.loop, 'closed', json(iif(m.closed, 'true',"
	"  'false')), 'incomplete', json(iif(m.incomplete, 'true', 'false'))))"
	"  FROM (SELECT * FROM member ORDER BY id) m JOIN merge_source s ON s.id = m.source"
	"  LEFT JOIN member_time t ON t.member = m.id AND t.what = 'turn' AND t.place = ''),"
	" 'settings', (SELECT json_group_array(json_object('name', name, 'values', json(list)))"
	"  FROM (SELECT name, json_group_array(json_object('value', value, 'members',"
	"    json(members))) AS list FROM (SELECT name, value, json_group_array(id) AS members"
	"     FROM (SELECT m.id, n.name, s.value FROM member m CROSS JOIN (SELECT DISTINCT name"
	"       FROM member_setting) n LEFT JOIN member_setting s ON s.member = m.id"
	"       AND s.name = n.name ORDER BY m.id) GROUP BY name, value) GROUP BY name"
	"   HAVING count(*) > 1 ORDER BY name)),"
	" 'deviations', (SELECT json_group_array(json_object('member', member, 'what', what,"
	"  'place', place, 'time_ns', time, 'median_ns', median, 'spread_ns', spread))"
	"  FROM (SELECT * FROM deviation ORDER BY time - median DESC, member, what, place)),"
	" 'stragglers', (SELECT json_group_array(json_object('member', member, 'collectives',"
	"  collectives, 'last', last, 'caused_ns', caused, 'waited_ns', waited, 'error_ns', error,"
	"  'cause', cause, 'place', place, 'more_ns', more))"
	"  FROM (SELECT * FROM straggler ORDER BY caused DESC, member)),"
	" 'findings', (SELECT json_group_array(json_object('fingerprint', fingerprint, 'rule',"
	"  rule, 'severity', severity, 'place', place, 'message', message, 'members', members,"
	"  'count', count, 'median_ns', median, 'least_ns', least, 'most_ns', most,"
	"  'worst', worst, 'saving_ns', saving, 'saving_low_ns', saving_low, 'saving_high_ns',"
	"  saving_high, 'saving_worst_ns', saving_worst))"
	"  FROM (SELECT * FROM merged_finding ORDER BY id)),"
	" 'replay', (SELECT json_object('meetings', meetings, 'measured_ns', measured,"
	"  'replayed_ns', replayed, 'saving_ns', saving, 'saving_low_ns', saving_low,"
	"  'saving_high_ns', saving_high, 'refusal', refusal) FROM merged_replay))";

int ranks_json(struct db *merged, FILE *out)
{
	return db_print_json(merged, json_sql, out);
}
