"""What apppool-convert writes: options of pool.conf(5), with comments.

A table says what becomes of a setting of another tool: an option of ours, a
comment, or nothing, where apppoold does the same by itself.
"""

import os
import re
import textwrap

EX_DATAERR, EX_NOINPUT = 65, 66
RUN = "/run/apppoold/"


class Mistake(Exception):
    """What keeps a file from being converted."""

    def __init__(self, message, status=EX_DATAERR):
        super().__init__(message)
        self.status = status


# --- values

class Bare(str):
    """A value that needs no quotes, such as 30s."""


def live(name, otherwise=":-"):
    """A variable that apppoold reads from its own environment."""
    return "\0{" + name + otherwise + "}"


def quote(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, Bare)):
        return str(value)
    text = re.sub(r'["\\]|\$(?=\{)', r"\\\g<0>", value).replace("\0", "$")
    return '"' + re.sub(r"[\x01-\x1f\x7f]",
                        lambda c: f"\\x{ord(c[0]):02x}", text) + '"'


SECONDS = {"us": 1e-6, "ms": 1e-3, "s": 1, "m": 60, "h": 3600, "d": 86400,
           "w": 604800, "y": 31557600}
# The longest time of pool.conf.
FOREVER = 3650 * SECONDS["d"]


def seconds(text):
    """Of seconds, 5m of php-fpm, 1min 30s of systemd."""
    if text == "infinity":
        return FOREVER
    if not re.fullmatch(r"(\d+(\.\d+)?\s*[a-z]*\s*)+", text):
        raise ValueError
    total = 0
    for number, unit in re.findall(r"([\d.]+)\s*([a-z]*)", text):
        unit = unit[:2] if unit[:2] in ("us", "ms") else unit[:1] or "s"
        if unit not in SECONDS:
            raise ValueError
        total += float(number) * SECONDS[unit]
    return min(total, FOREVER)


def duration(text):
    total = seconds(text)
    for unit in "dhms":
        if total and total % SECONDS[unit] == 0:
            return Bare(f"{total / SECONDS[unit]:.0f}{unit}")
    return Bare(f"{max(1, round(total * 1000))}ms" if total else 0)


def limit(text):
    """The hard limit of soft:hard."""
    text = text.split(":")[-1].strip()
    if text in ("infinity", "unlimited", "-1"):
        return Bare("unlimited")
    found = re.fullmatch(r"(\d+)([KMGT]?)i?B?", text)
    return Bare(found[1] + found[2])


def boolean(text):
    word = text.lower()
    if word not in ("1", "yes", "true", "on", "0", "no", "false", "off", ""):
        raise ValueError
    return word in ("1", "yes", "true", "on")


def signal(text):
    name = re.sub("^SIG", "", text.upper())
    return Bare(name) if name in ("TERM", "QUIT", "INT", "HUP", "USR1", "USR2",
                                  "ABRT", "WINCH") else NotImplemented


def output(text):
    """Where output goes; None is the log."""
    text = re.sub(r"^(file|append|truncate):", "", text)
    if text in ("null", "NONE", "/dev/null"):
        return Bare("null")
    if re.match(r"/dev/(std|fd/)|/proc/", text):
        return Bare("inherit")
    return text if "/" in text else None


def address(text):
    """HOST:PORT, a port, a path, or one of these as a URL."""
    text = re.sub(r"^(tcp|http)://", "", text.strip())
    path = re.sub(r"^unix:(//)?|\?.*", "", text)
    if path.startswith("@"):
        return NotImplemented
    if path != text or "/" in text or ":" not in text and not text.isdigit():
        return "unix:" + path
    host, _, port = text.rpartition(":")
    return f"{host or '*'}:{int(port)}"


LEVELS = {"debug": "debug", "trace": "debug", "blather": "debug", "info":
          "info", "notice": "info", "warn": "warn", "warning": "warn"}
# What a table can name as the kind of a value.
KINDS = {
    "text": str, "number": int, "bool": boolean, "limit": limit,
    "signal": signal, "output": output, "address": address,
    "duration": duration, "variable": lambda text: text.partition("=")[::2],
    # Where 0 means something else to us.
    "time": lambda text: Bare("1ms") if duration(text) == "0"
            else duration(text),
    "count": lambda text: max(1, int(text)),
    "mode": lambda text: Bare(f"{int(text, 8):04o}"),
    "level": lambda text: Bare(LEVELS.get(text.lower(), "error")),
    "place": lambda text: text if re.search("/|^syslog|^stderr$", text)
             else f"./{text}",
    "MiB": lambda text: Bare(f"{int(text)}M"),
}


def table(rows):
    """Rows of: their names, with commas between; our option; the kind of its
    value, and a remark. With - for the option a comment follows, or nothing."""
    found = {}
    for row in rows.replace("\\\n", "").splitlines():
        names, option, text = (row.split(None, 2) + ["", "-", ""])[:3] \
            if row else ("", "-", "")
        for name in names.split(","):
            found[name] = option, text
    return found


# --- what is printed

LISTS = ("listen", "command", "environment", "watch")
# The options in their order, behind the handoffs that allow them: native,
# accept, stdio, listen, none. An empty line is one between groups.
ORDER = """\
nasl listen backlog socket_user socket_group socket_mode

- handoff
a accept_by
nasl protocol
- command
na template
- directory environment clear_environment output

- user group umask nice chroot no_new_privileges
- limit_nofile limit_nproc limit_core limit_as limit_cpu

- min_processes
nasl max_processes
nas min_idle
na concurrency
nasl max_idle_time update_interval grow_threshold multi_threshold
n keep_alive
nas wait_for_data wait_for_request

na max_requests
- max_lifetime max_memory
nas request_timeout slow_timeout
- start_timeout
lo ready_after
- min_server_life restart_delay restart_delay_max start_limit
- stop_signal stop_timeout watch
- log log_level pid_file"""
HANDOFFS = {"native": "n", "accept": "a", "stdio": "s", "listen": "l",
            "none": "o"}
ALLOWED = {option: row.split()[0] for row in ORDER.splitlines() if row
           for option in row.split()[1:]}


def comment(text, indent="", hang=""):
    text = "".join(c if c.isprintable() else "?" for c in
                   " ".join(text.replace("\0", "$").split()))
    # A tab is eight columns.
    return [indent + line for line in textwrap.wrap(
        text, 79 - 8 * len(indent), initial_indent="# ", break_on_hyphens=False,
        break_long_words=False, subsequent_indent="# " + hang)]


def statement(option, value, indent):
    if option in LISTS and len(value) == 1 and option != "command":
        value = value[0]
    if not isinstance(value, list):
        return [f"{indent}{option} = {quote(value)}"]
    lines = [f"{indent}{option} = {{"]
    for item in [quote(item) + "," for item in value[:-1]] + \
            [quote(value[-1]) + " }"]:
        if len(lines[-1]) + len(item) > 71 and not lines[-1].endswith("{"):
            lines.append(indent + "   ")
        lines[-1] += " " + item
    return lines


class Section:
    """The options of an app, or those outside of all."""

    def __init__(self, name=""):
        self.name = re.sub(r"[^\w.-]", "-", name, flags=re.A)
        self.options = {}
        self.remarks = {}
        # What each comment is about, by the comment.
        self.notes = {}

    def get(self, option, otherwise=None):
        return self.options.get(option, otherwise)

    def set(self, option, value, remark=""):
        if option in LISTS and not isinstance(value, list):
            before = self.get(option, [])
            value = before + [value] * (value not in before)
        self.options[option] = value
        if remark and remark not in self.remarks.setdefault(option, []):
            self.remarks[option].append(remark)

    def variable(self, name, value):
        if re.fullmatch(r"(?!APPPOOL_)[A-Za-z_]\w*", name, re.A):
            self.set("environment", f"{name}={value}")
        else:
            self.note(f"{name} = {value}", "no variable can have this name.")

    def fill(self, **options):
        """Sets what is not set."""
        for option, value in options.items():
            self.options.setdefault(option, value)

    def note(self, what, text, where=""):
        where = f" ({os.path.basename(where)})" if where else ""
        self.notes.setdefault(text, []).append(what + where)

    def take(self, rows, name, value, where):
        """What a table says of a setting."""
        option, text = rows.get(name, ("-", "unknown to apppool-convert."))
        if option == "-":
            if text:
                self.note(f"{name} = {value}", text, where)
            return
        kind, _, remark = text.partition(" ")
        try:
            found = KINDS[kind](value)
        except (ValueError, TypeError):
            raise Mistake(f"{where}: {name} = {value}: this is no {kind}")
        if found is NotImplemented:
            self.note(f"{name} = {value}", f"{option} has no such value.",
                      where)
        elif kind == "variable":
            self.variable(*found)
        elif found is not None:
            self.set(option, found, remark)

    def processes(self, least, most):
        self.set("min_processes", least)
        self.set("max_processes", max(least, most, 1))

    def finish(self):
        """Has the options agree with each other."""
        handoff = self.get("handoff", "native")
        for option in [o for o in self.options if ALLOWED[o] != "-"
                       and HANDOFFS[handoff] not in ALLOWED[o]]:
            value = self.options.pop(option)
            if option not in ("max_processes", "protocol"):
                self.note(f"{option} = {value}",
                          f"has no meaning with handoff = {handoff}.")
        for option in ("min_processes", "min_idle"):
            if handoff != "none" and option in self.options:
                self.options[option] = min(self.options[option],
                                           self.get("max_processes", 8))
        if handoff != "none" and "listen" not in self.options:
            self.set("listen", f"unix:{RUN}{self.name}.sock",
                     "Where the web server is to connect.")
        for text in self.get("listen", []):
            folder = re.match(r"unix:(/(?:var/)?run/.+)/", text)
            if folder and folder[1] + "/" != RUN:
                self.set("listen", self.get("listen"),
                         f"Something has to make {folder[1]} at each boot, as "
                         "the package of the former program did: apppoold "
                         f"makes only {RUN[:-1]}.")

    def lines(self, indent=""):
        out = []
        for row in ORDER.split("\n"):
            if not row and out and out[-1]:
                out.append("")
            for option in [o for o in row.split()[1:] if o in self.options]:
                for text in self.remarks.get(option, ()):
                    out += comment(text, indent)
                out += statement(option, self.options[option], indent)
        out += [""] * bool(self.notes and out and out[-1])
        if self.notes:
            out += comment("Without a counterpart, or different:", indent)
        for text, about in self.notes.items():
            out += comment(f"{', '.join(about)}: {text}", indent, "    ")
        return out[:-1] if out and not out[-1] else out


class Pool:
    def __init__(self):
        self.top = Section()
        self.apps = []

    def app(self, name):
        app = Section(name or "app")
        while app.name in [other.name for other in self.apps]:
            app.name += "-2"
        self.apps.append(app)
        return app

    def text(self, head):
        for app in self.apps:
            if not app.get("command"):
                self.top.notes.update(app.notes)
        self.apps = [app for app in self.apps if app.get("command")]
        if not self.apps:
            raise Mistake(f"{head}: it has no program to run")
        # A few places are for processes that replace others.
        most = 4
        for app in self.apps:
            app.finish()
            most += app.get("max_processes", app.get("min_processes", 8))
        lines = comment(f"Made of {head} by apppool-convert(1). Read the "
                        "comments, then check the file with apppoold -t.")
        if most > 64:
            self.top.fill(max_processes=min(most, 10000))
        # That of the daemon bounds those of the apps.
        stops = [app.get("stop_timeout", "30s") for app in self.apps]
        if seconds(max(stops, key=seconds)) > 30:
            self.top.fill(stop_timeout=max(stops, key=seconds))
        if not all("user" in app.options for app in self.apps):
            self.top.note("user", "if root starts apppoold, apps run as nobody "
                          "unless they name a user.")
        top = self.top.lines()
        lines += [""] * bool(top) + top
        for app in self.apps:
            lines += ["", f'app "{app.name}" {{', *app.lines("\t"), "}"]
        return "\n".join(lines) + "\n"
