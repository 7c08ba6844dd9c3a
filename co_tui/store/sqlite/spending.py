"""What was spent, summed over the logs that are here and over what is in none of them any more."""

import sqlite3
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from co_tui.store.timestamps import now, written

KEPT: Final = timedelta(days=2)
"""How long it is remembered what deleted sessions cost: limits are about a day."""
_IS_NUMBER: Final = "json_type(payload, '$.{0}') IN ('real', 'integer')"
_DOLLARS: Final = (
    f"CASE WHEN {_IS_NUMBER.format('cost')} THEN json_extract(payload, '$.cost')"
    f" WHEN {_IS_NUMBER.format('assumed_cost')} THEN json_extract(payload, '$.assumed_cost') ELSE 0.0 END"
)
_TYPES: Final = (
    "'request.billed', 'session.usage_info', 'session.compaction_complete', 'session.rename', 'board.changed'"
)
"""In logs of before there were bills, the others have the cost."""
_PAID: Final = (
    "WITH active AS MATERIALIZED (SELECT id, came_in, coalesce((SELECT max(seq) FROM events WHERE session_id = id"
    " AND type = 'session.fork'), 0) AS copied FROM sessions WHERE updated >= :time AND owner = '' {which})"
    f" SELECT timestamp, {_DOLLARS} AS dollars FROM active CROSS JOIN events ON session_id = id"
    " WHERE seq > copied AND timestamp >= :time AND timestamp >= came_in"
    f" AND type IN ({_TYPES}) AND json_valid(payload) AND json_extract(payload, '$.billed') IS NOT 1"
)
SPENT_SINCE: Final = (
    f"SELECT coalesce(sum(dollars), 0.0) FROM (SELECT dollars FROM ({_PAID.format(which='')})"
    " UNION ALL SELECT dollars FROM spent_elsewhere WHERE timestamp >= :time)"
)


def keep_spent(connection: sqlite3.Connection, session_id: str) -> None:
    """Remember what a session cost lately, before it is deleted."""
    since: dict[str, Any] = {"time": written(datetime.now(UTC) - KEPT), "session_id": session_id}
    connection.execute("DELETE FROM spent_elsewhere WHERE timestamp < :time", since)
    paid = _PAID.format(which="AND id = :session_id")
    connection.execute(
        f"INSERT INTO spent_elsewhere SELECT max(timestamp), sum(dollars) FROM ({paid})"
        " GROUP BY substr(timestamp, 1, 16) HAVING sum(dollars) > 0",
        since,
    )


def add_spent(connection: sqlite3.Connection, dollars: float) -> None:
    """Count what is in no log."""
    connection.execute("INSERT INTO spent_elsewhere VALUES(?, ?)", (now(), dollars))
