# apppoold. `make run` and `make check` work from a fresh checkout.
# `make V=1` shows the commands, BUILD=DIR BIN=DIR builds elsewhere.

VERSION = 0.1.0

# All processors, unless -j says how many; `make clean all` is one by one.
ifeq ($(MAKELEVEL)$(filter clean,$(MAKECMDGOALS))$(filter -j%,$(MAKEFLAGS)),0)
MAKEFLAGS += -j$(shell nproc)
endif

# ---------------------------------------------------------------- settings

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
BASHCOMPDIR = $(PREFIX)/share/bash-completion/completions
ZSHCOMPDIR = $(PREFIX)/share/zsh/site-functions
INSTALL = install
OBJCOPY = objcopy

BUILD = build
BIN = .
# Sanitizers, as in address,undefined: see the target asan.
SANITIZE =
# Seconds for each fuzzer.
FUZZ_TIME = 10
# Tests wait more than they compute: with two a processor a third of it is idle.
LANES = $(shell expr 3 \* $$(nproc))

# For contrib/install and the tests.
export BUILD BIN DESTDIR VERSION PREFIX SYSCONFDIR SBINDIR BINDIR LIBDIR \
    LIBEXECDIR INCLUDEDIR MANDIR PKGCONFIGDIR UNITDIR DOCDIR BASHCOMPDIR \
    ZSHCOMPDIR INSTALL

# CFLAGS, CPPFLAGS and LDFLAGS are the user's; what the code needs is apart.
CFLAGS ?= -O2 -g
WARNINGS = -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
    -Wpointer-arith -Wwrite-strings -Wvla -Wformat=2 -Wundef
LIBBSD_CFLAGS = -isystem /usr/include/bsd -DLIBBSD_OVERLAY
comma = ,
ifeq ($(SANITIZE),)
HARDEN = -fstack-protector-strong $(if $(findstring FORTIFY,$(CPPFLAGS)),,\
    -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)
else
HARDEN = -fsanitize=$(SANITIZE) -fno-sanitize-recover=all \
    -fno-omit-frame-pointer
SAN_LDFLAGS = -fsanitize=$(subst fuzzer-no-link$(comma),,$(SANITIZE))
endif
ALL_CFLAGS = -std=c17 -D_GNU_SOURCE -Ilib \
    -DAPPPOOL_VERSION='"$(VERSION)"' \
    -DCONF_DEFAULT_FILE='"$(SYSCONFDIR)/apppoold/pool.conf"' \
    -DCONF_LIBEXECDIR='"$(LIBEXECDIR)"' \
    -DCONF_EXAMPLES='"$(DOCDIR)/examples"' \
    $(LIBBSD_CFLAGS) $(WARNINGS) $(HARDEN) -pthread -MMD -MP \
    $(CPPFLAGS) $(CFLAGS)
ALL_LDFLAGS = -pthread -Wl,--as-needed -Wl,-z,relro,-z,now $(SAN_LDFLAGS) \
    $(LDFLAGS)
LIBS = -lconfuse -lmd -lbsd -lm
CTL_LIBS = -lncursesw -ltinfo -ljansson

# Shows what is made, or with V=1 how.
Q = $(if $(filter 1,$(V)),,@)
say = @mkdir -p $(@D) $(if $(Q),&& echo "$(1) $@")

# ---------------------------------------------------------------- files

# The rooms of the daemon and of apppoolctl, an archive each, in the order in
# which they may call each other; see lib/README.
DAEMON_ROOMS = control daemon conf sys core
COUNTER_ROOMS = counter sys core
CTL_ROOMS = ctl sim conf sys core
ROOMS = ctl sim counter $(DAEMON_ROOMS)
archives = $(patsubst %,$(BUILD)/%.a,$(1))

OBJ = $(BUILD)/obj
objects = $(patsubst %.c,$(1)/%.o,$(wildcard $(2)))

# The programs: apppoold.c, apppoolctl, the adapters between the daemon and
# programs that know nothing of it, the keeper of output, and the PoolCounter.
PROGRAMS = $(BIN)/apppoold $(BIN)/apppoolctl \
    $(BUILD)/libexec/apppool-accept $(BUILD)/libexec/apppool-accept.so \
    $(BUILD)/libexec/apppool-stdio \
    $(BUILD)/libexec/apppool-keeper $(BUILD)/libexec/apppool-counter \
    $(WEB) $(SCRIPTS)

# The status page, where its library is.
WEB = $(if $(wildcard /usr/include/microhttpd.h),$(BUILD)/libexec/apppool-web)

# Workers in other languages, found by their names as the adapters are.
SCRIPTS = $(patsubst contrib/workers/%,$(BUILD)/libexec/%,\
    $(wildcard contrib/workers/apppool-*))

# libapppool, for workers, and sample workers that are linked with it.
WORKER_A = $(BUILD)/libapppool.a
WORKER_SO = $(BUILD)/libapppool.so.1
SAMPLES = $(patsubst contrib/workers/%.c,$(BUILD)/contrib/%,\
    $(wildcard contrib/workers/*.c))

# A test program has one source, and all archives to choose from; without
# libFuzzer a fuzzer has the main() of tests/support/replay.c.
programs = $(patsubst %.c,$(BUILD)/%,$(wildcard $(1)))
UNIT_TESTS = $(call programs,tests/unit/*_test.c tests/sim/*_test.c)
E2E_PROGRAMS = $(call programs,tests/e2e/*.c tests/e2e/workers/*.c) \
    $(addprefix $(BUILD)/tests/e2e/workers/,acceptor-static acceptor-linked) \
    $(call programs,tests/hostile/*.c)
BENCHES = $(call programs,tests/bench/*.c)
BENCH_PROGRAMS = $(call programs,tests/bench/programs/*.c) \
    $(BUILD)/tests/bench/programs/turns.so
FUZZERS = $(call programs,tests/fuzz/*.c)
FUZZ_LDFLAGS = $(if $(filter fuzzer%,$(SANITIZE)),-fsanitize=fuzzer)

# About the tree itself, not its programs: once is enough.
TREE_TESTS = $(wildcard tests/*_test.sh)
# The longest come first, so that all lanes end together.
LONG = $(patsubst %,tests/%_test.sh,$(addprefix e2e/,counter examples restart \
    listen auto upgrade accept_library simulate run close_delay jobs web_page \
    cluster template_hostile accept_end canary death) $(addprefix hostile/,\
    retake output together deaths files))
E2E_TESTS = $(LONG) $(filter-out $(LONG),$(wildcard tests/e2e/*_test.sh) \
    $(wildcard tests/hostile/*_test.sh))
# Figures of time, other programs and scripts, in which a sanitizer finds nothing.
FIGURES_TESTS = $(addprefix tests/e2e/,agreement_test.sh balancer_test.sh \
    cluster_test.sh completion_test.sh convert_test.sh examples_test.sh \
    hosts_test.sh jobs_test.sh) tests/hostile/control_test.sh

C_FILES = $(shell find lib etc tests contrib apppoold.c -name '*.[ch]')
SH_FILES = $(wildcard contrib/bootstrap contrib/install contrib/peers \
    contrib/run contrib/debian/build tests/run tests/fresh tests/kernel \
    tests/*/run tests/bench/php .ci/run) \
    $(shell find $(wildcard etc tests contrib) -name '*.sh')

# ---------------------------------------------------------------- targets

.PHONY: all tests asan check check-all check-asan check-web check-fresh \
    check-real check-kernel check-loss check-package balancer bench pareto fuzz \
    fuzzers lint e2e-programs format-check shell-check install uninstall dist \
    deb deps run \
    clean FORCE
.DELETE_ON_ERROR:
# Objects of programs with one source are kept.
.SECONDARY:

all: deps $(PROGRAMS) $(WORKER_A) $(WORKER_SO) $(SAMPLES)

# Purposes whose packages contrib/bootstrap sees to; BOOTSTRAP=: skips that.
BOOTSTRAP = contrib/bootstrap
NEEDS = build \
    $(filter run check check-web check-fresh check-kernel bench lint fuzz,\
    $(MAKECMDGOALS)) \
    $(if $(filter check-asan check-web check-real check-kernel check-loss tests \
    deps,$(MAKECMDGOALS)),check) $(if $(filter check-real,$(MAKECMDGOALS)),check-fresh)

deps:
	@$(BOOTSTRAP) $(NEEDS)

# A pool of workers on this machine, until Ctrl-C.
run: all
	@contrib/run etc/pool.conf

tests: all $(UNIT_TESTS) $(FUZZERS) $(E2E_PROGRAMS)

# In a make that sees what was installed: the status page is built where its
# library is, two helpers with musl where that is.
check: deps
	@$(MAKE) --no-print-directory BOOTSTRAP=: check-all

check-all: tests
	@tests/run -a 6 -j $(LANES) $(UNIT_TESTS) $(FUZZERS) $(TREE_TESTS) \
	    $(E2E_TESTS)

# The same for the sanitizers, in a tree of its own; more than -O1, or
# variables for a debugger (-g), takes longer to build than it saves.
ASAN = $(BUILD)/asan
asan: deps
	@$(MAKE) --no-print-directory BUILD=$(ASAN) BIN=$(ASAN) \
	    CFLAGS='-O1 -g1' SANITIZE=address,undefined BOOTSTRAP=: tests

check-asan: asan
	@tests/run -a 6 -j $(LANES) BUILD=$(ASAN) BIN=$(ASAN) SLOW=3 \
	    $(patsubst $(BUILD)/%,$(ASAN)/%,$(UNIT_TESTS) $(FUZZERS)) \
	    $(filter-out $(FIGURES_TESTS),$(E2E_TESTS))

# The status page, also in a browser.
check-web: deps
	@$(MAKE) --no-print-directory BOOTSTRAP=: all e2e-programs
	@tests/run -j $(LANES) $(wildcard tests/e2e/web*_test.sh)

# `make run` and `make check` on machines that have seen neither; FRESH has those
# of tests/fresh that are enough.
check-fresh: deps
	@tests/fresh $(FRESH)

# Programs as Debian packages them, on a machine that has them.
check-real: deps
	@$(MAKE) --no-print-directory BOOTSTRAP=: tests
	@tests/real/run

# FILES, or tests/e2e, on the kernel of Debian 12, with and without modules.
check-kernel: deps
	@$(MAKE) --no-print-directory BOOTSTRAP=: tests
	@tests/kernel $(FILES)

# Requests under twenty times each change that an operator makes: none fails.
check-loss: deps
	@$(MAKE) --no-print-directory BOOTSTRAP=: tests
	@LOSS_ROUNDS=20 LOSS_REQUESTS=3000 UPGRADE_CLIENTS=1000 T=1800 tests/run \
	    tests/e2e/loss_test.sh tests/e2e/systemd_test.sh \
	    tests/e2e/upgrade_test.sh

# The packages of `make deb` and the image of contrib/container, as root.
check-package:
	@tests/package/run

e2e-programs: $(E2E_PROGRAMS)

bench: all $(BENCHES) $(BENCH_PROGRAMS)
	@tests/bench/run $(BENCHES) tests/bench/php tests/bench/template \
	    tests/bench/upgrade

# Three daemons behind HAProxy, some minutes under load, for a look.
balancer: all
	@tests/bench/balancer

# Our defaults against the rules of the peers, for a look.
pareto: $(BUILD)/tests/sim/pareto
	@$<

FUZZ = $(BUILD)/fuzz
fuzz: deps
	@$(MAKE) --no-print-directory BUILD=$(FUZZ) BIN=$(FUZZ) CC=clang \
	    SANITIZE=fuzzer-no-link,address,undefined BOOTSTRAP=: fuzzers
	@tests/fuzz/run $(FUZZ) $(FUZZ_TIME)

fuzzers: $(FUZZERS)

format-check:
	@clang-format --dry-run -Werror $(C_FILES)

shell-check: $(SH_FILES:%=$(BUILD)/shell-check/%)

lint: deps format-check shell-check
	mandoc -T lint -W warning $(wildcard man/*.[1-8])
	cppcheck -q --std=c11 --enable=warning,performance --inline-suppr \
	    --suppress=missingIncludeSystem --error-exitcode=1 -Ilib \
	    --include=/usr/include/bsd/sys/queue.h \
	    --include=/usr/include/bsd/sys/tree.h $(filter %.c,$(C_FILES))
	clang-tidy --quiet $(filter-out etc/% tests/%,$(filter %.c,$(C_FILES))) -- \
	    $(ALL_CFLAGS) -U_FORTIFY_SOURCE -Ilib/worker
	tests/house

install: all
	@contrib/install

uninstall:
	@contrib/install -u

dist:
	@mkdir -p build
	git archive --prefix=apppoold-$(VERSION)/ \
	    -o build/apppoold-$(VERSION).tar.gz HEAD

# Debian packages of HEAD, in build/deb.
deb:
	@contrib/debian/build

clean:
	rm -rf $(BUILD) $(BIN)/apppoold $(BIN)/apppoolctl

# ---------------------------------------------------------------- rules

$(OBJ)/%.o: %.c | deps
	$(call say,CC  )
	$(Q)$(CC) $(ALL_CFLAGS) -fPIE -c -o $@ $<

$(OBJ)/pic/%.o: %.c | deps
	$(call say,CC  )
	$(Q)$(CC) $(ALL_CFLAGS) -fPIC -fvisibility=hidden -c -o $@ $<

# Test programs run for moments: -O0 compiles them five times as fast.
$(addprefix $(OBJ)/tests/,unit/%.o hostile/%.o fuzz/%.o): \
    ALL_CFLAGS += -O0 -U_FORTIFY_SOURCE

# As a program outside this tree would include <apppool.h>.
$(OBJ)/contrib/%.o: ALL_CFLAGS += -Ilib/worker

# A file with these words, new when they change.
remember = @mkdir -p $(@D) && { echo '$(1)' | cmp -s - $@ || echo '$(1)' >$@; }

# The names of all sources: no archive keeps what is no longer there.
$(BUILD)/sources: FORCE
	$(call remember,$(sort $(wildcard lib/*/*.c tests/support/*.c \
	    tests/bench/peers/*.c)))

# What is compiled into some objects: these are made anew for another PREFIX.
$(BUILD)/compiled-in: FORCE
	$(call remember,$(VERSION) $(SYSCONFDIR) $(LIBEXECDIR) $(DOCDIR))

$(patsubst %.c,$(OBJ)/%.o,$(shell grep -slE \
    'APPPOOL_VERSION|CONF_DEFAULT_FILE|CONF_LIBEXECDIR' \
    apppoold.c lib/*/*.c tests/*/*.c)): $(BUILD)/compiled-in

# The library of hooks is none of a program.
define archive
$(BUILD)/$(1).a: $(filter-out %/accept_library.o,\
    $(call objects,$(OBJ),lib/$(1)/*.c))
endef
$(foreach room,$(ROOMS) worker adapter,$(eval $(call archive,$(room))))
$(BUILD)/support.a: $(call objects,$(OBJ),tests/support/*.c)
# The rules of the peers, which are compared with ours.
$(BUILD)/peers.a: $(call objects,$(OBJ),tests/bench/peers/*.c)

%.a: Makefile $(BUILD)/sources
	$(call say,AR  )
	$(Q)rm -f $@ && $(AR) rcs $@ $(filter %.o,$^)

# The library is one object, of which a program sees the interface alone.
WORKER_OBJECTS = $(call objects,$(OBJ)/pic,lib/worker/*.c lib/sys/fdpass.c \
    lib/sys/serverlist.c)
# The sums of libmd are linked in: a worker needs no library more than libc.
$(OBJ)/pic/libapppool.o: $(WORKER_OBJECTS)
	$(Q)$(CC) -r -nostdlib -o $@ $^ -l:libmd.a
	$(Q)$(OBJCOPY) -w --localize-hidden --localize-symbol='MD5*' \
	    --localize-symbol='SHA1*' $@

$(WORKER_A): $(OBJ)/pic/libapppool.o

$(WORKER_SO): $(WORKER_OBJECTS)
	$(call say,LINK)
	$(Q)$(CC) $(ALL_LDFLAGS) -shared -Wl,-soname,libapppool.so.1 \
	    -Wl,--exclude-libs,libmd.a -o $@ $^ -l:libmd.a
	@ln -sf libapppool.so.1 $(BUILD)/libapppool.so

$(BIN)/apppoold: $(OBJ)/apppoold.o $(call archives,$(DAEMON_ROOMS))
	$(call say,LINK)
	$(Q)$(CC) -pie $(ALL_LDFLAGS) -o $@ $^ $(LIBS)

# In older trees it is a link to apppoold, and as new as that.
$(shell [ ! -L $(BIN)/apppoolctl ] || rm $(BIN)/apppoolctl)

$(BIN)/apppoolctl: $(OBJ)/lib/ctl/apppoolctl.o $(call archives,$(CTL_ROOMS))
	$(call say,LINK)
	$(Q)$(CC) -pie $(ALL_LDFLAGS) -o $@ $^ $(CTL_LIBS) $(LIBS)

$(BUILD)/libexec/apppool-counter: $(OBJ)/lib/counter/apppool_counter.o \
    $(call archives,$(COUNTER_ROOMS))
	$(call say,LINK)
	$(Q)$(CC) -pie $(ALL_LDFLAGS) -o $@ $^ -lbsd

# Static: nothing is loaded for each process, nor needed in a chroot.
STATIC = $(if $(SANITIZE),-pie,-static-pie)

$(BUILD)/libexec/apppool-accept: $(OBJ)/lib/adapter/accept.o \
    $(BUILD)/adapter.a $(BUILD)/worker.a $(BUILD)/sys.a
	$(call say,LINK)
	$(Q)$(CC) $(STATIC) $(ALL_LDFLAGS) -o $@ $^

# Any program may load it: it is without sanitizers, and shows its hooks alone.
LIBRARY_OBJECTS = $(addprefix $(OBJ)/plain/lib/,adapter/accept_library.o \
    adapter/accept_inherited.o \
    worker/apppool.o worker/channel.o sys/fdpass.o)

$(OBJ)/plain/%.o: %.c | deps
	$(call say,CC  )
	$(Q)$(CC) $(filter-out -fsanitize% -fno-sanitize%,$(ALL_CFLAGS)) -fPIC \
	    -fvisibility=hidden -c -o $@ $<

$(OBJ)/plain/library.o: $(LIBRARY_OBJECTS)
	$(Q)$(CC) -r -nostdlib -o $@ $^
	$(Q)$(OBJCOPY) -w --localize-symbol='apppool_*' $@

$(BUILD)/libexec/apppool-accept.so: $(OBJ)/plain/library.o
	$(call say,LINK)
	$(Q)$(CC) $(filter-out $(SAN_LDFLAGS),$(ALL_LDFLAGS)) -shared -o $@ $^

# apppool-stdio starts for each session, sooner with musl, where that is there:
# glibc begins by asking the processor for its caches, a hundred traps in a
# virtual machine.
MUSL := $(if $(SANITIZE)$(filter-out cc gcc,$(CC)),,$(shell command -v musl-gcc))
STDIO_OBJECTS = $(call objects,$(OBJ)$(if $(MUSL),/musl),lib/adapter/stdio*.c \
    lib/sys/fdpass.c lib/sys/descriptors.c lib/worker/apppool.c \
    lib/worker/channel.c)

$(OBJ)/musl/%.o: %.c | deps
	$(call say,CC  )
	$(Q)$(MUSL) $(filter-out $(LIBBSD_CFLAGS),$(ALL_CFLAGS)) -c -o $@ $<

$(BUILD)/libexec/apppool-stdio: $(STDIO_OBJECTS)
	$(call say,LINK)
	$(Q)$(if $(MUSL),$(MUSL) -static,$(CC) $(STATIC)) $(ALL_LDFLAGS) -o $@ $^

# With musl apppool-keeper takes a third of the memory.
KEEPER_OBJECTS = $(call objects,$(OBJ)$(if $(MUSL),/musl),lib/keeper/*.c \
    lib/sys/fdpass.c)

$(BUILD)/libexec/apppool-keeper: $(KEEPER_OBJECTS)
	$(call say,LINK)
	$(Q)$(if $(MUSL),$(MUSL) -static,$(CC) $(STATIC)) $(ALL_LDFLAGS) -o $@ $^

# The page of HTML becomes an array of bytes.
$(BUILD)/page.c: lib/web/page.html Makefile
	@mkdir -p $(@D)
	@(echo '#include "web/web.h"'; \
	    echo 'const unsigned char page_html[] = {'; \
	    od -An -v -t u1 $< | sed 's/ *\([0-9][0-9]*\)/\1,/g'; echo '};'; \
	    echo 'const size_t page_html_len = sizeof(page_html);') >$@

$(OBJ)/lib/web/page.o: $(BUILD)/page.c
	$(call say,CC  )
	$(Q)$(CC) $(ALL_CFLAGS) -fPIE -c -o $@ $<

$(BUILD)/libexec/apppool-web: $(call objects,$(OBJ),lib/web/*.c) \
    $(OBJ)/lib/web/page.o $(WORKER_A)
	$(call say,LINK)
	$(Q)$(CC) -pie $(ALL_LDFLAGS) -o $@ $^ -lmicrohttpd -lbsd -lm

$(SCRIPTS): $(BUILD)/libexec/%: contrib/workers/%
	@mkdir -p $(@D) && ln -srf $< $@

$(BUILD)/contrib/%: $(OBJ)/contrib/workers/%.o $(WORKER_A)
	$(call say,LINK)
	$(Q)$(CC) -pie $(ALL_LDFLAGS) -o $@ $^

$(BUILD)/tests/%: $(OBJ)/tests/%.o $(BUILD)/support.a $(WORKER_A) \
    $(call archives,$(ROOMS))
	$(call say,LINK)
	$(Q)$(CC) -pie $(ALL_LDFLAGS) -o $@ $^ $(CTL_LIBS) $(LIBS)

$(call programs,tests/sim/*.c): $(BUILD)/peers.a
$(call programs,tests/sim/*.c): LIBS += \
    $(BUILD)/peers.a $(BUILD)/sim.a $(BUILD)/core.a
$(BUILD)/tests/unit/program_test: $(BUILD)/adapter.a $(BUILD)/worker.a
$(BUILD)/tests/unit/program_test: LIBS += \
    $(BUILD)/adapter.a $(BUILD)/worker.a $(BUILD)/sys.a
$(BUILD)/tests/e2e/workers/fcgi: LIBS += -lfcgi
# Functions of its own stand for some of the daemon's.
$(addprefix $(BUILD)/tests/unit/,control_test refusal_test): ALL_LDFLAGS += -Wl,-z,muldefs
# The library of hooks in the program itself, with the sanitizers.
$(BUILD)/tests/e2e/workers/acceptor-linked: $(addprefix $(OBJ)/, \
    tests/e2e/workers/acceptor.o $(patsubst $(OBJ)/plain/%,%,$(LIBRARY_OBJECTS)))
	$(call say,LINK)
	$(Q)$(CC) -pie $(ALL_LDFLAGS) -o $@ $^
# What of the status page needs no libmicrohttpd.
$(BUILD)/tests/unit/history_test: $(OBJ)/lib/web/history.o
$(BUILD)/tests/unit/question_test: $(OBJ)/lib/web/question.o

$(FUZZERS): ALL_LDFLAGS += $(FUZZ_LDFLAGS)

# Archives that most programs do without; and a kernel that is made up.
$(addprefix $(BUILD)/tests/fuzz/,adapter apppool): \
    $(BUILD)/adapter.a $(BUILD)/worker.a
$(addprefix $(BUILD)/tests/fuzz/,adapter apppool): LIBS += \
    $(BUILD)/adapter.a $(BUILD)/worker.a $(BUILD)/sys.a
$(BUILD)/tests/fuzz/adapter: ALL_LDFLAGS += $(patsubst %,-Wl$(comma)--wrap=%,\
    ioctl process_vm_readv process_vm_writev pread pwrite syscall stat access \
    kill _exit)

# Started often: nothing to load, and no sanitizer to set up, nor anything that
# could be slipped between the program and the kernel.
STATIC_TESTS = $(BUILD)/tests/e2e/look \
    $(addprefix $(BUILD)/tests/bench/programs/,brief idle) \
    $(BUILD)/tests/e2e/workers/acceptor-static \
    $(BUILD)/tests/e2e/workers/whoami $(BUILD)/tests/hostile/orphans
$(BUILD)/tests/e2e/look: tests/e2e/look.c
$(BUILD)/tests/e2e/workers/acceptor-static: tests/e2e/workers/acceptor.c
$(BUILD)/tests/e2e/workers/whoami: tests/e2e/workers/whoami.c
$(BUILD)/tests/bench/programs/brief: tests/bench/programs/brief.c
$(BUILD)/tests/bench/programs/idle: tests/bench/programs/idle.c
$(BUILD)/tests/hostile/orphans: tests/hostile/orphans.c
$(STATIC_TESTS): | deps
	$(call say,LINK)
	@mkdir -p $(OBJ)
	$(Q)$(CC) -std=c17 -D_GNU_SOURCE -O2 $(WARNINGS) -pthread -static \
	    -MMD -MP -MF $(OBJ)/$(@F).d -o $@ $<

# Preloaded into the daemon.
$(BUILD)/tests/bench/programs/turns.so: tests/bench/preload/turns.c
	$(call say,LINK)
	@mkdir -p $(@D) $(OBJ)
	$(Q)$(CC) -std=c17 -D_GNU_SOURCE -O2 $(WARNINGS) -fPIC -shared \
	    -MMD -MP -MF $(OBJ)/$(@F).d -o $@ $<

# For each test file shellcheck reads a lib.sh that has the variables, and the
# functions without their bodies: with these it would take four times as long.
$(BUILD)/names/tests/e2e/lib.sh: tests/e2e/lib.sh Makefile \
    $(wildcard tests/*/*_help.sh)
	@rm -rf $(BUILD)/names && mkdir -p $(BUILD)/names
	@cp -rs $(CURDIR)/tests $(BUILD)/names && rm $@
	@{ sed -n 's/^\([a-z_]*()\) {$$/\1 { :; }/p' $< && \
	    grep -oE '\$$\{?[A-Z][A-Z_]+|\<[A-Z][A-Z_]+=' $< | tr -d '$${=' | \
	    sort -u | sed 's/.*/&=$$&/'; } >$@

$(BUILD)/shell-check/%: % $(BUILD)/names/tests/e2e/lib.sh
	@mkdir -p $(@D)
	@(cd $(BUILD)/names && shellcheck $(CURDIR)/$<) && : >$@

-include $(shell find $(OBJ) -name '*.d' 2>/dev/null)
