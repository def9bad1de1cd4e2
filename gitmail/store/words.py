"""What a word is, to the full-text index and to whoever looks something up in it."""

import re

# SQLite's tables are old: it takes newer emoji for letters, and some letters for none.
# So it is handed words, here and where something is looked for.
_NO_LETTERS = "\u19b0-\u19c0\u19c8\u19c9\u1cf2\u1cf3"
WORD = re.compile(rf"[^\W_{_NO_LETTERS}]+")
