"""The files of other tools, and the settings in those that are ini files."""

import glob
import os
import re
import sys

from poolconf import EX_NOINPUT, Mistake


def read(path):
    try:
        with sys.stdin.buffer if path == "-" else open(path, "rb") as file:
            data = file.read(1 << 20)
    except OSError as problem:
        raise Mistake(f"{path}: {problem.strerror}", EX_NOINPUT)
    if b"\0" in data:
        raise Mistake(f"{path}:1: this is no text")
    text = data.decode("utf-8", "surrogateescape").lstrip("\ufeff")
    return text.replace("\r\n", "\n")


# What ends a value, by the kind of file.
COMMENT = {"php-fpm": r"\s*;.*", "uwsgi": r"(^|\s);.*",
           "supervisord": r"(^|\s)[;#].*", "systemd": r"(?!)"}


def settings(path, text, kind):
    """(section, name, value, FILE:LINE) of each setting."""
    section, found = "", []
    lines = iter(enumerate(text.split("\n"), 1))
    for number, line in lines:
        where = f"{path}:{number}"
        while kind == "systemd" and line.endswith("\\"):
            line = line[:-1] + " " + next(lines, (0, ""))[1].strip()
        stripped = line.strip()
        title = re.fullmatch(r"\[([^\]]+)\]\s*([;#].*)?", stripped)
        if not stripped or stripped[0] in ";#":
            continue
        if title:
            section = title[1].strip()
            continue
        if kind == "supervisord" and line[0].isspace() and found:
            # A value goes on.
            more = re.sub(COMMENT[kind], "", stripped).strip()
            head, name, value, place = found[-1]
            found[-1] = head, name, f"{value}\n{more}", place
            continue
        name, equals, value = re.fullmatch(
            r"([^=:]*)([=:]?)(.*)" if kind == "supervisord"
            else "([^=]*)(=?)(.*)", stripped).groups()
        if not name.strip() or not equals and kind != "uwsgi":
            raise Mistake(f"{where}: '{stripped}' is no NAME = VALUE")
        value = value.strip() if equals else "true"
        quoted = re.match(r'"((?:[^"\\]|\\.)*)"|\'([^\']*)\'', value)
        if kind == "php-fpm" and quoted:
            value = (quoted[1] or quoted[2] or "").replace('\\"', '"')
        else:
            value = re.sub(COMMENT[kind], "", value).strip()
        found.append((section, name.strip(), value, where))
    return found


def included(pattern, where, section):
    """The files that an include names; without any the section has a note."""
    folder = os.path.dirname(where.rpartition(":")[0])
    found = sorted(glob.glob(os.path.join(folder, pattern)))
    if not found:
        section.note(f"include {pattern}", "there is no such file.", where)
    return found


def variables(path):
    """NAME=VALUE of .env, or of an EnvironmentFile of systemd."""
    found = {}
    for line in read(path).split("\n"):
        row = re.match(r"\s*(?:export\s+)?([A-Za-z_]\w*)\s*=(.*)", line)
        if row:
            quoted = re.fullmatch(r"(['\"])(.*)\1", row[2].strip())
            found[row[1]] = quoted[2] if quoted else row[2].strip()
    return found
