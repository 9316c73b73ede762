# apppoold. `make run` and `make check` work from a fresh checkout.

VERSION = 0.1.0

# The rooms of the daemon and of apppoolctl, an archive each, in the order in
# which they may call each other; see lib/README.
ROOMS = sim ctl control counter daemon conf sys core

# libapppool, for workers.
WORKER_SRCS = lib/sys/fdpass.c $(wildcard lib/worker/*.c)

# Between the daemon and programs that know nothing of it: build/libexec/NAME.
ADAPTERS = apppool-accept apppool-stdio
# The locks of the library would bring resolvers along.
ACCEPT_SRCS = $(wildcard lib/adapter/accept*.c) lib/sys/fdpass.c \
    lib/sys/descriptors.c lib/worker/channel.c lib/worker/environment.c
STDIO_SRCS = $(wildcard lib/adapter/stdio*.c) lib/sys/fdpass.c \
    lib/sys/descriptors.c lib/worker/apppool.c lib/worker/channel.c \
    lib/worker/environment.c lib/worker/session.c

# The programs of the top folder: apppoold is apppoold.c, apppoolctl its link.
PROGS = apppoold apppoolctl

# Sample workers, linked with libapppool: build/contrib/NAME.
CONTRIB_PROGS = contrib/workers/hello.c

# C programs, one per source: build/tests/unit/NAME.
UNIT_TESTS = tests/unit/activation_test.c \
    tests/unit/address_test.c \
    tests/unit/apppool_lock_test.c \
    tests/unit/apppool_test.c \
    tests/unit/background_test.c \
    tests/unit/backoff_test.c \
    tests/unit/child_failure_test.c \
    tests/unit/child_test.c \
    tests/unit/conf_check_test.c \
    tests/unit/conf_files_test.c \
    tests/unit/conf_reload_test.c \
    tests/unit/conf_reply_test.c \
    tests/unit/conf_syntax_test.c \
    tests/unit/conf_value_test.c \
    tests/unit/connections_test.c \
    tests/unit/control_test.c \
    tests/unit/counter_soak_test.c \
    tests/unit/counter_test.c \
    tests/unit/ctl_answer_test.c \
    tests/unit/deadlines_test.c \
    tests/unit/dump_test.c \
    tests/unit/fdpass_test.c \
    tests/unit/filemark_test.c \
    tests/unit/hang_test.c \
    tests/unit/holding_test.c \
    tests/unit/json_test.c \
    tests/unit/lane_test.c \
    tests/unit/listener_share_test.c \
    tests/unit/listener_test.c \
    tests/unit/load_test.c \
    tests/unit/log_test.c \
    tests/unit/loop_test.c \
    tests/unit/measure_test.c \
    tests/unit/notify_test.c \
    tests/unit/number_test.c \
    tests/unit/ping_test.c \
    tests/unit/pool_age_test.c \
    tests/unit/pool_change_test.c \
    tests/unit/pool_dispatch_test.c \
    tests/unit/pool_failure_test.c \
    tests/unit/pool_grow_test.c \
    tests/unit/pool_limit_test.c \
    tests/unit/pool_listen_test.c \
    tests/unit/pool_load_test.c \
    tests/unit/pool_place_test.c \
    tests/unit/pool_prefetch_test.c \
    tests/unit/pool_queue_test.c \
    tests/unit/pool_shrink_test.c \
    tests/unit/pool_soak_test.c \
    tests/unit/pool_stop_test.c \
    tests/unit/poolcounter_line_test.c \
    tests/unit/process_test.c \
    tests/unit/procinfo_test.c \
    tests/unit/reap_test.c \
    tests/unit/refusal_test.c \
    tests/unit/retriever_test.c \
    tests/unit/slow_test.c \
    tests/unit/spawn_test.c \
    tests/unit/status_test.c \
    tests/unit/timer_test.c \
    tests/unit/unread_test.c \
    tests/unit/window_test.c

# The core in virtual time, for long: build/tests/sim/NAME.
SIM_TESTS = tests/sim/compare_test.c \
    tests/sim/engine_test.c \
    tests/sim/figures_test.c \
    tests/sim/load_test.c \
    tests/sim/policies_load_test.c \
    tests/sim/policies_test.c \
    tests/sim/pool_driver_test.c \
    tests/sim/progress_test.c \
    tests/sim/socketpool_test.c \
    tests/sim/trace_test.c \
    tests/sim/view_test.c

# Our defaults against the rules of the peers, for a look: make pareto.
SIM_TOOLS = tests/sim/pareto.c

# About the tree itself, not its programs: once is enough.
TREE_TESTS = \
    tests/runner_test.sh \
    tests/layers_test.sh \
    tests/style_test.sh \
    tests/install_test.sh \
    tests/units_test.sh

# shunit2 files, run in this order: the last are short, so that none is alone.
E2E_TESTS = \
    tests/e2e/contrib_test.sh \
    tests/e2e/handover_test.sh \
    tests/e2e/death_test.sh \
    tests/e2e/clients_test.sh \
    tests/e2e/flood_test.sh \
    tests/e2e/faults_test.sh \
    tests/e2e/refusal_test.sh \
    tests/e2e/reload_test.sh \
    tests/e2e/sizing_test.sh \
    tests/e2e/prefetch_test.sh \
    tests/e2e/rollout_test.sh \
    tests/e2e/recipes_test.sh \
    tests/e2e/stop_test.sh \
    tests/e2e/output_test.sh \
    tests/e2e/environment_test.sh \
    tests/e2e/limits_test.sh \
    tests/e2e/restart_test.sh \
    tests/e2e/hang_test.sh \
    tests/e2e/examples_test.sh \
    tests/e2e/counter_test.sh \
    tests/e2e/listen_test.sh \
    tests/e2e/ready_after_test.sh \
    tests/e2e/first_run_test.sh \
    tests/e2e/log_test.sh \
    tests/e2e/service_test.sh \
    tests/e2e/control_test.sh \
    tests/e2e/simulate_test.sh \
    tests/e2e/agreement_test.sh \
    tests/e2e/simulate_words_test.sh \
    tests/e2e/ping_test.sh \
    tests/e2e/accept_test.sh \
    tests/e2e/accept_socket_test.sh \
    tests/e2e/accept_session_test.sh \
    tests/e2e/accept_faults_test.sh \
    tests/e2e/accept_burn_test.sh \
    tests/e2e/accept_end_test.sh \
    tests/e2e/accept_programs_test.sh \
    tests/e2e/stdio_test.sh \
    tests/e2e/requests_test.sh \
    tests/e2e/limit_test.sh \
    tests/e2e/counter_peer_test.sh \
    tests/e2e/systemd_test.sh

# Programs the e2e tests use, linked with libapppool: build/tests/e2e/NAME.
E2E_WORKERS = \
    tests/e2e/ask.c \
    tests/e2e/flood.c \
    tests/e2e/locker.c \
    tests/e2e/workers/acceptor.c \
    tests/e2e/workers/sandbox.c \
    tests/e2e/workers/tworker.c

# The same with libfcgi, which nothing else needs.
FCGI_WORKERS = tests/e2e/workers/fcgi.c

# What e2e helpers and benches share: build/support.a.
SUPPORT_SRCS = $(wildcard tests/support/*.c)

# Run by make bench, in this order: build/bench/NAME.
BENCHES = \
    tests/bench/hotpath.c \
    tests/bench/handover.c \
    tests/bench/waits.c \
    tests/bench/footprint.c \
    tests/bench/spawn.c \
    tests/bench/inetd.c \
    tests/bench/decide.c \
    tests/bench/simulate.c \
    tests/bench/counter.c

# ... and these as they are.
BENCH_SCRIPTS = tests/bench/php

# Programs the benches start.
BENCH_HELPERS = $(wildcard tests/bench/programs/*.c)

# libFuzzer targets: build/fuzz/bin/NAME. FUZZ_TIME=60 is for each of them.
FUZZERS = tests/fuzz/conf.c \
    tests/fuzz/control.c \
    tests/fuzz/counter.c \
    tests/fuzz/ping.c \
    tests/fuzz/trace.c

# Installed by their sections.
MANS = man/apppool-counter.7 \
    man/apppool-handoff.7 \
    man/apppool-worker.7 \
    man/apppool.3 \
    man/apppoolctl.8 \
    man/apppoold.8 \
    man/pool.conf.5

# Started as systemd units; their paths are those of PREFIX=/usr.
SYSTEMD_UNITS = etc/apppoold.service \
    etc/apppoold.socket

# What a file of pool.conf can look like, installed as documentation.
EXAMPLES = etc/examples/counter.conf \
    etc/examples/gunicorn.conf \
    etc/examples/gunicorn.nginx \
    etc/examples/hello_wsgi.py \
    etc/examples/http-server.conf \
    etc/examples/http-server.nginx \
    etc/examples/http-server.py \
    etc/examples/libfcgi.c \
    etc/examples/libfcgi.conf \
    etc/examples/libfcgi.nginx \
    etc/examples/node.conf \
    etc/examples/node.js \
    etc/examples/node.nginx \
    etc/examples/perl-fcgi.conf \
    etc/examples/perl-fcgi.nginx \
    etc/examples/perl-fcgi.pl \
    etc/examples/php-cgi.conf \
    etc/examples/php-cgi.nginx \
    etc/examples/shell.conf \
    etc/examples/shell.nginx \
    etc/examples/shell.sh \
    etc/examples/static.c \
    etc/examples/static.conf \
    etc/examples/static.nginx

# ---------------------------------------------------------------- flags

# make V=1 shows the commands.
Q = $(if $(filter 1,$(V)),,@)
say = $(if $(Q),@echo "$(1) $@")

PREFIX = /usr/local
SYSCONFDIR = /etc
SBINDIR = $(PREFIX)/sbin
BINDIR = $(PREFIX)/bin
LIBDIR = $(PREFIX)/lib
LIBEXECDIR = $(PREFIX)/libexec/apppoold
INCLUDEDIR = $(PREFIX)/include
MANDIR = $(PREFIX)/share/man
PKGCONFIGDIR = $(LIBDIR)/pkgconfig
UNITDIR = $(PREFIX)/lib/systemd/system
DOCDIR = $(PREFIX)/share/doc/apppoold
INSTALL = install
OBJCOPY = objcopy

# CFLAGS, CPPFLAGS and LDFLAGS are the user's; what the code needs is apart.
CFLAGS = -O2 -g
WARNINGS = -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
    -Wpointer-arith -Wwrite-strings -Wvla -Wformat=2 -Wundef
HARDEN = -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2 -fstack-protector-strong
LIBBSD_CFLAGS = -isystem /usr/include/bsd -DLIBBSD_OVERLAY
LIBBSD_LIBS = -lbsd
CONFUSE_LIBS = -lconfuse

# BUILD=DIR BIN=DIR builds elsewhere, as SANITIZE=address,undefined should.
BUILD = build
BIN = .
SANITIZE =
comma = ,
ifneq ($(SANITIZE),)
HARDEN = -fsanitize=$(SANITIZE) -fno-sanitize-recover=all \
    -fno-omit-frame-pointer
SAN_LDFLAGS = -fsanitize=$(subst fuzzer-no-link$(comma),,$(SANITIZE))
endif

ALL_CFLAGS = -std=c17 -D_GNU_SOURCE -Ilib \
    -DAPPPOOL_VERSION='"$(VERSION)"' \
    -DCONF_DEFAULT_FILE='"$(SYSCONFDIR)/apppoold/pool.conf"' \
    -DCONF_LIBEXECDIR='"$(LIBEXECDIR)"' \
    $(LIBBSD_CFLAGS) $(WARNINGS) $(HARDEN) -pthread -MMD -MP \
    $(CPPFLAGS) $(CFLAGS)
ALL_LDFLAGS = -pthread -Wl,--as-needed -Wl,-z,relro,-z,now $(SAN_LDFLAGS) \
    $(LDFLAGS)

# ---------------------------------------------------------------- files

WORKER_A = $(BUILD)/libapppool.a
WORKER_SO = $(BUILD)/libapppool.so.1
SUPPORT_A = $(BUILD)/support.a
SYS_A = $(BUILD)/sys.a
ARCHIVES = $(ROOMS:%=$(BUILD)/%.a)

OBJ = $(BUILD)/obj
PIC = $(BUILD)/pic
WORKER_OBJS = $(WORKER_SRCS:%.c=$(PIC)/%.o)

CONTRIB = $(patsubst contrib/workers/%.c,$(BUILD)/contrib/%,$(CONTRIB_PROGS))
ADAPTER_PROGS = $(ADAPTERS:%=$(BUILD)/libexec/%)
UNITS = $(UNIT_TESTS:%.c=$(BUILD)/%) $(SIM_TESTS:%.c=$(BUILD)/%)
HELPERS = $(E2E_WORKERS:%.c=$(BUILD)/%)
BENCH_PROGS = $(BENCHES:tests/bench/%.c=$(BUILD)/bench/%)
FUZZ_PROGS = $(FUZZERS:tests/fuzz/%.c=$(BUILD)/bin/%)
LIBS = $(WORKER_A) $(WORKER_SO)
TEST_PROGS = $(UNITS) $(HELPERS) $(FCGI_WORKERS:%.c=$(BUILD)/%) \
    $(BUILD)/tests/e2e/workers/acceptor-static $(BUILD)/tests/e2e/look
ASAN = $(BUILD)/asan

# What contrib/bootstrap sees to before anything is built; BOOTSTRAP=: trusts.
BOOTSTRAP = contrib/bootstrap
NEEDS = build $(sort $(foreach goal,$(MAKECMDGOALS),$(NEEDS_$(goal))))
NEEDS_run = run
NEEDS_check = check
NEEDS_check-asan = check
NEEDS_suite = check
NEEDS_tests = check
NEEDS_deps = check
NEEDS_bench = bench
NEEDS_lint = lint
NEEDS_fuzz = fuzz

# ---------------------------------------------------------------- targets

.PHONY: all tests asan suite check check-asan bench fuzz lint format-check \
    pareto shell-check fuzzers install uninstall dist deps run clean
.DELETE_ON_ERROR:
# Objects of single-source programs are kept, or they would be made anew.
.SECONDARY:

all: deps $(PROGS:%=$(BIN)/%) $(LIBS) $(ADAPTER_PROGS) $(CONTRIB)

deps:
	@$(BOOTSTRAP) $(NEEDS)

tests: all $(TEST_PROGS)

# The same for the sanitizers, in a tree of its own; more than -O1 takes longer
# to build than it saves.
asan: deps
	+@$(MAKE) --no-print-directory BUILD=$(ASAN) BIN=$(ASAN) \
	    CFLAGS='-O1 -g' SANITIZE=address,undefined BOOTSTRAP=: tests

# One build's suite; check is that of the ordinary and the sanitizers' build.
SUITE = BUILD=$(BUILD) BIN=$(BIN) $(UNITS) $(TREE_TESTS) $(E2E_TESTS)
SUITE_ASAN = BUILD=$(ASAN) BIN=$(ASAN) SLOW=3 \
    $(UNIT_TESTS:%.c=$(ASAN)/%) $(SIM_TESTS:%.c=$(ASAN)/%) $(E2E_TESTS)
JOBS = 2

suite: tests
	@tests/run -j $(JOBS) $(SUITE)

check-asan: asan
	@tests/run -j $(JOBS) $(SUITE_ASAN)

check: tests asan
	@tests/run -j $(JOBS) $(SUITE) $(SUITE_ASAN)

# A pool of workers on this machine, until Ctrl-C.
run: all
	@contrib/run etc/pool.conf

bench: all $(BENCH_PROGS) $(BENCH_HELPERS:tests/bench/%.c=$(BUILD)/bench/%)
	@BUILD=$(BUILD) BIN=$(BIN) tests/bench/run $(BENCH_PROGS) $(BENCH_SCRIPTS)

pareto: $(SIM_TOOLS:%.c=$(BUILD)/%)
	@$(BUILD)/tests/sim/pareto

FUZZ_TIME = 10

FUZZ = $(BUILD)/fuzz

# What is found new stays in build/fuzz/corpus.
fuzz: deps
	+@$(MAKE) --no-print-directory BUILD=$(FUZZ) BIN=$(FUZZ) CC=clang \
	    SANITIZE=fuzzer-no-link,address,undefined BOOTSTRAP=: fuzzers
	@for fuzzer in $(FUZZERS:tests/fuzz/%.c=%); do \
	    mkdir -p $(FUZZ)/corpus/$$fuzzer && \
	    set -- $(FUZZ)/corpus/$$fuzzer && \
	    if [ -d tests/fuzz/$$fuzzer ]; then \
	        set -- "$$@" tests/fuzz/$$fuzzer; fi && \
	    if [ -f tests/fuzz/$$fuzzer.dict ]; then \
	        set -- "$$@" -dict=tests/fuzz/$$fuzzer.dict; fi && \
	    $(FUZZ)/bin/$$fuzzer -max_total_time=$(FUZZ_TIME) \
	        -artifact_prefix=$(FUZZ)/ "$$@" || exit; done

fuzzers: $(FUZZ_PROGS)

C_FILES = $(shell find lib etc tests contrib apppoold.c -name '*.[ch]' 2>/dev/null)
SH_FILES = contrib/bootstrap contrib/peers contrib/run tests/run tests/bench/run .ci/run $(BENCH_SCRIPTS) \
    $(shell find etc tests contrib -name '*.sh')

format-check:
	@clang-format --dry-run -Werror $(C_FILES)

shell-check:
	@shellcheck $(SH_FILES)

lint: deps format-check shell-check
	mandoc -T lint -W warning $(MANS)
	cppcheck -q --std=c11 --enable=warning,performance --inline-suppr \
	    --suppress=missingIncludeSystem --error-exitcode=1 -Ilib \
	    --include=/usr/include/bsd/sys/queue.h $(filter %.c,$(C_FILES))
	clang-tidy --quiet $(filter-out etc/% tests/%,$(filter %.c,$(C_FILES))) -- \
	    $(ALL_CFLAGS) -Ilib/worker

dist:
	@mkdir -p build
	git archive --prefix=apppoold-$(VERSION)/ \
	    -o build/apppoold-$(VERSION).tar.gz HEAD

clean:
	rm -rf $(BUILD) $(BIN)/apppoold $(BIN)/apppoolctl

# ---------------------------------------------------------------- install

# The systemd units have the paths of PREFIX=/usr.
REPATH = sed -e 's,/usr/sbin/,$(SBINDIR)/,g' -e 's,/usr/bin/,$(BINDIR)/,g' \
    -e 's,/etc/apppoold/,$(SYSCONFDIR)/apppoold/,g'
# What a page calls /usr/bin/... is somebody else's.
REPATH_MAN = sed -e 's,/usr/local/libexec/apppoold/,$(LIBEXECDIR)/,g' \
    -e 's,/etc/apppoold/,$(SYSCONFDIR)/apppoold/,g'
INSTALLED_MANS = \
    $(foreach man,$(MANS),$(MANDIR)/man$(subst .,,$(suffix $(man)))/$(notdir $(man)))

install: all
	mkdir -p $(addprefix $(DESTDIR),$(SBINDIR) $(BINDIR) $(LIBDIR) \
	    $(LIBEXECDIR) $(INCLUDEDIR) $(PKGCONFIGDIR) $(UNITDIR) $(DOCDIR)/examples)
	$(INSTALL) -m 755 $(BIN)/apppoold $(DESTDIR)$(SBINDIR)/apppoold
	ln -srf $(DESTDIR)$(SBINDIR)/apppoold $(DESTDIR)$(BINDIR)/apppoolctl
	for adapter in $(ADAPTERS); do \
	    $(INSTALL) -m 755 $(BUILD)/libexec/$$adapter \
	        $(DESTDIR)$(LIBEXECDIR) || exit; done
	$(INSTALL) -m 644 $(WORKER_A) $(DESTDIR)$(LIBDIR)/libapppool.a
	$(INSTALL) -m 755 $(WORKER_SO) $(DESTDIR)$(LIBDIR)/libapppool.so.1
	ln -sf libapppool.so.1 $(DESTDIR)$(LIBDIR)/libapppool.so
	$(INSTALL) -m 644 lib/worker/apppool.h $(DESTDIR)$(INCLUDEDIR)/apppool.h
	sed -e 's,@PREFIX@,$(PREFIX),' -e 's,@LIBDIR@,$(LIBDIR),' \
	    -e 's,@INCLUDEDIR@,$(INCLUDEDIR),' -e 's,@VERSION@,$(VERSION),' \
	    lib/worker/apppool.pc.in >$(DESTDIR)$(PKGCONFIGDIR)/apppool.pc
	for man in $(MANS); do \
	    dir=$(DESTDIR)$(MANDIR)/man$${man##*.} && mkdir -p $$dir && \
	    $(REPATH_MAN) $$man >$$dir/$${man##*/} && \
	    chmod 644 $$dir/$${man##*/} || exit; done
	for unit in $(SYSTEMD_UNITS); do \
	    $(REPATH) $$unit >$(DESTDIR)$(UNITDIR)/$${unit##*/} || exit; done
	for file in $(EXAMPLES); do \
	    $(INSTALL) -m 644 $$file $(DESTDIR)$(DOCDIR)/examples || exit; done

uninstall:
	rm -f $(addprefix $(DESTDIR),$(SBINDIR)/apppoold $(BINDIR)/apppoolctl \
	    $(LIBDIR)/libapppool.a $(LIBDIR)/libapppool.so \
	    $(LIBDIR)/libapppool.so.1 $(INCLUDEDIR)/apppool.h \
	    $(PKGCONFIGDIR)/apppool.pc \
	    $(ADAPTERS:%=$(LIBEXECDIR)/%) \
	    $(INSTALLED_MANS) \
	    $(addprefix $(UNITDIR)/,$(notdir $(SYSTEMD_UNITS))) \
	    $(addprefix $(DOCDIR)/examples/,$(notdir $(EXAMPLES))))
	-rmdir $(addprefix $(DESTDIR),$(DOCDIR)/examples $(DOCDIR) $(LIBEXECDIR))

# ---------------------------------------------------------------- rules

$(OBJ)/%.o: %.c | deps
	@mkdir -p $(@D)
	$(call say,CC  )
	$(Q)$(CC) $(ALL_CFLAGS) -fPIE -c -o $@ $<

$(PIC)/%.o: %.c | deps
	@mkdir -p $(@D)
	$(call say,CC  )
	$(Q)$(CC) $(ALL_CFLAGS) -fPIC -fvisibility=hidden -c -o $@ $<

define room_rule
$(BUILD)/$(1).a: $(patsubst %.c,$(OBJ)/%.o,$(wildcard lib/$(1)/*.c))
endef
$(foreach room,$(ROOMS),$(eval $(call room_rule,$(room))))
$(SUPPORT_A): $(SUPPORT_SRCS:%.c=$(OBJ)/%.o)

%.a: Makefile
	@mkdir -p $(@D)
	$(call say,AR  )
	@rm -f $@
	$(Q)$(AR) rcs $@ $(filter %.o,$^)

# One object, of which a program sees the interface alone.
$(WORKER_A): $(WORKER_OBJS)
	$(Q)$(CC) -r -nostdlib -o $(PIC)/libapppool.o $^
	$(Q)$(OBJCOPY) --localize-hidden $(PIC)/libapppool.o
	$(call say,AR  )
	@rm -f $@
	$(Q)$(AR) rcs $@ $(PIC)/libapppool.o

$(WORKER_SO): $(WORKER_OBJS)
	$(call say,LINK)
	$(Q)$(CC) $(ALL_LDFLAGS) -shared -Wl,-soname,libapppool.so.1 -o $@ $^
	@ln -sf libapppool.so.1 $(BUILD)/libapppool.so

$(BIN)/apppoold: $(OBJ)/apppoold.o $(ARCHIVES)
	$(call say,LINK)
	$(Q)$(CC) -pie $(ALL_LDFLAGS) -o $@ $^ $(CONFUSE_LIBS) $(LIBBSD_LIBS) -lm

$(BIN)/apppoolctl: $(BIN)/apppoold
	@ln -sf apppoold $@

# Static: nothing is loaded for each process, nor needed in a chroot.
STATIC = $(if $(SANITIZE),-pie,-static-pie)

$(BUILD)/libexec/apppool-accept: $(ACCEPT_SRCS:%.c=$(OBJ)/%.o)
	@mkdir -p $(@D)
	$(call say,LINK)
	$(Q)$(CC) $(STATIC) $(ALL_LDFLAGS) -o $@ $^

# One is started for each session, in less time with musl, where that is there:
# glibc begins by asking the processor for its caches, a hundred traps in a
# virtual machine.
MUSL := $(if $(SANITIZE)$(filter-out cc gcc,$(CC)),,$(shell command -v musl-gcc))
STDIO_OBJ = $(if $(MUSL),$(BUILD)/musl,$(OBJ))

$(BUILD)/musl/%.o: %.c | deps
	@mkdir -p $(@D)
	$(call say,CC  )
	$(Q)$(MUSL) $(filter-out $(LIBBSD_CFLAGS),$(ALL_CFLAGS)) -c -o $@ $<

$(BUILD)/libexec/apppool-stdio: $(STDIO_SRCS:%.c=$(STDIO_OBJ)/%.o)
	@mkdir -p $(@D)
	$(call say,LINK)
	$(Q)$(if $(MUSL),$(MUSL) -static,$(CC) $(STATIC)) $(ALL_LDFLAGS) -o $@ $^

# They include <apppool.h>, as a program outside this tree would.
$(OBJ)/contrib/%.o: ALL_CFLAGS += -Ilib/worker

$(BUILD)/contrib/%: $(OBJ)/contrib/workers/%.o $(WORKER_A)
	@mkdir -p $(@D)
	$(call say,LINK)
	$(Q)$(CC) -pie $(ALL_LDFLAGS) -o $@ $^

$(BUILD)/tests/unit/%: $(OBJ)/tests/unit/%.o $(ARCHIVES) $(WORKER_A)
	@mkdir -p $(@D)
	$(call say,LINK)
	$(Q)$(CC) -pie $(ALL_LDFLAGS) -o $@ $^ $(CONFUSE_LIBS) $(LIBBSD_LIBS) -lm

$(BUILD)/tests/sim/%: $(OBJ)/tests/sim/%.o $(ARCHIVES) $(WORKER_A)
	@mkdir -p $(@D)
	$(call say,LINK)
	$(Q)$(CC) -pie $(ALL_LDFLAGS) -o $@ $^ $(CONFUSE_LIBS) $(LIBBSD_LIBS) -lm

$(BUILD)/tests/e2e/%: $(OBJ)/tests/e2e/%.o $(SUPPORT_A) $(WORKER_A) $(SYS_A)
	@mkdir -p $(@D)
	$(call say,LINK)
	$(Q)$(CC) -pie $(ALL_LDFLAGS) -o $@ $^ $(LIBBSD_LIBS) -lm

# Nothing could be slipped between it and the kernel, nor a sanitizer into it.
$(BUILD)/tests/e2e/workers/acceptor-static: tests/e2e/workers/acceptor.c \
    tests/e2e/workers/acceptor_options.h tests/e2e/workers/acceptor_serve.h
	@mkdir -p $(@D)
	$(call say,LINK)
	$(Q)$(CC) -std=c17 -D_GNU_SOURCE -O2 -pthread -static -o $@ $<

# Started for each look at a daemon: nothing to load, no sanitizer to set up.
$(BUILD)/tests/e2e/look: tests/e2e/look.c
	@mkdir -p $(@D)
	$(call say,LINK)
	$(Q)$(CC) -std=c17 -D_GNU_SOURCE -O2 $(WARNINGS) -static -o $@ $<

$(BUILD)/tests/e2e/workers/fcgi: $(OBJ)/tests/e2e/workers/fcgi.o
	@mkdir -p $(@D)
	$(call say,LINK)
	$(Q)$(CC) -pie $(ALL_LDFLAGS) -o $@ $^ -lfcgi

$(BUILD)/bin/%: $(OBJ)/tests/fuzz/%.o $(ARCHIVES) $(WORKER_A)
	@mkdir -p $(@D)
	$(call say,LINK)
	$(Q)$(CC) -pie -fsanitize=fuzzer $(ALL_LDFLAGS) -o $@ $^ $(CONFUSE_LIBS) \
	    $(LIBBSD_LIBS) -lm

$(BUILD)/bench/%: $(OBJ)/tests/bench/%.o $(SUPPORT_A) $(ARCHIVES)
	@mkdir -p $(@D)
	$(call say,LINK)
	$(Q)$(CC) -pie $(ALL_LDFLAGS) -o $@ $^ $(CONFUSE_LIBS) $(LIBBSD_LIBS) -lm

# Thousands of them: nothing to load, nothing to relocate.
$(BUILD)/bench/programs/idle: $(OBJ)/tests/bench/programs/idle.o
	@mkdir -p $(@D)
	$(CC) -static $(LDFLAGS) -o $@ $^

-include $(shell find $(OBJ) $(PIC) $(BUILD)/musl -name "*.d" 2>/dev/null)
