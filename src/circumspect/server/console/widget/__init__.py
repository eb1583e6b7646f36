"""The chat on somebody's own web pages: a script that adds a button, and the frame that it opens.

    <script src="https://HOST/widget.js" data-key="csk_…" data-lang="he" async></script>

What an end user's browser may do is here and nowhere else: `visits` says who comes, `talk` what they may say and see,
`frame` is the page in the frame. Routes of the API know nothing of a widget's key and refuse it.
"""

from __future__ import annotations
