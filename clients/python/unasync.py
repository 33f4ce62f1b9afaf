"""Makes the blocking client of the asynchronous one: `_sync` from `_async`, but for `merge.py`, which is written by hand.

python unasync.py           writes the files
python unasync.py --check   fails where one is out of step
"""

import re
import sys
from pathlib import Path

SOURCE = Path(__file__).parent / "src/native_engine/_async"
TARGET = SOURCE.parent / "_sync"
BY_HAND = {"merge.py"}

RULES = [
    (r"    async def __aenter__", "    def __enter__"),
    (r"    async def __aexit__", "    def __exit__"),
    (r"\bAsyncGenerator\[", "Generator["),
    (r"(Generator\[[^\[\]]*(?:\[[^\]]*\])?[^\[\]]*), None\]", r"\1, None, None]"),
    (r"\bAsyncGenerator\b", "Generator"),
    (r"import AsyncGenerator", "import Generator"),
    (r"\bimport asyncio\n", "import time\n"),
    (r"await asyncio\.to_thread\((\w+(?:\.\w+)*), ", r"\1("),
    (r"asyncio\.sleep", "time.sleep"),
    (r"\bhttpx\.AsyncClient\b", "httpx.Client"),
    (r"\bAsync(Client|Transport|NamespaceClient|StreamClient|CollectionClient)\b", r"\1"),
    (r"Union\[str, Awaitable\[str\]\]", "str"),
    (r"import Awaitable, Callable", "import Callable"),
    (r"return await key if inspect\.isawaitable\(key\) else key", "return key"),
    (r"import inspect\n", ""),
    (r"contextlib\.aclosing", "contextlib.closing"),
    (r"\.aclose\(\)", ".close()"),
    (r"\.aread\(\)", ".read()"),
    (r"\.aiter_bytes\(\)", ".iter_bytes()"),
    (r"\basync (def|for|with)\b", r"\1"),
    (r"\bawait ", ""),
]


def translate(text: str) -> str:
    for pattern, replacement in RULES:
        text = re.sub(pattern, replacement, text)
    if "time." not in text:
        text = text.replace("import time\n", "")
    return "# Made from _async by unasync.py.\n" + text


def main() -> int:
    stale = []
    for source in sorted(SOURCE.glob("*.py")):
        if source.name in BY_HAND:
            continue
        target = TARGET / source.name
        text = translate(source.read_text())
        if "--check" in sys.argv:
            if not target.exists() or target.read_text() != text:
                stale.append(target.name)
        else:
            target.write_text(text)
    if stale:
        print(f"_sync is out of step with _async, run unasync.py: {', '.join(stale)}", file=sys.stderr)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
