"""A service manager, as far as a test needs one.

usage: manager.py FOLDER "NAME=PORT..." COMMAND...

Starts the command with a listening socket for each NAME, and writes its number
to FOLDER/pid and what it reports to FOLDER/told. Exits as it does. With
WATCHDOG_USEC in the environment its watchdog waits for the command.
"""

import os
import socket
import sys


def become(command, folder, names, sockets):
    os.environ["NOTIFY_SOCKET"] = folder + "/notify"
    for i, each in enumerate(sockets):
        os.dup2(each.fileno(), 100 + i)
    for i in range(len(sockets)):
        os.dup2(100 + i, 3 + i)
        os.close(100 + i)
    if names:
        os.environ["LISTEN_PID"] = str(os.getpid())
        os.environ["LISTEN_FDS"] = str(len(names))
        os.environ["LISTEN_FDNAMES"] = ":".join(names)
    if "WATCHDOG_USEC" in os.environ:
        os.environ["WATCHDOG_PID"] = str(os.getpid())
    os.execv(command[0], command)


def main():
    folder, listen, command = sys.argv[1], sys.argv[2].split(), sys.argv[3:]
    told = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    told.bind(folder + "/notify")
    told.settimeout(0.02)
    names = [item.split("=")[0] for item in listen]
    sockets = [socket.create_server(("127.0.0.1", int(item.split("=")[1])))
               for item in listen]

    pid = os.fork()
    if pid == 0:
        become(command, folder, names, sockets)
    with open(folder + "/pid.new", "w") as f:
        print(pid, file=f)
    os.rename(folder + "/pid.new", folder + "/pid")

    while True:
        try:
            with open(folder + "/told", "a") as f:
                print(told.recv(4096).decode(), file=f)
        except TimeoutError:
            done, status = os.waitpid(pid, os.WNOHANG)
            if done == pid:
                sys.exit(os.waitstatus_to_exitcode(status) & 255)


main()
