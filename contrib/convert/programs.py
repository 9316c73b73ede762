"""The best way to run a command line under apppoold.

Servers that have processes of their own give way to a worker that comes with
apppoold, or run with one process each.  Any other program runs as it is.
"""

import os
import re
import shlex
import socket

from files import read, settings
from poolconf import Bare, Mistake, live, table

HERE = os.path.dirname(os.path.realpath(__file__))
# Installed, the workers are one folder up; in the sources, beside this one.
WSGI = next((path for path in (
    os.path.normpath(os.path.join(HERE, "..", folder, "apppool-wsgi"))
    for folder in (".", "workers")) if os.path.exists(path)), "apppool-wsgi")


def split(text, where, and_by=""):
    """The words of a line as a shell has them, also with commas between."""
    words = shlex.shlex(text, posix=True)
    words.whitespace += and_by
    words.whitespace_split, words.commenters = True, ""
    try:
        return list(words)
    except ValueError as problem:
        raise Mistake(f"{where}: {text}: {problem}")


def wsgi(app, target, python=None, paths=()):
    """The application MODULE:OBJECT, by apppool-wsgi."""
    app.set("protocol", Bare("http"))
    app.set("command", [python, WSGI, target] if python
            else ["apppool-wsgi", target])
    app.set("template", True)
    if paths:
        app.variable("PYTHONPATH", ":".join(paths))


def slow_clients(app):
    """What those need that no web server stands in front of."""
    if app.get("protocol") == "http":
        app.fill(keep_alive=True, wait_for_data=True,
                 wait_for_request=Bare("http"))


def event_loop(app, words):
    """A program of HTTP with many connections in each process."""
    app.set("handoff", Bare("listen"),
            "A process holds many connections, and accepts them itself.")
    app.set("protocol", Bare("http"))
    app.set("command", words)


def php(app, program="/usr/bin/php-cgi", words=()):
    app.set("handoff", Bare("accept"))
    app.set("protocol", Bare("fastcgi"))
    app.set("command", [program, *words],
            "php-cgi reads a php.ini of its own (php-cgi -i tells which), and "
            "has no fastcgi_finish_request(). It runs any file that it is told "
            "to: have nginx pass only names that end in .php.")
    app.set("template", True)
    app.variable("PHP_FCGI_MAX_REQUESTS", "0")
    app.set("min_server_life", Bare(0),
            "A page that crashes PHP does not delay the others.")


def php_ini(name, value):
    # A word, or an expression such as E_ALL & ~E_NOTICE, which PHP evaluates.
    plain = re.fullmatch(r"[\w./:,@+-]*|[A-Z\d_ &|~^!()]*", value)
    return ["-d", f"{name}={value}" if plain else f'{name}="{value}"']


def as_is(app, words):
    app.set("command", words)
    app.fill(handoff=Bare("listen" if app.get("listen") else "none"))


# --- command lines

GUNICORN = table("""
chdir directory text
env environment variable
user user text
group group text
umask umask mode
backlog backlog number
graceful-timeout stop_timeout duration
max-requests max_requests number
timeout request_timeout duration
error-logfile,log-file output output
bind,workers,threads,worker-class,max-requests-jitter,preload,daemon,name -
pid,worker-tmp-dir,worker-connections,log-level,capture-output,no-sendfile -
pythonpath - PYTHONPATH in environment.
reload - name the files in watch.
keep-alive - keep_alive has the daemon hold idle connections.
access-logfile,access-logformat - apppool-wsgi has no such log: nginx has.
config - its settings are not read.
forwarded-allow-ips,proxy-allow-from - decided by the web server in front.
""")


def number(app, told, name, where, otherwise=1):
    """The number that an option has."""
    text = told.get(name, str(otherwise))
    if text.isdigit():
        return int(text)
    app.note(f"{name} = {text}", f"not known here, so {otherwise}.", where)
    return otherwise


# Options with one letter, by the server.
LETTERS = {
    "gunicorn": dict(b="bind", w="workers", k="worker-class", t="timeout",
                     c="config", u="user", g="group", m="umask", e="env",
                     n="name", p="pid", D="daemon"),
    "uwsgi": dict(s="socket", p="processes", w="module", H="home", M="master",
                  d="daemonize", t="harakiri", l="listen", i="need-app"),
    "rack": dict(p="port", b="bind", o="host", e="env", E="env", C="config",
                 c="config", w="workers", t="threads", l="listen"),
    "psgi": dict(p="port", l="listen", o="host", h="host", a="app"),
    "uvicorn": {},
}
# Options without a value.
FLAGS = set("""daemon preload reload capture-output no-sendfile reuse-port spew
    check-config initgroups proxy-protocol log-syslog factory proxy-headers
    no-proxy-headers no-access-log use-colors no-use-colors master vacuum
    enable-threads lazy-apps need-app single-interpreter die-on-term cheap
    disable-logging thunder-lock strict no-orphans memory-report""".split())


def arguments(words, server):
    """The options of a command line, by their long names, and its operands."""
    options, operands = [], []
    words = iter(words)
    for word in words:
        if not re.match("-.", word):
            operands.append(word)
            continue
        name, equals, value = word[2:].partition("=")
        if not word.startswith("--"):
            name, value = LETTERS[server].get(word[1], word[1]), word[2:]
        if not equals and not value and name not in FLAGS:
            value = next(words, "")
        options.append((name, value))
    return options, operands


def again(options, without):
    """The words of options, but for some."""
    return [word for name, value in options if name not in without.split()
            for word in ["-" * min(len(name), 2) + name]
            + [value] * (name not in FLAGS)]


def listens(app, options, port):
    """The addresses of a server that is told a host and a port."""
    told = dict(options)
    bind = [value for name, value in options
            if name in ("bind", "listen", "uds")]
    if not bind:
        bind = [f"{told.get('host', '127.0.0.1')}:{told.get('port', port)}"]
    for text in bind if not app.get("listen") else ():
        text = f"{text}:{port}" if re.fullmatch(r"[\w.]+", text) else text
        app.take({"bind": ("listen", "address")}, "bind", text, "")


def gunicorn(app, words, python, port, where):
    options, operands = arguments(words[1:], "gunicorn")
    told = dict(options)
    target = operands[-1] if operands else "application"
    target += "" if ":" in target else ":application"
    kind = told.get("worker-class", "sync")
    workers = number(app, told, "workers", where)
    listens(app, options, port or 8000)
    app.processes(workers, workers)
    # What needs neither threads nor a loop of events.
    if kind == "sync" and told.get("threads", "1") == "1" and \
            re.fullmatch(r"[\w.]+:[\w.]+(\(\))?", target):
        for name, value in options:
            app.take(GUNICORN, name, value, where)
        wsgi(app, target, python)
        return
    ours = "chdir env user group umask backlog graceful-timeout"
    if kind in ("sync", "gthread"):
        ours += " max-requests max-requests-jitter"
    for name, value in options:
        if name in ours.split():
            app.take(GUNICORN, name, value, where)
    # One worker each finds its socket in LISTEN_FDS.
    words = [words[0], *again(options, ours + " bind workers daemon pid "
                              "reload"), "--workers", "1", target]
    if kind not in ("sync", "gthread"):
        event_loop(app, words)
        return
    app.set("handoff", Bare("accept"))
    app.set("accept_by", Bare("seccomp"))
    app.set("protocol", Bare("http"))
    app.set("command", words)
    app.set("concurrency", number(app, told, "threads", where))


def uvicorn(app, words, python, port, where):
    options, operands = arguments(words[1:], "uvicorn")
    workers = number(app, dict(options), "workers", where)
    listens(app, options, port or 8000)
    app.processes(workers, workers)
    event_loop(app, [words[0], "--fd", "3", *again(
        options, "host port uds workers fd reload"), *operands])


def script(app, words, python, port, where):
    """A server of Rack or PSGI: its application by a worker of ours."""
    server = os.path.basename(words[0])
    kind, end = ("psgi", "psgi") if server in PSGI else ("rack", "ru")
    options, operands = arguments(words[1:], kind)
    told = dict(options)
    file = told.get("app") or next((w for w in operands if w.endswith(end)),
                                   {"ru": "config.ru"}.get(end, "app.psgi"))
    listens(app, options, port or PORTS[server])
    told["threads"] = told.get("threads", "1").split(":")[-1]
    workers = number(app, told, "workers", where)
    threads = number(app, told, "threads", where)
    app.processes(workers, workers * threads)
    app.set("protocol", Bare("http"))
    app.set("command", [f"apppool-{kind}", file], "It serves one request at a "
            "time: max_processes has to count threads of puma."
            if server == "puma" else "")
    if "config" in told:
        app.note(f"{server} -C {told['config']}", "its settings are not read.",
                 where)
    if kind == "rack" and told.get("env"):
        app.variable("RACK_ENV", told["env"])


def uwsgi_command(app, words, python, port, where):
    """uwsgi FILE.ini, or options as they could stand in one."""
    options, operands = arguments(words[1:], "uwsgi")
    uwsgi_app(app, [("uwsgi", name, value or "true", where) for name, value in
                    options + [("ini", word) for word in operands]])


PSGI = ("plackup", "starman", "starlet", "twiggy")
PORTS = {"puma": 9292, "rackup": 9292, "unicorn": 8080, "thin": 3000,
         **dict.fromkeys(PSGI, 5000)}
SERVERS = {"gunicorn": gunicorn, "uvicorn": uvicorn, "uwsgi": uwsgi_command,
           **dict.fromkeys(PORTS, script)}


def serve(app, words, where, port=None):
    """Runs a command line the best way; False if that is as it is."""
    words = list(words)
    while words and (os.path.basename(words[0]) in ("exec", "env")
                     or re.match(r"[A-Za-z_]\w*=", words[0])):
        word = words.pop(0)
        if "=" in word:
            app.variable(*word.partition("=")[::2])
    if not words:
        raise Mistake(f"{where}: there is no program to run")
    given, python = words, None
    if words[:2] in (["bundle", "exec"], ["poetry", "run"], ["pipenv", "run"]):
        words = words[2:] or given
    if re.match("python", os.path.basename(words[0])):
        # python -m SERVER, or python FILE.
        rest = words[2:] if words[1:2] == ["-m"] else words[1:]
        if rest and os.path.basename(rest[0]) in SERVERS:
            python, words = words[0] if "/" in words[0] else None, rest
    elif not re.match(r"(/usr(/local)?)?/bin/[^/]*$|[^/]*$", words[0]):
        # The program of a virtual environment has its python beside it.
        python = os.path.join(os.path.dirname(words[0]), "python3")
    if words[:2] in (["rails", "server"], ["rails", "s"]):
        words = ["puma", *words[2:]]
    name = os.path.basename(words[0])
    if re.match("php-cgi", name) and "-b" not in words:
        php(app, words[0], words[1:])
        return True
    if name in SERVERS:
        SERVERS[name](app, words, python, port, where)
        if given[0] == "bundle":
            app.variable("RUBYOPT", "-rbundler/setup")
        elif given[0] in ("poetry", "pipenv"):
            app.note(given[0], "the python of its environment has to run it.")
        if app.get("command"):
            return True
    as_is(app, given)
    if re.match("php-fpm", name):
        app.note(name, "give apppool-convert the files of its pools.")
    return False


# --- uWSGI

UWSGI = table("""
uid user text
gid group text
umask umask mode
chdir,chdir2 directory text
chroot chroot text The program is executed within: it has to be there.
env environment variable
listen backlog number
chmod-socket socket_mode mode
processes,workers max_processes number
cheaper min_processes number
cheaper-idle,idle max_idle_time time
cheaper-overload update_interval time
cheaper-busyness-max grow_threshold number
cheaper-busyness-min multi_threshold number
max-requests max_requests number
max-worker-lifetime max_lifetime duration
reload-on-rss,evil-reload-on-rss max_memory MiB
limit-as limit_as MiB
limit-nproc limit_nproc number
max-fd limit_nofile number
prio nice number
harakiri request_timeout duration
worker-reload-mercy,reload-mercy stop_timeout duration
http-keepalive keep_alive bool
touch-reload,touch-workers-reload,touch-chain-reload watch text
logto,logto2,daemonize,daemonize2,log-to output output
cheaper-initial,cheaper-step - as many start as those who wait need.
reload-on-as,evil-reload-on-as - max_memory bounds resident memory.
py-autoreload - name the files in watch.
pidfile,pidfile2,safe-pidfile - pid_file is the daemon's, outside of apps.
stats,stats-server - apppoolctl status, or apppool-web(8).
static-map,static-map2,static-index,check-static,static-expires-uri - nginx \
serves files.
cron,cron2,unique-cron - cron(8), or a timer of systemd.
attach-daemon,attach-daemon2,smart-attach-daemon,mule,mules - an app with \
handoff = none.
spooler,spooler-processes - apppool-jobs(7).
emperor,vassals-include - give apppool-convert the files of the vassals.
async,gevent,ugreen,asyncio,greenlet - apppool-wsgi serves one request at a \
time: raise max_processes, or let gunicorn serve it.
buffer-size,post-buffering - apppool-wsgi takes heads of up to 64 KiB.
socket-timeout,http-timeout - the --timeout of apppool-wsgi.
https,https-socket,ssl-socket - nginx has to end TLS.
for,if-env,if-exists,if-file,if-dir,if-opt - not followed: write it out.
master,vacuum,enable-threads,single-interpreter,need-app,die-on-term,strict -
no-orphans,thunder-lock,memory-report,auto-procname,procname,procname-prefix -
procname-prefix-spaced,procname-master,log-date,log-master,log-format,lazy -
logformat,log-4xx,log-5xx,log-slow,disable-logging,harakiri-verbose,lazy-apps -
max-requests-delta,max-worker-lifetime-delta,ignore-sigpipe,tcp-nodelay -
ignore-write-errors,disable-write-exception,so-keepalive,reuse-port,id,endfor -
cheaper-algo,die-on-idle,plugin,plugins,plugins-dir,declare-option,endif -
py-call-osafterfork,show-config,offload-threads,cheap,chown-socket,threads -
protocol,callable,module,wsgi,wsgi-file,file,mount,psgi,rack,pythonpath -
python-path,pp,virtualenv,venv,home,pyhome,php-docroot,php-set,php-ini -
socket,uwsgi-socket,http-socket,http11-socket,http,fastcgi-socket,scgi-socket -
manage-script-name,set-placeholder,set-ph,set,ini,include,inherit -
""")


def uwsgi_expand(text, path, known):
    """What stands for %n, %(name) and $(NAME)."""
    full = os.path.abspath(path)
    folder, base = os.path.split(full)
    stem, end = os.path.splitext(base)
    magic = {"d": folder + "/", "n": stem, "s": base, "p": full, "e": end[1:],
             "c": os.path.basename(folder), "h": socket.gethostname(),
             "k": str(os.cpu_count()), "%": "%"}
    text = re.sub(r"%\((\w[\w-]*)\)", lambda m: known.get(m[1], m[0]), text)
    text = re.sub(r"\$\((\w+)\)", lambda m: live(m[1], ""), text)
    return re.sub("%([a-zA-Z%])", lambda m: magic.get(m[1].lower(), m[0]), text)


def uwsgi_settings(given, app, known, depth=0):
    """Settings, and those of further files; `known`: the last of each name."""
    used = " ".join(item[2] for item in given)
    for _, name, value, where in given:
        path = where.rpartition(":")[0]
        if name in ("set-placeholder", "set-ph", "set"):
            name, _, value = map(str.strip, value.partition("="))
            known[name] = uwsgi_expand(value, path, known)
            continue
        known[name] = value = uwsgi_expand(value, path, known)
        if name in ("ini", "include", "inherit"):
            file, _, section = value.partition(":")
            file = os.path.join(os.path.dirname(path), file) if file else path
            if not os.path.exists(file) or depth > 8:
                app.note(f"{name} = {value}", "the file is not read.", where)
                continue
            yield from uwsgi_settings(uwsgi_section(
                file, section or "uwsgi"), app, known, depth + 1)
        elif name in UWSGI or f"%({name})" not in used:
            yield name, value, where


def uwsgi_section(path, section):
    return [item for item in settings(path, read(path), "uwsgi")
            if item[0] == section]


def uwsgi_app(app, given):
    # As Debian starts it.
    known = {"deb-confname": app.name, "deb-confnamespace": "app"}
    several = {}
    for name, value, where in uwsgi_settings(given, app, known):
        several.setdefault(name, []).append(value)
        if name.endswith("socket") and UWSGI.get(name) == ("-", "") \
                and name != "chown-socket" or name == "http":
            app.take({name: ("listen", "address")}, name, value, where)
        else:
            app.take(UWSGI, name, value, where)
    if "chown-socket" in known:
        user, _, group = known["chown-socket"].partition(":")
        app.set("socket_user", user)
        if group:
            app.set("socket_group", group)
    if not uwsgi_program(app, known, several):
        return
    most = app.get("max_processes", 1)
    threads = number(app, known, "threads", "")
    least = 0 if known.get("cheap") == "true" else most
    app.processes(app.get("min_processes", least), most * threads)
    if threads > 1:
        app.set("max_processes", most * threads, f"{most} processes times "
                f"{threads} threads: ours serve one request at a time.")
    if "http" in known:
        slow_clients(app)
    fastcgi = app.get("protocol") == "fastcgi"
    if app.get("listen") and (fastcgi or known.get("protocol") != "http" and
                              {"socket", "uwsgi-socket"} & set(known)):
        name, way = ("FastCGI", "fastcgi") if fastcgi else ("HTTP", "proxy")
        app.set("listen", app.get("listen"), f"Clients speak {name} here: "
                f"nginx needs {way}_pass.")


def uwsgi_program(app, known, several):
    """Sets the command by the kind of application, if there is any."""
    def first(*names):
        return next((known[name] for name in names if name in known), "")

    module = first("module", "wsgi")
    file = first("wsgi-file", "file")
    paths = [value for name in ("pythonpath", "python-path", "pp")
             for value in several.get(name, ())]
    if "mount" in known and not module and not file:
        file = several["mount"][0].partition("=")[2]
        app.note("mount", "an app has one application: write one for each, "
                 "and let nginx choose. This is that of the first.")
    if file and not module:
        file, colon, attribute = file.partition(":")
        folder, base = os.path.split(file)
        module = re.sub(r"\.(py|wsgi)$", "", base) + colon + attribute
        paths += [folder] * bool(folder)
        if not re.fullmatch(r"\w+\.py", base) and re.search(r"\W", base):
            app.note(base, "is imported as a module: give it a name such as "
                     "site.py.")
    if "psgi" in known or "rack" in known:
        kind = "psgi" if "psgi" in known else "rack"
        app.set("protocol", Bare("http"))
        app.set("command", [f"apppool-{kind}", known[kind]])
    elif "php" in first("plugins", "plugin") or "php-docroot" in known:
        words = ["-c", known["php-ini"]] if "php-ini" in known else []
        for value in several.get("php-set", ()):
            words += php_ini(*value.partition("=")[::2])
        php(app, words=words)
    elif module:
        venv = first("virtualenv", "venv", "home", "pyhome")
        target = module if ":" in module else \
            f"{module}:{first('callable') or 'application'}"
        wsgi(app, target, os.path.join(venv, "bin/python3") if venv else None,
             paths)
    return app.get("command")
