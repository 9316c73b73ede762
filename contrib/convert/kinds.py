"""Readers of the files of other tools, a function for each kind."""

import glob
import json
import os
import re
import socket

from files import included, read, settings, variables
from poolconf import RUN, Bare, Mistake, live, table
from programs import (as_is, event_loop, php, php_ini, serve, slow_clients,
                      split, uwsgi_app, wsgi)

# --- php-fpm

PHP_FPM = table("""
user user text
group group text
listen listen address
listen.backlog backlog number
listen.owner socket_user text
listen.group socket_group text
listen.mode socket_mode mode
process.priority nice number
pm.max_children max_processes number
pm.start_servers min_processes number php-fpm has these at first; apppoold \
keeps them.
pm.min_spare_servers min_idle number
pm.process_idle_timeout max_idle_time duration
pm.max_requests max_requests number
request_terminate_timeout request_timeout duration
request_slowlog_timeout slow_timeout duration
process_control_timeout stop_timeout duration
rlimit_files limit_nofile number
rlimit_core limit_core limit
chroot chroot text php-cgi is executed within: it has to be there.
chdir directory text
clear_env clear_environment bool
listen.acl_users,listen.acl_groups - socket_group lets one group connect.
listen.allowed_clients - listen at 127.0.0.1, or have a firewall.
pm.max_spare_servers - a process that is idle for max_idle_time stops.
pm.max_spawn_rate - see start_delay and start_delay_step.
pm.status_path,pm.status_listen - apppoolctl status, or apppool-web(8).
ping.path,ping.response - apppoolctl ping.
access.log,access.format,access.suppress_path[] - nginx has such a log.
slowlog,request_slowlog_trace_depth - the log tells of slow requests.
security.limit_extensions - nginx has to pass no other names.
pm,prefix,catch_workers_output,decorate_workers_output,include -
process.dumpable,listen.setfib,request_terminate_timeout_track_finished -
""")
PHP_FPM_GLOBAL = table("""
error_log log place
log_level log_level level
pid pid_file text
process.max max_processes number
emergency_restart_threshold,emergency_restart_interval - an app has \
restart_delay and start_limit.
daemonize - apppoold -D; under systemd neither has it.
syslog.facility,syslog.ident - log = syslog:FACILITY.
include,events.mechanism,log_buffering,log_limit,systemd_interval -
""")
PHP_FPM_DEFAULTS = ("process_control_timeout", "rlimit_files", "rlimit_core",
                    "process.priority")


def php_fpm_settings(path, text, top, depth=0):
    for section, name, value, where in settings(path, text, "php-fpm"):
        for file in included(value, where, top) \
                if name == "include" and depth < 8 else ():
            yield from php_fpm_settings(file, read(file), top, depth + 1)
        yield section or "global", name, value, where


def php_fpm(path, text, pool):
    apps, common = {}, []
    for section, name, value, where in php_fpm_settings(path, text, pool.top):
        if section != "global":
            apps.setdefault(section, []).append((name, value, where))
        elif name in PHP_FPM_DEFAULTS:
            common.append((name, value, where))
        else:
            pool.top.take(PHP_FPM_GLOBAL, name, value, where)
    for name, given in apps.items():
        version = re.search(r"/php/(\d\.\d)/", os.path.abspath(given[0][2]))
        php_fpm_pool(pool.app(name), name, common + given,
                     version[1] if version else "")


def php_fpm_pool(app, pool_name, given, version):
    told, ini = {}, []
    for name, value, where in given:
        told[name] = value = value.replace("$pool", pool_name)
        key = re.fullmatch(r"(env|php_\w+)\[(.+)\]", name)
        if key and key[1] == "env":
            app.variable(key[2], live(value[1:]) if value.startswith("$")
                         else value)
        elif key:
            flag = "flag" in key[1] and value.lower() in ("1", "on", "yes",
                                                          "true")
            ini += php_ini(key[2], str(int(flag)) if "flag" in key[1]
                           else value)
        elif name == "listen" and not re.search(r"^/|(^|:)\d+$", value):
            app.take(PHP_FPM, name, f"{told.get('prefix', '/')}/{value}", where)
        elif name != "listen.backlog" or not value.startswith("-"):
            app.take(PHP_FPM, name, value, where)
    php(app, f"/usr/bin/php-cgi{version}", ini)
    if any("admin" in name for name in told):
        app.note("php_admin_value, php_admin_flag", "these are as in php.ini: "
                 "ini_set() of a page can change them.")
    app.fill(clear_environment=True)
    if app.get("slow_timeout", "0") != "0":
        app.set("wait_for_data", True, "The log can name the script.")
    most = app.get("max_processes", 8)
    if told.get("pm") == "static":
        app.processes(most, most)
    elif told.get("pm") == "ondemand":
        app.set("min_processes", 0)
        app.fill(max_idle_time=Bare("10s"))
    else:
        app.fill(min_processes=app.get("min_idle", 1))


# --- uWSGI

def uwsgi(path, text, pool):
    given = settings(path, text, "uwsgi")
    stem = os.path.splitext(os.path.basename(path))[0]
    if stem in ("uwsgi", "-"):
        stem = os.path.basename(os.path.dirname(os.path.abspath(path)))
    sections = list(dict.fromkeys(item[0] for item in given))
    if "uwsgi" in sections:
        sections.remove("uwsgi")
        for section in sections:
            pool.top.note(f"[{section}]", "uWSGI reads it only if it is told "
                          "to.", path)
        sections = ["uwsgi"]
    # Debian has options for all of these.
    root, debian, _ = os.path.abspath(path).partition("/etc/uwsgi/apps-")
    common = root + "/usr/share/uwsgi/conf/default.ini"
    if debian and os.path.exists(common):
        given = settings(common, read(common), "uwsgi") + given
    for section in sections:
        uwsgi_app(pool.app(stem if section == "uwsgi" else section),
                  [item for item in given if item[0] == section])


# --- supervisord

SUPERVISORD = table("""
directory directory text
umask umask mode
user user text
numprocs min_processes number
startsecs ready_after duration
startretries start_limit count
stopsignal stop_signal signal
stopwaitsecs stop_timeout duration
stdout_logfile output output
socket listen address
socket_backlog backlog number
socket_mode socket_mode mode
priority - all apps start at the same time.
stdout_logfile_maxbytes,stderr_logfile_maxbytes - logrotate(8), with \
apppoolctl reopen.
command,process_name,numprocs_start,environment,exitcodes,redirect_stderr -
stopasgroup,killasgroup,stdout_logfile_backups,stderr_logfile_backups -
stdout_capture_maxbytes,stderr_capture_maxbytes,stdout_events_enabled -
stderr_events_enabled,stdout_syslog,stderr_syslog,serverurl,autostart -
autorestart,socket_owner,stderr_logfile -
""")
SUPERVISORD_OWN = table("""
logfile log place
loglevel log_level level
pidfile pid_file text
logfile_maxbytes - logrotate(8), with apppoolctl reopen.
minfds - an app has limit_nofile.
environment,user,directory,umask,logfile_backups,nodaemon,minprocs,silent -
childlogdir,identifier,nocleanup,strip_ansi -
""")


def supervisord(path, text, pool):
    given = settings(path, text, "supervisord")
    here = os.path.dirname(os.path.abspath(path))
    for section, name, value, where in list(given):
        for pattern in value.replace("%(here)s", here).split() \
                if (section, name) == ("include", "files") else ():
            for file in included(pattern, where, pool.top):
                given += settings(file, read(file), "supervisord")
    sections = {}
    for section, name, value, where in given:
        sections.setdefault(section, {})[name] = value, where
    common = sections.get("supervisord", {})
    other = {"group": "apppoolctl names one app, or none for all.",
             "inet_http_server": "apppool-web(8) is such a page.",
             "eventlistener": "apppoolctl events tells what happens."}
    for section, values in sections.items():
        kind, _, name = section.partition(":")
        if kind in ("program", "fcgi-program"):
            told = {key: (supervisord_expand(key, name, values), values[key][1])
                    for key in values}
            supervisord_app(pool.app(name), kind, told, common)
        elif kind in other:
            pool.top.note(f"[{section}]", other[kind])
    for name, (value, where) in common.items():
        pool.top.take(SUPERVISORD_OWN, name, value, where)


def supervisord_expand(key, program, values):
    """A value without %(name)s; the number of a process is {slot}."""
    text, where = values[key]
    first = values.get("numprocs_start", ("0",))[0]
    known = {"program_name": program, "group_name": program,
             "here": os.path.dirname(os.path.abspath(where)),
             "host_node_name": socket.gethostname(),
             "numprocs": values.get("numprocs", ("1",))[0]}

    def slot(found):
        if key not in ("command", "environment"):
            return ""
        # 80%(process_num)02d is 8000 and more.
        base = int(found[2] or 0) * 10 ** min(int(found[3] or 1), 9) + \
            int(first if first.isdigit() else 0)
        return found[1] + (f"{{slot+{base}}}" if base else "{slot}")

    def one(found):
        if found[0] == "%%":
            return "%"
        if found[1].startswith("ENV_"):
            return live(found[1][4:], "")
        if found[1] not in known:
            raise Mistake(f"{where}: {key}: {found[0]} is unknown")
        return known[found[1]]

    text = re.sub(r"([-_.]?)(\d*)%\(process_num\)0?(\d*)[ds]", slot, text)
    return re.sub(r"%%|%\((\w+)\)0?\d*[ds]", one, text)


def supervisord_app(app, kind, told, common):
    for name, (value, where) in told.items():
        app.take(SUPERVISORD, name, value, where)
    for name, (value, where) in [*common.items(), *told.items()]:
        for word in split(value, where, ",") if name == "environment" else ():
            app.variable(*word.partition("=")[::2])
    if kind == "fcgi-program":
        app.set("handoff", Bare("accept"))
        app.set("protocol", Bare("fastcgi"))
    owner = told.get("socket_owner", ("",))[0].partition(":")
    for option, value in ("socket_user", owner[0]), ("socket_group", owner[2]):
        if value:
            app.set(option, value)
    if "command" not in told:
        raise Mistake(f"{where}: the program of this section has no command")
    command, where = told["command"]
    serve(app, split(command, where), where)
    if kind == "fcgi-program":
        app.processes(app.get("min_processes", 1), 1)
    for name, wanted, text in (
            ("stderr_logfile", told.get("stdout_logfile", ("",))[0],
             "output has standard error, too."),
            ("autostart", "true",
             "apps start with the daemon; apppoolctl stop stops one."),
            ("autorestart", "true",
             "a program that ends is started again, after restart_delay.")):
        value, where = told.get(name, (wanted, ""))
        if value.lower() not in (wanted.lower(), "auto", "none"):
            app.note(f"{name} = {value}", text, where)
    if "user" in common:
        app.fill(user=common["user"][0])


# --- NGINX Unit

UNIT = table("""
user user text
group group text
working_directory directory text
stdout,stderr output output
limits/requests max_requests number
limits/timeout request_timeout duration
processes/max max_processes number
processes/spare min_idle number
processes/idle_timeout max_idle_time time
isolation/rootfs chroot text The program is executed within: it has to be there.
root,index,prefix - tell nginx.
type,module,callable,path,home,protocol,targets,environment,threads,factory -
options,executable,arguments,script,thread_stack_size,processes -
isolation/new_privs -
""")


def unit(path, text, pool):
    # Comments become spaces, so that lines stay what they are.
    text = re.sub(r'(?s)"(?:\\.|[^"\\])*"|//[^\n]*|/\*.*?\*/', lambda m: m[0]
                  if m[0][0] == '"' else re.sub(r"\S", " ", m[0]), text)
    where = f"{path}:1"
    try:
        config = json.loads(text)
        config = config.get("config", config)
        where = f"{path}:listeners"
        addresses = unit_addresses(config, pool.top, where)
        where = f"{path}:applications"
        for name, values in config["applications"].items():
            where = f"{path}:applications/{name}"
            targets = {} if values["type"].startswith("php") else \
                values.get("targets", {})
            for target in targets or [""]:
                app = pool.app(f"{name}-{target}".rstrip("-"))
                for text in addresses.get(name, []) + \
                        addresses.get(f"{name}/{target}", []):
                    app.take({"": ("listen", "address")}, "", text, where)
                unit_app(app, {**values, **targets.get(target, {})}, where)
    except json.JSONDecodeError as problem:
        raise Mistake(f"{path}:{problem.lineno}: {problem.msg}")
    except KeyError as lacking:
        raise Mistake(f"{where}: it lacks {lacking}")
    except (AttributeError, TypeError, RecursionError):
        raise Mistake(f"{where}: this is not as Unit has it")


def unit_addresses(config, top, where):
    """The addresses of each app; the other listeners are nginx's affair."""
    addresses = {}
    for name, listener in config.get("listeners", {}).items():
        target = str(listener.get("pass"))
        if target.startswith("applications/") and "tls" not in listener:
            addresses.setdefault(target[13:], []).append(name)
        else:
            top.note(f"{name}: {target}", "nginx has to listen there, " + (
                "with TLS." if "tls" in listener
                else "and to pass requests to the apps."), where)
    if "routes" in config:
        top.note("routes", "write locations of nginx, which serves files, too.",
                 where)
    return addresses


def unit_flat(values, prefix=""):
    for name, value in values.items():
        if prefix + name in ("processes", "limits", "isolation") \
                and isinstance(value, dict):
            yield from unit_flat(value, f"{name}/")
        else:
            yield prefix + name, value


def unit_app(app, values, where):
    kind = values["type"].split()[0]
    number = values.get("processes", 1)
    if isinstance(number, int):
        app.processes(number, number)
    else:
        app.processes(min(1, number.get("spare", 0)), number.get("max", 1))
    for name, value in unit_flat(values):
        app.take(UNIT, name, value if isinstance(value, str)
                 else json.dumps(value), where)
    if values.get("isolation", {}).get("new_privs") is False:
        app.set("no_new_privileges", True)
    for name, value in values.get("environment", {}).items():
        app.variable(name, value)
    home, paths = values.get("home"), values.get("path", [])
    target = f"{values.get('module')}:{values.get('callable', 'application')}"
    factory = bool(values.get("factory"))
    paths = [paths] if isinstance(paths, str) else paths
    if kind == "python" and values.get("protocol") == "asgi":
        server = os.path.join(home, "bin/uvicorn") if home else "uvicorn"
        event_loop(app, [server, "--fd", "3", *["--factory"] * factory, target,
                         *["--app-dir", *paths[:1]] * bool(paths)])
    elif kind == "python":
        wsgi(app, target + "()" * factory,
             os.path.join(home, "bin/python3") if home else None, paths)
    elif kind in ("ruby", "perl"):
        app.set("protocol", Bare("http"))
        app.set("command", ["apppool-rack" if kind == "ruby" else
                            "apppool-psgi", values["script"]])
    elif kind == "php":
        options = values.get("options", {})
        words = ["-c", options["file"]] if "file" in options else []
        for name, value in {**options.get("user", {}),
                            **options.get("admin", {})}.items():
            words += php_ini(name, value)
        php(app, words=words)
        if app.get("listen"):
            app.note(", ".join(app.get("listen")), "nginx has to listen there, "
                     "for php-cgi speaks FastCGI.")
        app.set("listen", [f"unix:{RUN}{app.name}.sock"])
    elif kind == "external":
        app.set("handoff", Bare("listen"), "Without the library of Unit: the "
                "program has to listen at descriptor 3, in Node by "
                "server.listen({fd: 3}).")
        app.set("protocol", Bare("http"))
        as_is(app, [values["executable"], *values.get("arguments", [])])
    else:
        app.note(app.name, f"apppoold has no worker for type {kind}.", where)
    if app.get("handoff") != "listen":
        slow_clients(app)
    threads = values.get("threads", 1)
    if threads > 1 and app.get("handoff") != "listen":
        app.set("max_processes", app.get("max_processes") * threads, "Times "
                f"{threads} threads: ours serve one request at a time.")


# --- Procfile

def needs_shell(command):
    bare = re.sub(r"'[^']*'|\"[^\"$`\\]*\"", "", command)
    return re.search(r"[|&;<>()$`\\*?~#]", bare)


def procfile(path, text, pool):
    given = []
    for number, line in enumerate(text.split("\n"), 1):
        row = re.fullmatch(r"([A-Za-z0-9_-]+)\s*:\s*(\S.*)", line.strip())
        if row:
            given.append((row[1], row[2], f"{path}:{number}"))
        elif line.strip() and line.strip()[0] != "#":
            raise Mistake(f"{path}:{number}: '{line.strip()}' is no NAME: "
                          "COMMAND")
    file = os.path.join(os.path.dirname(path), ".env")
    common = variables(file) if os.path.exists(file) else {}
    if common:
        pool.top.note(".env", "environment has its variables: the file is not "
                      "read again.", file)
    port = int(common.pop("PORT", "5000"))
    for name, command, where in given:
        if name == "release":
            pool.top.note(f"release: {command}", "run it when you deploy.",
                          where)
            continue
        app = pool.app(name)
        for key, value in common.items():
            app.variable(key, value)
        def words(number):
            plain = re.sub(r"\$\{PORT(:-\d+)?\}|\$PORT\b", number, command)
            return None if needs_shell(plain) else split(plain, where)

        # foreman counts ports this way, in hundreds.
        slot = f"{{slot+{port}}}"
        if not words("0"):
            as_is(app, ["/bin/sh", "-c", command])
        elif not serve(app, words(str(port)), where, port):
            serve(app, words(slot), where)
        if app.get("handoff") == "none" and (
                name == "web" or "PORT" in command):
            app.set("environment", f"PORT={slot}", "A port for each process: "
                    f"nginx needs {port}, and {port + 1} for replacements.")
        port += 100


# --- systemd

SYSTEMD = table("""
User user text
Group group text
UMask umask mode
Nice nice number
RootDirectory chroot text
RuntimeMaxSec max_lifetime duration
RestartSec restart_delay time
RestartMaxDelaySec restart_delay_max time
StartLimitBurst start_limit count
TimeoutStartSec start_timeout time
TimeoutStopSec stop_timeout duration
KillSignal stop_signal signal
LimitNOFILE limit_nofile limit
LimitNPROC limit_nproc limit
LimitCORE limit_core limit
LimitAS limit_as limit
LimitCPU limit_cpu limit
NoNewPrivileges no_new_privileges bool
StandardOutput,StandardError output output
ListenStream listen address
Backlog backlog number
SocketUser socket_user text
SocketGroup socket_group text
SocketMode socket_mode mode
MaxConnections max_processes number
ExecStartPre,ExecCondition,ExecStartPost - run it before apppoold starts, or \
in the program.
ExecStop,ExecStopPost - a process is stopped by stop_signal.
ExecReload - apppoolctl restart, or restart.txt, replaces the processes.
Sockets,Service - only units of the same name are read.
WatchdogSec - see request_timeout and slow_timeout.
RuntimeDirectory,StateDirectory,LogsDirectory,CacheDirectory - tmpfiles.d(5).
DynamicUser - sysusers.d(5) makes a user.
PIDFile,GuessMainPID - the program has to stay in the foreground.
ListenDatagram,ListenFIFO,ListenSequentialPacket - apppoold accepts streams \
only.
StartLimitIntervalSec,StartLimitInterval,Type,Description,Documentation -
Restart,WorkingDirectory,Environment,EnvironmentFile,ExecStart,PassEnvironment -
SyslogIdentifier,NotifyAccess,KillMode,SendSIGKILL,Accept -
WantedBy,Also,Alias,RequiredBy,DefaultDependencies,FileDescriptorName -
SupplementaryGroups,SuccessExitStatus,RestartPreventExitStatus,TimeoutSec -
""")


def systemd_settings(path):
    """Settings of a unit and its drop-ins; an empty one forgets former ones."""
    name = os.path.basename(path)
    stem = os.path.splitext(name)[0]
    prefix, _, instance = stem.partition("@")
    known = {"n": name, "N": stem, "p": prefix, "P": prefix, "j": prefix,
             "t": "/run", "S": "/var/lib", "C": "/var/cache", "L": "/var/log",
             "E": "/etc", "T": "/tmp", "V": "/var/tmp", "u": "root", "%": "%",
             "h": "/root", "H": socket.gethostname()}
    found = []
    for file in [path, *sorted(glob.glob(glob.escape(path) + ".d/*.conf"))]:
        for _, name, value, where in settings(file, read(file), "systemd"):
            if not value:
                found = [item for item in found if item[0] != name]
                continue
            # Each process of ours is an instance.
            known["i"] = known["I"] = instance or (
                "{slot}" if name in ("ExecStart", "Environment") else "0")
            found.append((name, re.sub("%([a-zA-Z%])", lambda m: known.get(
                m[1], m[0]), value), where))
    return found


def systemd_words(text, known, where):
    """A command line, with variables as systemd expands them."""
    out = []
    for word in split(re.sub(r"^[@:+!-]+", "", text), where):
        if re.fullmatch(r"\$\w+", word):
            # As many words as it has.
            out += split(known.get(word[1:], ""), where)
        else:
            out.append(re.sub(r"\$\$|\$\{(\w+)\}", lambda m: "$" if not m[1]
                              else known.get(m[1], live(m[1])), word))
    return out


def systemd(path, text, pool):
    stem, end = os.path.splitext(path)
    sockets = next((file for file in (f"{stem}.socket", f"{stem[:-1]}.socket"
                    if stem.endswith("@") else "") if os.path.exists(file)), "")
    if end == ".socket":
        path = next((file for file in (f"{stem}.service", f"{stem}@.service")
                     if os.path.exists(file)), "")
        if not path:
            raise Mistake(f"{stem}.service: a socket needs its service", 66)
    elif end not in (".service", ""):
        raise Mistake(f"{path}:1: of units, those of services and sockets can "
                      "be converted")
    app = pool.app(os.path.basename(stem).rstrip("@"))
    given = systemd_settings(path)
    given += systemd_settings(sockets) if sockets else []
    told = {name: value for name, value, where in given}
    known, other = {}, []
    for name, value, where in given:
        if name == "Environment":
            known.update(word.split("=", 1) for word in split(value, where)
                         if "=" in word)
        elif name == "EnvironmentFile":
            file = os.path.join(os.path.dirname(path), value.lstrip("-"))
            if os.path.exists(file):
                known.update(variables(file))
            app.note(f"{name} = {value}", "environment has its variables: the "
                     "file is not read again." if os.path.exists(file) else
                     "it is not there, and its variables are missing.", where)
        elif name == "WorkingDirectory" and "~" in value:
            app.note(f"{name} = {value}", "directory is the home of the user.",
                     where)
        elif name == "WorkingDirectory":
            app.set("directory", value.lstrip("-"))
        elif name == "TimeoutSec":
            app.take(SYSTEMD, "TimeoutStartSec", value, where)
            app.take(SYSTEMD, "TimeoutStopSec", value, where)
        elif name in SYSTEMD:
            app.take(SYSTEMD, name, value, where)
        elif not re.match("Condition|Assert|X-", name):
            other.append(name)
    if other:
        app.note(", ".join(dict.fromkeys(other)), "these go into "
                 "apppoold.service, for all apps: systemctl edit apppoold.")
    for name, value in known.items():
        app.variable(name, value)
    systemd_program(app, given, told, known, path)


def systemd_program(app, given, told, known, path):
    commands = [item[1:] for item in given if item[0] == "ExecStart"]
    if not commands:
        raise Mistake(f"{path}:1: there is no ExecStart")
    command, where = commands[0]
    for text, place in commands[1:]:
        app.note(f"ExecStart = {text}", "an app has one command.", place)
    kind = told.get("Type", "simple")
    if kind == "oneshot":
        app.note("Type = oneshot", "a program that ends is started again: "
                 "leave this one to systemd.")
    elif kind == "forking":
        app.note("Type = forking", "the program has to stay in the foreground.")
    elif told.get("Restart", "no") == "no" and "Accept" not in told:
        app.note("Restart = no", "a program that ends is started again.")
    words = systemd_words(command, known, where)
    if "ListenStream" in told:
        app.fill(socket_mode=Bare("0666"))
    if told.get("Accept", "").lower() in ("yes", "true", "on", "1"):
        app.set("handoff", Bare("stdio"))
        app.set("command", words)
    else:
        serve(app, words, where)
    if "@." in path and app.get("handoff") != "stdio":
        app.fill(min_processes=1)
        app.set("min_processes", app.get("min_processes"), "As many as there "
                "were instances.")
