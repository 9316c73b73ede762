# apppoold. `make run` and `make check` work from a fresh checkout.
# Sources, tests and warnings are listed here by hand: this is the table of
# contents. A new file goes into its list, one per line, sorted.

VERSION = 0.1.0

CORE_SRCS = lib/core/action.c \
    lib/core/app.c \
    lib/core/backoff.c \
    lib/core/deadlines.c \
    lib/core/life.c \
    lib/core/pool.c \
    lib/core/pool_apps.c \
    lib/core/pool_check.c \
    lib/core/pool_conns.c \
    lib/core/pool_processes.c \
    lib/core/process.c \
    lib/core/queue.c \
    lib/core/room.c \
    lib/core/settle.c \
    lib/core/sizing.c \
    lib/core/window.c

SYS_SRCS = lib/sys/fdpass.c

DAEMON_SRCS =

# libapppool, for workers.
WORKER_SRCS = lib/sys/fdpass.c \
    lib/worker/apppool.c \
    lib/worker/environment.c \
    lib/worker/session.c

# The programs of the top folder: apppoold is apppoold.c, apppoolctl its link.
PROGS =

# Sample workers, linked with libapppool: build/contrib/NAME.
CONTRIB_PROGS = contrib/workers/hello.c

# C programs, one per source: build/tests/unit/NAME.
UNIT_TESTS = tests/unit/fdpass_test.c

# shunit2 files, run in this order.
E2E_TESTS =

# Programs the e2e tests use, linked with libapppool: build/tests/e2e/NAME.
E2E_WORKERS = tests/e2e/flood.c \
    tests/e2e/workers/tworker.c

# What e2e helpers and benches share: build/support.a.
SUPPORT_SRCS = \
    tests/support/client.c \
    tests/support/clients.c \
    tests/support/endpoint.c \
    tests/support/options.c \
    tests/support/samples.c

# tests/bench/NAME.c becomes build/bench/NAME, run by tests/bench/NAME.sh.
BENCHES =

# libFuzzer targets: build/fuzz/NAME. `make fuzz FUZZ_TIME=60` is for each.
FUZZERS =

MANS =

# ---------------------------------------------------------------- flags

PREFIX = /usr/local
SYSCONFDIR = $(PREFIX)/etc
SBINDIR = $(PREFIX)/sbin
BINDIR = $(PREFIX)/bin
LIBDIR = $(PREFIX)/lib
INCLUDEDIR = $(PREFIX)/include
MANDIR = $(PREFIX)/share/man
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

# BUILD=DIR BIN=DIR builds elsewhere.  SANITIZE=address,undefined, as check-asan has it, builds a second tree.
BUILD = build
BIN = .
SANITIZE =
ifneq ($(SANITIZE),)
HARDEN = -fsanitize=$(SANITIZE) -fno-sanitize-recover=all \
    -fno-omit-frame-pointer
SAN_LDFLAGS = -fsanitize=$(SANITIZE)
endif

ALL_CFLAGS = -std=c17 -D_GNU_SOURCE -DAPPPOOL_VERSION='"$(VERSION)"' -Ilib \
    $(LIBBSD_CFLAGS) $(WARNINGS) $(HARDEN) -pthread -MMD -MP \
    $(CPPFLAGS) $(CFLAGS)
ALL_LDFLAGS = -pthread -Wl,--as-needed -Wl,-z,relro,-z,now $(SAN_LDFLAGS) \
    $(LDFLAGS)

# ---------------------------------------------------------------- files

CORE_A = $(BUILD)/core.a
SYS_A = $(BUILD)/sys.a
DAEMON_A = $(BUILD)/daemon.a
WORKER_A = $(BUILD)/libapppool.a
WORKER_SO = $(BUILD)/libapppool.so.1
SUPPORT_A = $(BUILD)/support.a
ARCHIVES = $(DAEMON_A) $(SYS_A) $(CORE_A)

OBJ = $(BUILD)/obj
PIC = $(BUILD)/pic
CORE_OBJS = $(CORE_SRCS:%.c=$(OBJ)/%.o)
SYS_OBJS = $(SYS_SRCS:%.c=$(OBJ)/%.o)
DAEMON_OBJS = $(DAEMON_SRCS:%.c=$(OBJ)/%.o)
WORKER_OBJS = $(WORKER_SRCS:%.c=$(PIC)/%.o)

CONTRIB = $(patsubst contrib/workers/%.c,$(BUILD)/contrib/%,$(CONTRIB_PROGS))
UNITS = $(UNIT_TESTS:%.c=$(BUILD)/%)
HELPERS = $(E2E_WORKERS:%.c=$(BUILD)/%)
BENCH_PROGS = $(patsubst tests/bench/%.c,$(BUILD)/bench/%,$(BENCHES))
FUZZ_PROGS = $(patsubst tests/fuzz/%.c,$(BUILD)/fuzz/%,$(FUZZERS))
LIBS = $(if $(WORKER_SRCS),$(WORKER_A) $(WORKER_SO))
TEST_PROGS = $(UNITS) $(HELPERS)

# ---------------------------------------------------------------- targets

.PHONY: all tests suite check check-asan bench fuzz lint format-check \
    install uninstall dist deps run clean
.DELETE_ON_ERROR:
# Objects of single-source programs are kept, or they would be made anew.
.SECONDARY:

all: $(PROGS:%=$(BIN)/%) $(LIBS) $(CONTRIB)

tests: all $(TEST_PROGS)

# One build's suite; check is the ordinary build's and the sanitizers'.
suite: tests
	BUILD=$(BUILD) BIN=$(BIN) tests/run $(UNITS) $(E2E_TESTS)

check: suite check-asan

check-asan:
	$(MAKE) BUILD=build/asan BIN=build/asan SANITIZE=address,undefined suite

clean:
	rm -rf build apppoold apppoolctl

# ---------------------------------------------------------------- rules

$(OBJ)/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -fPIE -c -o $@ $<

$(PIC)/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -fPIC -fvisibility=hidden -c -o $@ $<

$(CORE_A): $(CORE_OBJS)
$(SYS_A): $(SYS_OBJS)
$(DAEMON_A): $(DAEMON_OBJS)
$(SUPPORT_A): $(SUPPORT_SRCS:%.c=$(OBJ)/%.o)

%.a: Makefile
	@mkdir -p $(@D)
	rm -f $@
	$(AR) rcs $@ $(filter %.o,$^)

# One object, of which a program sees the interface alone.
$(WORKER_A): $(WORKER_OBJS)
	$(CC) -r -nostdlib -o $(PIC)/libapppool.o $^
	$(OBJCOPY) --localize-hidden $(PIC)/libapppool.o
	rm -f $@
	$(AR) rcs $@ $(PIC)/libapppool.o

$(WORKER_SO): $(WORKER_OBJS)
	$(CC) $(ALL_LDFLAGS) -shared -Wl,-soname,libapppool.so.1 -o $@ $^
	ln -sf libapppool.so.1 $(BUILD)/libapppool.so

$(BIN)/apppoold: $(OBJ)/apppoold.o $(ARCHIVES)
	$(CC) -pie $(ALL_LDFLAGS) -o $@ $^ $(CONFUSE_LIBS) $(LIBBSD_LIBS) -lm

$(BIN)/apppoolctl: $(BIN)/apppoold
	ln -sf apppoold $@

# They include <apppool.h>, as a program outside this tree would.
$(OBJ)/contrib/%.o: ALL_CFLAGS += -Ilib/worker

$(BUILD)/contrib/%: $(OBJ)/contrib/workers/%.o $(WORKER_A)
	@mkdir -p $(@D)
	$(CC) -pie $(ALL_LDFLAGS) -o $@ $^

$(BUILD)/tests/unit/%: $(OBJ)/tests/unit/%.o $(ARCHIVES) $(WORKER_A)
	@mkdir -p $(@D)
	$(CC) -pie $(ALL_LDFLAGS) -o $@ $^ $(CONFUSE_LIBS) $(LIBBSD_LIBS) -lm

$(BUILD)/tests/e2e/%: $(OBJ)/tests/e2e/%.o $(SUPPORT_A) $(WORKER_A) $(SYS_A)
	@mkdir -p $(@D)
	$(CC) -pie $(ALL_LDFLAGS) -o $@ $^ $(LIBBSD_LIBS) -lm

$(BUILD)/bench/%: $(OBJ)/tests/bench/%.o $(ARCHIVES) $(WORKER_A)
	@mkdir -p $(@D)
	$(CC) -pie $(ALL_LDFLAGS) -o $@ $^ $(CONFUSE_LIBS) $(LIBBSD_LIBS) -lm

-include $(shell find $(OBJ) $(PIC) -name "*.d" 2>/dev/null)
