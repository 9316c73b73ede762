"""
usage: terminal.py HOW LOG COMMAND...

Runs a daemon on a terminal of its own, says its pid, and hangs the terminal up
at SIGUSR1, or presses Ctrl-C there at SIGUSR2. HOW: "leader", the daemon is the first process of the
terminal; "job", a shell's that dies of the hang-up; "passed", a shell's that
sends it on; "left", of a shell that leaves it alone and ends. Says "over" when
the first process of the terminal has ended.
"""
import os
import pty
import signal
import sys

how, log, command = sys.argv[1], sys.argv[2], sys.argv[3:]
said, says = os.pipe()


def run():
    os.write(says, b"%d\n" % os.getpid())
    out = os.open(log, os.O_WRONLY | os.O_APPEND)
    os.dup2(out, 1)
    os.dup2(out, 2)
    os.execv(command[0], command)


def be_shell():
    job = os.fork()
    if job == 0:
        if how != "job":
            os.setpgid(0, 0)
        run()
    if how == "passed":
        signal.signal(signal.SIGHUP, lambda *_: os.kill(job, signal.SIGHUP))
    if how == "left":
        signal.signal(signal.SIGHUP, lambda *_: os._exit(0))
    while True:
        try:
            os.waitpid(job, 0)
            os._exit(0)
        except InterruptedError:
            pass


first, terminal = pty.fork()
if first == 0:
    if how == "leader":
        run()
    be_shell()
os.close(says)
ends = {signal.SIGUSR1, signal.SIGUSR2}
signal.pthread_sigmask(signal.SIG_BLOCK, ends)
print(os.read(said, 100).decode(), end="", flush=True)
if signal.sigwait(ends) == signal.SIGUSR1:
    os.close(terminal)
else:
    os.write(terminal, b"\x03")
os.waitpid(first, 0)
print("over", flush=True)
