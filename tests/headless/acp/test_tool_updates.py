"""A call as an editor shows it: each changed place with the lines around it."""

from pathlib import Path

from co_tui.headless.acp.tool_updates import ToolCall

DIFF = """\
--- shop.py
+++ shop.py
@@ -1,3 +1,3 @@
 def total(rows):
-    return 1
+    return sum(rows)
 # end
@@ -20,2 +20,1 @@
-import old
 import os
"""


def test_each_changed_place_shows_the_text_before_and_after() -> None:
    call = ToolCall("c1", "edit_file", '{"path": "shop.py"}', Path("/app"))
    first, second = call.contents("", DIFF)
    assert (first.path, first.old_text, first.new_text) == (
        "/app/shop.py",
        "def total(rows):\n    return 1\n# end",
        "def total(rows):\n    return sum(rows)\n# end",
    )
    assert (second.old_text, second.new_text) == ("import old\nimport os", "import os")
