package AppPool;

# The worker protocol of apppoold in Perl, see apppool-worker(7).
#
#	my $worker = AppPool->new;
#	load_all_that_is_needed();
#	$worker->template;
#	$worker->ready;
#	$worker->connections(sub ($connection) { serve($connection) });
#
# The loop ends when the daemon asks the process to stop, or is gone. With
# template = true in its app the program is loaded once, and forked.
#
# Debian has Socket::MsgHdr in libsocket-msghdr-perl; all else is Perl's own.

use v5.36;

use Carp ();
use Digest::SHA qw(sha1_hex);
use Errno qw(EAGAIN EINTR ETIMEDOUT);
use Fcntl qw(F_SETFD FD_CLOEXEC);
use IO::Socket;
use POSIX ();
use Socket qw(MSG_DONTWAIT MSG_NOSIGNAL SCM_RIGHTS SHUT_WR SOL_SOCKET);
use Time::HiRes qw(CLOCK_MONOTONIC clock_gettime);

use constant {
	MESSAGE_MAX => 4096,
	# Room for the three descriptors of a FORK.
	CONTROL_MAX => 64,
	# Of Linux; Socket does not have it.
	MSG_CMSG_CLOEXEC => 0x40000000,
};

sub new ($class) {
	die "to be started by apppoold (protocol 1)\n"
	    if ($ENV{APPPOOL_PROTOCOL} // '') ne '1';
	eval { require Socket::MsgHdr }
	    or die "no Socket::MsgHdr: install libsocket-msghdr-perl\n";
	# A template is in the place of no worker: it has no slot.
	my $self = bless {
		app => $ENV{APPPOOL_APP},
		id => $ENV{APPPOOL_ID},
		slot => number($ENV{APPPOOL_SLOT}),
		is_template => ($ENV{APPPOOL_TEMPLATE} // '') eq '1',
		keep_alive => ($ENV{APPPOOL_KEEP_ALIVE} // '') eq '1',
		# Of the connection that the loop has in hand.
		serial => undef,
		load => undef,
		# Where it was forked, until it is ready.
		former_group => undef,
		after_fork => undef,
	}, $class;
	# Where it is, when a session is slow; what it waits for is interrupted.
	$SIG{$ENV{APPPOOL_SLOW_SIGNAL}} = sub ($name) {
		# Arguments may be what is not for the log.
		local $Carp::MaxArgNums = -1;

		print STDERR Carp::longmess("SIG$name");
	} if $ENV{APPPOOL_SLOW_SIGNAL};
	$self->_take_socket($ENV{APPPOOL_FD});
	# Programs started from here must not take it for theirs.
	delete @ENV{map { "APPPOOL_$_" }
	    qw(PROTOCOL FD APP ID SLOT TEMPLATE KEEP_ALIVE SLOW_SIGNAL)};
	return $self;
}

sub app ($self) { $self->{app} }
sub id ($self) { $self->{id} }
sub slot ($self) { $self->{slot} }

# Whether a connection may be parked.
sub keep_alive ($self) { $self->{keep_alive} }

# How busy the app was when the connection in hand was given: 1 where all processes
# were, more where connections waited; undef unless the app has load_report = true.
sub load ($self) { $self->{load} }

# Initialised: connections may come.
sub ready ($self) {
	$self->_say('READY');
	# The daemon knows a forked process from then on.
	my $group = delete $self->{former_group} // return;

	# Each session has its share of the processors from the scheduler. The
	# leader of a group has to join another one to leave it, and leads it
	# again where it cannot: one of its children is there.
	POSIX::setpgid(0, $group) && POSIX::setsid() > 0
	    or POSIX::setpgid(0, 0);
}

# Why this process cannot go on; to be followed by its exit.
sub fail ($self, $text) { $self->_say('FAIL', $text) }

# For the log and the event stream; not before ready().
sub event ($self, $text) { $self->_say('EVENT', $text) }

# Shown beside this process in the status; not before ready().
sub status ($self, $text) { $self->_say('STATUS', $text) }

# Asks to be handed no more; what is on its way still comes.
sub retire ($self) { $self->_say('RETIRE') }

# To be called before ready(), when all that is needed is loaded. In the template
# of an app, serves the daemon until that wants no more of it, and returns in
# each worker that was forked, after a call of $after_fork. Does nothing else in
# any other process. One connection to a database cannot serve two processes:
# $after_fork is the place to begin such.
sub template ($self, $after_fork = undef) {
	$self->{after_fork} = $after_fork;
	$self->_serve_forks if $self->{is_template};
}

# Calls $serve for one connection, an IO::Socket, after the other, closes and
# reports it. If that dies, so does the loop, and the connection is lost.
sub connections ($self, $serve) {
	while (my ($words, @fds) = $self->_receive) {
		my $verb = $words->[0];

		if ($verb eq 'CONN') {
			$self->{load} = defined $words->[3] ?
			    $words->[3] / 1000 : undef;
			$self->_serve($words->[1], $fds[0], $serve);
		} elsif ($verb eq 'FORK') {
			# A worker that is warm by now leaves a template behind.
			$self->ready if $self->_fork($words, @fds);
		} elsif ($verb eq 'STOP') {
			return;
		} else {
			die "unknown message @$words\n";
		}
	}
}

# In the loop: the connection is idle, with all that was read from it answered
# and nothing half read. It comes back, here or to another process of the app,
# when the client goes on.
sub park ($self, $connection) {
	my $serial = delete $self->{serial};

	close $connection;
	$self->_say($self->{keep_alive} ? 'PARK' : 'DONE', $serial);
}

# --- messages

# One message, one line of ASCII, short enough. If the daemon is gone the next
# _receive() finds that.
sub _say ($self, @words) {
	my $message = join ' ', @words;

	$message =~ s/[^ -~]/ /g;
	$message = substr $message, 0, MESSAGE_MAX;
	until (defined send $self->{socket}, $message, MSG_NOSIGNAL) {
		last if $! != EINTR;
	}
}

# The words of a message, and its descriptors; nothing: the daemon is gone.
sub _receive ($self) {
	my ($message, $length);

	do {
		$message = Socket::MsgHdr->new(
			buflen => MESSAGE_MAX, controllen => CONTROL_MAX);
		$length = Socket::MsgHdr::recvmsg(
			$self->{socket}, $message, MSG_CMSG_CLOEXEC);
	} until defined $length || $! != EINTR;
	return unless $length && $length > 0;

	my ($level, $type, $rights) = $message->cmsghdr;
	my @fds = defined $rights && $level == SOL_SOCKET &&
	    $type == SCM_RIGHTS ? unpack 'i*', $rights : ();

	return [split / /, $message->buf], map { _lift($_) } @fds;
}

# Moves a descriptor above the standard ones, if a program has closed these: a
# worker's output would be closed as the place it came from, and a client's
# connection become standard output.
sub _lift ($fd) {
	return $fd if $fd > 2;
	my $higher = POSIX::dup($fd);

	$higher = $higher > 2 ? $higher : _lift($higher);
	POSIX::close($fd);
	return $higher;
}

sub _take_socket ($self, $fd) {
	$self->{socket} = IO::Socket->new_from_fd($fd, 'r+')
	    or die "APPPOOL_FD: $!\n";
	fcntl $self->{socket}, F_SETFD, FD_CLOEXEC;
}

sub _serve ($self, $serial, $fd, $serve) {
	return $self->_say('LOST', $serial) unless defined $fd;

	my $connection = IO::Socket->new_from_fd($fd, 'r+')
	    or die "connection $serial: $!\n";

	$self->{serial} = $serial;
	$serve->($connection);
	# Parked.
	return unless defined $self->{serial};
	close $connection;
	$self->_say('DONE', delete $self->{serial});
}

# --- templates

# As the template; returns in the workers.
sub _serve_forks ($self) {
	$self->ready;
	while (my ($words, @fds) = $self->_receive) {
		last if $words->[0] eq 'STOP';
		die "unknown message @$words\n" if $words->[0] ne 'FORK';
		return if $self->_fork($words, @fds);
	}
	exit 0;
}

# Answers a FORK; true in a worker that came of it.
sub _fork ($self, $words, @fds) {
	my (undef, $serial, $id, $slot) = @$words;
	my $pid = @fds ? fork_twice() : 0;

	unless (defined $pid) {
		$self->_begin($id, $slot, @fds);
		return 1;
	}
	POSIX::close($_) for @fds;
	if ($pid == 0 && $self->{is_template}) {
		$self->fail("cannot fork: $!");
		exit 1;
	}
	$self->_say('FORKED', $serial, $pid);
	return 0;
}

# The life of a process that was forked.
sub _begin ($self, $id, $slot, $socket, @output) {
	$self->{former_group} = getpgrp;
	setpgrp 0, 0;
	close $self->{socket};
	$self->_take_socket($socket);
	# None: the output stays that of the template.
	for my $standard (1 .. @output) {
		POSIX::dup2($output[$standard - 1], $standard);
		POSIX::close($output[$standard - 1]);
	}
	# Or all would draw the same numbers.
	srand;
	$self->{id} = $id;
	$self->{is_template} = $slot eq 'template';
	if ($self->{is_template}) {
		$self->{slot} = undef;
		$self->_serve_forks;
	} else {
		$self->{slot} = number($slot);
		$self->{after_fork}->() if $self->{after_fork};
	}
}

# The number of a process whose parent has ended, which makes it a child of the
# daemon; undef in that process, 0 if there is none. Perl writes what is in the
# buffers of its files before it forks.
sub fork_twice () {
	local $?;

	pipe my $told, my $tell or return 0;
	my $middle = fork // return 0;

	if ($middle == 0) {
		my $pid = fork;

		return undef if defined $pid && $pid == 0;
		syswrite $tell, $pid if $pid;
		POSIX::_exit(0);
	}
	close $tell;
	my $pid = '';
	until (defined sysread $told, $pid, 32) {
		last if $! != EINTR;
	}
	1 while waitpid($middle, 0) == -1 && $! == EINTR;
	return $pid || 0;
}

# --- beside the protocol

sub number ($word) { defined $word ? $word + 0 : undef }

# Seconds, for differences.
sub now () { clock_gettime(CLOCK_MONOTONIC) }

# Whether the handle can be read from, or written to, before the deadline.
sub can_read ($handle, $deadline) { await($handle, $deadline, 0) }
sub can_write ($handle, $deadline) { await($handle, $deadline, 1) }

sub await ($handle, $deadline, $to_write) {
	vec(my $wanted = '', fileno $handle, 1) = 1;
	while ((my $left = $deadline - now()) > 0) {
		my $bits = $wanted;
		my $found = $to_write
		    ? select undef, $bits, undef, $left
		    : select $bits, undef, undef, $left;

		return 1 if $found > 0;
		die "select: $!\n" if $found < 0 && $! != EINTR;
	}
	return 0;
}

# Sends all; false, and $! says why, if the peer has left or takes nothing for so
# many seconds.
sub write_all ($socket, $data, $seconds) {
	while (length $data) {
		my $count = send $socket, $data, MSG_DONTWAIT | MSG_NOSIGNAL;

		if (defined $count) {
			substr $data, 0, $count, '';
			next;
		}
		next if $! == EINTR;
		return 0 if $! != EAGAIN;
		next if can_write($socket, now() + $seconds);
		$! = ETIMEDOUT;
		return 0;
	}
	return 1;
}

# Reads what the client still sends before the connection is closed: closing a
# TCP socket with input unread resets the connection, which can take the answer
# from the client before that has read it.
sub linger ($connection, $seconds = 2, $size = 65536) {
	my $deadline = now() + $seconds;

	shutdown $connection, SHUT_WR or return;
	while ($size > 0 && can_read($connection, $deadline)) {
		$size -= sysread($connection, my $data, 8192) || return;
	}
}

# Takes the option --timeout from the words of a command line: so many seconds,
# 10 without it; 0: the words are wrong.
sub take_timeout ($words) {
	my $seconds = 10;

	$seconds = (splice @$words, 0, 2)[1] // 0
	    if @$words && $words->[0] eq '--timeout';
	return 0 if @$words && $words->[0] =~ /^-/;
	return $seconds =~ /\A\d+(?:\.\d+)?\z/a && $seconds <= 86400
	    ? $seconds + 0 : 0;
}

# The key to lock where at most $slots kinds of work are told apart.
sub slot_key ($kind, $key, $slots) {
	return "$kind:" . hex(substr sha1_hex($key), 0, 4) % $slots;
}

# What came from a client and is not yet used is in {buffer}.
#
# Each part that the client sends, as begin() says, has so many seconds, and one
# more for each 16 KiB of it that has come. Only waiting counts, and all of it:
# where the limit is on silence alone, a byte now and then holds the process for
# ever.
package AppPool::Input;

use Errno qw(EAGAIN EINTR);
use List::Util qw(min);
use Socket qw(MSG_DONTWAIT);

use constant { RATE => 16384, PIECE => 65536 };

sub new ($class, $socket, $seconds) {
	return bless { socket => $socket, seconds => $seconds,
		left => $seconds, buffer => '' }, $class;
}

# What is read from now on is a part of its own.
sub begin ($self) { $self->{left} = $self->{seconds} }

# Reads something more; false: the client has left, or is too slow.
sub fill ($self) {
	my $start = AppPool::now();

	my $data;

	until (defined recv $self->{socket}, $data, PIECE, MSG_DONTWAIT) {
		next if $! == EINTR;
		return 0 if $! != EAGAIN || !AppPool::can_read(
			$self->{socket}, $start + $self->{left});
	}
	$self->{buffer} .= $data;
	$self->{left} = min($self->{seconds}, $self->{left} +
	    length($data) / RATE - (AppPool::now() - $start));
	return length $data;
}

# Locks with a limit, of a PoolCounter service; see apppool-counter(7).
#
#	my $counter = AppPool::Counter->new;
#	my $word = $counter->lock('report', 1, 50, timeout => 10, anyone => 1);
#	if ($word eq 'LOCKED') {
#		compute_and_store();
#		$counter->unlock('report');
#	}
#
# The address may be that of several servers, with commas between them: a key is
# locked at the first that takes a connection within connect_timeout, in the
# order of MediaWiki. The locks end with the connections, and those with the
# object. If it dies the service cannot be reached (any more): go on without
# the lock.
package AppPool::Counter;

use Digest::MD5 qw(md5);
use Errno qw(EINTR);
use IO::Socket::IP;
use IO::Socket::UNIX;
use Socket qw(MSG_NOSIGNAL);

sub new ($class, $address = $ENV{APPPOOL_COUNTER}, %options) {
	die "nobody said where the counter is\n" unless defined $address;
	return bless {
		names => [split /,/, $address],
		patience => 2,
		connect_timeout => 0.1,
		%options,
		# Of each server that is connected.
		sockets => {},
		# Servers that took no connection: until when, why.
		down => {},
		# Server and key, the newest last.
		locks => [],
	}, $class;
}

# LOCKED, DONE, QUEUE_FULL, TIMEOUT or LOCK_HELD.
sub lock ($self, $key, $workers, $maxqueue, %how) {
	my $timeout = $how{timeout} // 0;
	my $line = sprintf '%s %s %d %d %.3f',
	    $how{anyone} ? 'ACQ4ANY' : 'ACQ4ME', $key, $workers, $maxqueue,
	    $timeout;

	die "not a key: '$key'\n" if $key !~ /\A[^ \r\n]+\z/;
	my ($name, $reply) = $self->_ask_first($key, $line, $timeout);
	die "$reply\n" if $reply =~ /^ERROR/;
	push @{ $self->{locks} }, [$name, $key] if $reply eq 'LOCKED';
	return $reply;
}

# Gives back the newest lock of the key, or of all; whether there was any.
sub unlock ($self, $key = undef) {
	my $locks = $self->{locks};

	for my $i (reverse 0 .. $#$locks) {
		my ($name, $of) = @{ $locks->[$i] };

		next if defined $key && $key ne $of;
		my $reply = $self->_ask($name, "RELEASE $of", 0);
		splice @$locks, $i, 1;
		return $reply eq 'RELEASED';
	}
	return !!0;
}

# The server of the key and its answer. A server that was restarted has ended
# idle connections: these are made again.
sub _ask_first ($self, $key, $line, $timeout) {
	my %idle = %{ $self->{sockets} };

	delete $idle{$_->[0]} for @{ $self->{locks} };
	while (1) {
		my $name = $self->_choose($key);
		my $reply = eval { $self->_ask($name, $line, $timeout) };

		return $name, $reply if defined $reply;
		die $@ if $@ =~ /: timed out$/ || !delete $idle{$name};
	}
}

# The server of the key, connected.
sub _choose ($self, $key) {
	my %order = map { ($_ => md5($_ . $key)) } @{ $self->{names} };
	my $why;

	for my $name (sort { $order{$a} cmp $order{$b} } keys %order) {
		my $down = $self->{down}{$name};

		return $name if $self->{sockets}{$name};
		if (!$down || AppPool::now() >= $down->[0]) {
			my $socket = $self->_connect($name);

			if ($socket) {
				$self->{sockets}{$name} = $socket;
				return $name;
			}
			$down = [AppPool::now() + 1, "$name: " . ($@ || $!)];
			$self->{down}{$name} = $down;
		}
		$why = $down->[1];
	}
	die "$why\n";
}

sub _connect ($self, $name) {
	my @limit = (Timeout => $self->{connect_timeout});

	if (my ($path) = $name =~ /^unix:(.*)/s) {
		$path =~ s/^@/\0/;
		return IO::Socket::UNIX->new(Peer => $path, @limit);
	}
	my ($host, $port) = $name =~ /^(.*?)(?::(\d+))?\z/s;
	$host =~ s/^\[(.*)\]\z/$1/;
	return IO::Socket::IP->new(
		PeerHost => $host, PeerPort => $port // 7531, @limit);
}

sub _ask ($self, $name, $line, $wait) {
	my $deadline = AppPool::now() + $wait * 1.5 + $self->{patience};
	my $socket = $self->{sockets}{$name};
	my $reply = '';

	send $socket, "$line\n", MSG_NOSIGNAL or $self->_lose($name, $!);
	until ($reply =~ s/\n\z//) {
		AppPool::can_read($socket, $deadline)
		    or $self->_lose($name, 'timed out');
		my $count = sysread $socket, $reply, 1024, length $reply;

		next if !defined $count && $! == EINTR;
		$self->_lose($name, $!) unless defined $count;
		$self->_lose($name, 'the service has gone') if $count == 0;
	}
	return $reply;
}

# Without its connection it has our locks no more.
sub _lose ($self, $name, $why) {
	delete $self->{sockets}{$name};
	@{ $self->{locks} } = grep { $_->[0] ne $name } @{ $self->{locks} };
	die "$name: $why\n";
}

1;
