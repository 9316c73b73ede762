"""
usage: calls.py LIST TRACE SERVICE...

Compares the system calls of a trace by strace -y, of a daemon's first thread
from its start on, with those of the LIST (lib/CALLS).  Prints each call that
is not on the list, made from the first turn of the loop on, with the object
it was made on, and each on the list that is not in the trace.

Which object a descriptor is follows from the calls before; a socket without
any is a listener that a lane opened.  SERVICE is part of the address of each
socket that does not belong to an app.
"""

import re
import sys

CALL = re.compile(r"(\w+)\((.*)\)\s+= (.*)")
RIGHTS = re.compile(r"SCM_RIGHTS, cmsg_data=\[(.*?)\]\}")


def read_list(name):
    """{object: [(call, word, whether it need not be made)]}"""
    allowed = {}
    for line in open(name):
        if line.startswith("\t"):
            for call, word in re.findall(r"(\w+)(?:\((\w+)\))?", line):
                allowed[at].append((call, word, line.startswith("\t?")))
        elif line.endswith(":\n"):
            at = line[:-2]
            allowed[at] = []
    return allowed


def descriptors(text):
    """Each with the inode of what it is: numbers are used again."""
    return re.findall(r"\d+<[^>]*>", text)


class Objects:
    """The kind of each descriptor."""

    def __init__(self, services):
        self.kind = {}
        self.services = services
        self.ours = set()  # listeners of services

    def born(self, name, args, result):
        fd = descriptors(result)
        if name == "socketpair" and result == "0":
            ends = descriptors(args)
            stream = "SOCK_STREAM" in args
            self.kind[ends[0]] = "client" if stream else "pair"
            self.kind[ends[1]] = "client" if stream else "other end"
        elif name == "pipe2" and result == "0":
            for end in descriptors(args):
                self.kind[end] = "pipe"
        elif name in ("accept4", "accept") and fd:
            of = descriptors(args)[0]
            self.kind[fd[0]] = "client" if of in self.ours else "connection"
        elif name == "socket" and fd:
            self.ours.discard(fd[0])
            self.kind[fd[0]] = "netlink" if "NETLINK" in args else "listener"
        elif name == "epoll_create1" or name in ("signalfd4", "eventfd2"):
            self.kind[fd[0]] = "loop"
        elif name == "fsmount":
            self.kind[fd[0]] = "/proc"
        elif name == "openat" and fd:
            of = descriptors(args.split(", ")[0])
            self.kind[fd[0]] = (self.kind.get(of[0], "?") if of
                                else self.file(args + result))
        elif name == "fcntl" and "F_DUPFD" in args and fd:
            of = descriptors(args)[0]
            # The copy is for a process that accepts itself.
            if self.kind.get(of) == "listener":
                self.kind[of] = "shared listener"
            self.kind[fd[0]] = self.kind.get(of, "?")
        elif name == "recvmsg":
            for got in RIGHTS.findall(args):
                for one in descriptors(got):
                    self.kind[one] = "connection taken back"
        elif name == "bind" and any(s in args for s in self.services):
            self.ours.add(descriptors(args)[0])

    def passed(self, name, args, result):
        """A descriptor has got to another process."""
        if name != "sendmsg" or result.startswith("-1"):
            return
        for given in RIGHTS.findall(args):
            for fd in descriptors(given):
                kind = self.kind.get(fd, "?")
                if kind.startswith("connection"):
                    self.kind[fd] = "connection handed over"
                elif kind == "pipe":
                    self.kind[fd] = "pipe of a worker"

    @staticmethod
    def file(text):
        """/proc/self/fd leads to a file that is open."""
        other = re.search("/proc/(?!self/fd)", text)
        return "/proc" if other else "folder"

    def of(self, name, args):
        """The objects of a call."""
        first = args.split(", ")
        if name in ("socketpair", "pipe2"):
            return ["nothing"]
        if name == "poll":
            fds = descriptors(args)
        else:
            fds = descriptors(first[2 if name == "epoll_ctl" else 0])
        if fds:
            return [self.kind.setdefault(
                fd, "listener" if "socket:" in fd
                else "memory" if "memfd:" in fd else "?") for fd in fds]
        return [self.file(args) if '"' in args else "nothing"]


def main():
    allowed = read_list(sys.argv[1])
    unseen = {(o, c, w) for o in allowed for c, w, rare in allowed[o]
              if not rare}
    objects = Objects(sys.argv[3:])
    turning, wrong = False, {}
    for line in open(sys.argv[2], errors="replace"):
        match = CALL.match(line)
        if match is None:
            continue
        name, args, result = match.groups()
        turning = turning or name.startswith("epoll_pwait")
        for kind in objects.of(name, args):
            hits = [(kind, c, w) for c, w, _ in allowed.get(kind, ())
                    if c == name and w in line]
            unseen.difference_update(hits)
            if turning and not hits:
                wrong.setdefault((kind, name), line)
        objects.born(name, args, result)
        objects.passed(name, args, result)
    for (kind, name), line in sorted(wrong.items()):
        print("not on the list: %s, %s: %s" % (kind, name, line.strip()[:240]))
    for kind, call, word in sorted(unseen):
        print("on the list and never made: %s, %s(%s)" % (kind, call, word))


main()
