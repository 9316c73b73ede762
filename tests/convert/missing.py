"""usage: missing.py FILE POOL.CONF

Prints the lines that FILE wants of POOL.CONF, behind ";=", "#=" or "//=", and
that are not there: those behind `app "NAME" {` in that app, where lines are
wrapped as they are.  A comment is wanted without what follows it.
"""
import re
import sys


def flat(text):
    """Without line ends, and without the signs of comments."""
    return re.sub(r"\s+(#\s+)?", " ", "\n" + text + "\n")


wanted, result = (open(name, encoding="utf-8").read() for name in sys.argv[1:])
apps = {"": result.partition('\napp "')[0]}
for part in result.split('\napp "')[1:]:
    apps[part.partition('"')[0]] = part
app = ""
for line in re.findall(r"(?m)^(?:;|#|//)= (.*)$", wanted):
    head = re.match(r'app "(.*)" \{', line)
    if head:
        app = head[1]
    text = flat(line)
    if line.startswith("#"):
        text = text.rstrip()
    if not head and text not in flat(apps.get(app, "")) or app not in apps:
        print(f"{app}: {line}")
