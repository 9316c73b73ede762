package AppPoolJobs;

# Calls of functions that the processes of an app carry out, see apppool-jobs(7).
#
#	my $pool = AppPoolJobs->new('/run/apppoold/jobs.sock', load => 2,
#	    on_event => sub (@event) { print "@event\n" });
#
#	for my $name (@names) {
#		$pool->(thumbnail => $name, sub ($result, $error = undef) {
#			print $error // "$name: $result->{size}\n";
#		});
#	}
#	$pool->wait;
#
# A call is sent at once, or when there is room for it; its callback is called
# by wait() and step() alone, and before it on_event for each event() of the
# function. At most `load` calls are on their way on each of at
# most `connections`, more than one only while all of these are in use: 1 is best
# for soon answers, 2 and more for many. A connection is closed when there is
# nothing more to call.

use v5.36;

use Errno qw(EAGAIN EINTR);
use JSON::PP ();
use List::Util qw(min sum0);
use MIME::Base64 qw(decode_base64 encode_base64);
use Socket qw(AF_UNIX MSG_DONTWAIT MSG_NOSIGNAL SOCK_NONBLOCK SOCK_STREAM
    pack_sockaddr_un);
use overload '&{}' => sub ($self, @) { sub { $self->call(@_) } },
    bool => sub { 1 }, fallback => 1;

use constant {
	# Bytes of a call, with the LF.
	LINE_MAX => 16 << 20,
	# Seconds until an app whose backlog is full is tried again.
	PAUSE => 0.05,
};

# Bytes are objects with the one key $bytes; they are decoded to a string.
my $json = JSON::PP->new->utf8->convert_blessed
    ->filter_json_single_key_object('$bytes' => \&decode_base64);
my $encoded;

sub AppPoolJobs::Bytes::TO_JSON ($self) {
	$encoded++;
	return { '$bytes' => encode_base64($$self, '') };
}

# The string as a result, an argument or a part of these: bytes, and no text.
sub bytes ($string) { bless \$string, 'AppPoolJobs::Bytes' }

# A line of JSON.
sub encode ($message) {
	$encoded = 0;
	my $line = $json->encode($message);

	# A quote inside a string would have a backslash.
	die "the key \$bytes is reserved\n"
	    if $encoded != (() = $line =~ /"\$bytes":/g);
	return "$line\n";
}

# The message that was encoded.
sub decode ($line) { $json->decode($line) }

# Of a process that serves functions.
our ($worker, $retiring, $tell);

# For a function that is served: its process is to be replaced. What has been
# sent to that already is still answered.
sub retire () {
	$worker->retire unless $retiring++;
}

# For a function that is served: to on_event of the client that called. Dies if
# that has left.
sub event (@arguments) { $tell->(@arguments) }

sub new ($class, $path, %options) {
	return bless { path => $path, connections => 4, load => 2, %options,
		# Calls that no connection has yet, and all connections.
		queue => [], open => [] }, $class;
}

# $callback->($result), or $callback->(undef, $error) if the function died or
# there is no answer: then it may have been carried out, or not.
sub call ($self, $function, @arguments) {
	my $callback = pop @arguments;
	my $line = encode({
		function => "$function", arguments => \@arguments,
		$self->{on_event} ? (events => 1) : () });

	die 'a call has at most ', LINE_MAX, " bytes\n"
	    if length $line > LINE_MAX;
	push @{ $self->{queue} }, { line => $line, callback => $callback };
	$self->_distribute;
}

# How many calls have no answer yet.
sub pending ($self) {
	return @{ $self->{queue} } + sum0 map { @{ $_->{calls} } }
	    @{ $self->{open} };
}

# Returns when all calls are answered.
sub wait ($self) {
	1 while $self->step;
}

# Sends and receives what can be, after so many seconds at most; undef: until
# there is something. Returns how many calls have no answer yet.
sub step ($self, $seconds = undef) {
	my ($readable, $writable) = ('', '');

	$self->_distribute;
	return 0 unless $self->pending;
	if (@{ $self->{queue} } && !@{ $self->{open} }) {
		return $self->_fail_queue if $self->{why} != EAGAIN;
		$seconds = min($seconds // PAUSE, PAUSE);
	}
	for my $connection (@{ $self->{open} }) {
		my $fd = fileno $connection->{socket};

		vec($readable, $fd, 1) = 1;
		vec($writable, $fd, 1) = 1
		    if $connection->{takes} && length $connection->{out};
	}
	my $found = select $readable, $writable, undef, $seconds;

	return $self->pending if $found <= 0;
	# Callbacks may call more.
	for my $connection (my @open = @{ $self->{open} }) {
		my $fd = fileno $connection->{socket};

		# A process that answers may take nothing before that is read.
		_send($connection) if vec $writable, $fd, 1;
		$self->_receive($connection) if vec $readable, $fd, 1;
	}
	$self->_distribute;
	return $self->pending;
}

# --- the connections

# Gives calls to connections, and closes those that have none.
sub _distribute ($self) {
	while (@{ $self->{queue} } && (my $connection = $self->_roomy)) {
		my $call = shift @{ $self->{queue} };

		push @{ $connection->{calls} }, $call;
		$connection->{out} .= $call->{line};
		$call->{end} = $connection->{written} +
		    length $connection->{out};
		_send($connection);
	}
	@{ $self->{open} } = grep { @{ $_->{calls} } } @{ $self->{open} };
}

# A connection for one more call: an idle or new one if there may be, else that
# with the fewest.
sub _roomy ($self) {
	my ($best) = sort { @{ $a->{calls} } <=> @{ $b->{calls} } }
	    grep { $_->{takes} } @{ $self->{open} };

	return $best if $best && !@{ $best->{calls} };
	if (@{ $self->{open} } < $self->{connections}) {
		my $new = $self->_connect;

		return $new if $new;
	}
	return $best && @{ $best->{calls} } < $self->{load} ? $best : undef;
}

sub _connect ($self) {
	socket my $socket, AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0
	    or die "socket: $!\n";
	unless (connect $socket, pack_sockaddr_un($self->{path})) {
		$self->{why} = $!;
		return undef;
	}
	my $connection = { socket => $socket, calls => [], takes => 1,
		in => '', out => '', written => 0, answered => 0 };

	push @{ $self->{open} }, $connection;
	return $connection;
}

# No connection can be had, and none is there.
sub _fail_queue ($self) {
	my @calls = splice @{ $self->{queue} };

	$_->{callback}(undef, "$self->{path}: $self->{why}") for @calls;
	return $self->pending;
}

sub _send ($connection) {
	return unless $connection->{takes};

	my $count = send $connection->{socket}, $connection->{out},
	    MSG_DONTWAIT | MSG_NOSIGNAL;

	if (defined $count) {
		substr $connection->{out}, 0, $count, '';
		$connection->{written} += $count;
	} elsif ($! != EAGAIN && $! != EINTR) {
		# The process takes no more, and answers what it has.
		$connection->{takes} = 0;
	}
}

sub _receive ($self, $connection) {
	my $in = \$connection->{in};
	my $count = sysread $connection->{socket}, $$in, 65536, length $$in;

	return if !defined $count && ($! == EAGAIN || $! == EINTR);
	return $self->_lose($connection) unless $count;
	while ((my $end = index $$in, "\n") >= 0) {
		my $line = substr $$in, 0, $end + 1, '';
		my $reply = eval { decode($line) }
		    or return $self->_lose($connection);

		if ($reply->{event}) {
			$self->{on_event}->(@{ $reply->{event} });
			next;
		}
		my $call = shift @{ $connection->{calls} };

		$connection->{answered}++;
		$call->{callback}($reply->{result}, $reply->{error} // ());
	}
}

# Of calls that were sent in whole the first may have been carried out, and no
# other. A process that has answered nothing will not do so the next time.
sub _lose ($self, $connection) {
	my @calls = splice @{ $connection->{calls} };

	@{ $self->{open} } = grep { $_ != $connection } @{ $self->{open} };
	return unless @calls;
	my $is_begun = $calls[0]{end} <= $connection->{written};
	my $lost = $is_begun || !$connection->{answered} ? shift @calls : undef;

	unshift @{ $self->{queue} }, @calls;
	$lost->{callback}(undef, 'no answer: the connection was closed')
	    if $lost;
}

1;
