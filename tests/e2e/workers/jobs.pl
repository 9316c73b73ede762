# Calls of functions by AppPoolJobs: jobs.pl PATH FACT...; see jobs_test.sh.

use v5.36;

use lib 'contrib/workers';
use AppPoolJobs;
use IO::Select;
use IO::Socket::UNIX;
use List::Util qw(uniq);

my ($path, @facts) = @ARGV;

sub pool (%options) { AppPoolJobs->new($path, %options) }

sub ok ($is_true, $said = '') {
	die "line ", (caller)[2], ": $said\n" unless $is_true;
}

# What each call came to, in the order of the calls: [RESULT, ERROR].
sub outcomes ($pool, @calls) {
	my @outcomes;

	for my $i (0 .. $#calls) {
		$pool->(@{ $calls[$i] }, sub (@said) { $outcomes[$i] = \@said });
	}
	$pool->wait;
	return @outcomes;
}

sub results ($pool, @calls) {
	return map { ok(@$_ == 1, $_->[1]); $_->[0] } outcomes($pool, @calls);
}

sub result ($pool, @call) { (results($pool, \@call))[0] }
sub error ($pool, @call) { (outcomes($pool, \@call))[0][1] // 'none' }

my %FACTS = (
	a_call_has_the_result_of_the_function => sub {
		ok(result(pool(), add => 1, 2) == 3);
		my $size = result(pool(), size => "a\x{e4}\x{263a}");
		ok($size->[0] == 3 && $size->[1] eq "a\x{e4}\x{263a}");
	},
	what_ends_a_function_is_the_error_of_its_call => sub {
		my $pool = pool();

		ok(error($pool, fail => 'why') =~ /why\z/);
		ok(error($pool, add => 1) ne 'none');
		ok(error($pool, 'odd') ne 'none');
		ok(error($pool, $_) eq "no function '$_'")
		    for 'hidden', 'missing', 'CORE::exit', '';
		ok(result($pool, add => 1, 2) == 3);
	},
	each_process_is_started_once => sub {
		for (1 .. 3) {
			my $pool = pool(connections => 1);
			ok(result($pool, 'started') == 1);
			result($pool, 'last');
		}
	},
	events_come_in_order_before_the_result => sub {
		my %said = map { $_ => [] } 'a' .. 'f';
		my $pool = pool(connections => 2, load => 3,
			on_event => sub ($name, $number) {
				push @{ $said{$name} }, $number;
			});

		for my $name (sort keys %said) {
			$pool->(count => $name, 300, sub ($most) {
				push @{ $said{$name} }, "end $most";
			});
		}
		$pool->wait;
		ok("@$_" eq "@{[1 .. 300]} end 300") for values %said;
	},
	bytes_travel_unchanged => sub {
		my $all = join '', map { chr } 0 .. 255;

		for my $data ('', $all, $all x 400) {
			my @said;
			my $pool = pool(on_event => sub (@event) { @said = @event });
			my $twice = result($pool,
				twice => AppPoolJobs::bytes($data));

			ok($twice->{length} == length $data);
			ok($twice->{twice}[0] eq $data . $data);
			ok(@said == 1 && $said[0] eq $data);
		}
	},
	the_key_of_bytes_is_reserved => sub {
		my $pool = pool();
		my $said = 'the key $bytes is reserved';

		ok(error($pool, 'reserved') =~ /\Q$said\E\z/);
		ok(!eval { $pool->(size => { '$bytes' => '' }, sub { }); 1 });
		ok($@ eq "$said\n", $@);
		ok(!eval { $pool->(size => AppPoolJobs::bytes("\x{263a}"), sub { }) });
		ok(result($pool, size => '{"$bytes":""}')->[1] eq '{"$bytes":""}');
	},
	many_calls_are_in_flight => sub {
		my $pool = pool(connections => 4);
		my @sums = results($pool, map { [add => $_, $_] } 1 .. 1000);

		ok($sums[$_ - 1] == 2 * $_, $_) for 1 .. 1000;
		ok(uniq(results($pool, map { [nap => 0.1] } 1 .. 40)) > 1);
	},
	a_callback_may_call => sub {
		my $pool = pool(connections => 1);
		my $sum = 0;
		my $add;

		$add = sub ($result, $error = undef) {
			$sum = $result;
			$pool->(add => $sum, 1, $add) if $sum < 100;
		};
		$pool->(add => 0, 1, $add);
		$pool->wait;
		ok($sum == 100, $sum);
	},
	calls_on_a_connection_are_answered_in_order => sub {
		my $client = IO::Socket::UNIX->new(Peer => $path) or die;

		printf $client qq({"function": "add", "arguments": [%d, 1]}\n), $_
		    for 1 .. 50;
		print $client qq(nonsense\n{"function": "add"}\n[]\n);
		print $client '{"function": "add"';
		shutdown $client, 1;
		my @said = <$client>;
		ok(@said == 53, scalar @said);
		ok($said[$_ - 1] =~ /\A\{"result": ?"?@{[$_ + 1]}"?\}\n\z/,
			$said[$_ - 1]) for 1 .. 50;
		ok(/\A\{"error": ?".*"\}\n\z/, $_) for @said[50 .. 52];
	},
	large_calls_and_results_pass_each_other => sub {
		my $text = 'x' x 400_000;
		my $pool = pool(connections => 2, load => 3);

		ok($_->[0] == 400_000 && $_->[1] eq $text)
		    for results($pool, map { [size => $text] } 1 .. 6);
	},
	a_call_that_is_too_long_ends_its_connection => sub {
		my $client = IO::Socket::UNIX->new(Peer => $path) or die;
		my $most = AppPoolJobs::LINE_MAX;

		ok(!eval { pool()->(size => 'x' x $most, sub { }); 1 });
		ok($@ eq "a call has at most $most bytes\n", $@);
		local $SIG{PIPE} = 'IGNORE';
		syswrite $client, ' ' x ($most + 1);
		ok(<$client> eq qq({"error":"a call has at most $most bytes"}\n));
		ok(!defined <$client>);
	},
	a_function_that_retires_is_the_last_of_its_process => sub {
		for (1 .. 5) {
			my $pool = pool(connections => 1);
			my $retired = result($pool, 'last');

			ok(result($pool, 'pid') != $retired);
		}
	},
	calls_behind_one_that_retires_are_answered => sub {
		my $pool = pool(connections => 2, load => 5);
		my @said = results($pool, map {
			['last'], map { [add => $_, 1] } 1 .. 19 } 1 .. 20);

		ok($_ % 20 == 0 || $said[$_] == $_ % 20 + 1) for 0 .. $#said;
	},
	a_connection_that_is_always_busy_is_left_after_a_while => sub {
		my $pool = pool(connections => 1, load => 3);
		my $processes =
		    uniq(results($pool, map { [nap => 0.05] } 1 .. 50));

		ok($processes == 2 || $processes == 3, $processes);
	},
	of_a_process_that_dies_the_call_at_hand_alone_fails => sub {
		my $pool = pool(connections => 1, load => 5);
		my (undef, $death, @more) = outcomes($pool, [nap => 0.1],
			['die_now'], map { [add => $_, 1] } 1 .. 20);

		ok($death->[1] =~ /connection was closed/, $death->[1]);
		ok($more[$_ - 1][0] == $_ + 1) for 1 .. 20;
	},
	without_an_app_each_call_fails => sub {
		my $pool = AppPoolJobs->new("$path.none");

		ok($_->[1] =~ /No such file/)
		    for outcomes($pool, map { [add => $_, 1] } 1 .. 10);
	},
	a_server_that_refuses_everybody_is_not_asked_for_ever => sub {
		my $listener = IO::Socket::UNIX->new(
			Local => "$path.own", Listen => 5) or die;
		my $pool = AppPoolJobs->new(
			"$path.own", connections => 1, load => 3);
		my $failed = 0;

		$pool->('x', sub ($result, $error) { $failed++ }) for 1 .. 3;
		for (1 .. 3) {
			close $listener->accept;
			$pool->step;
		}
		ok($failed == 3 && $pool->pending == 0);
	},
	as_many_calls_as_the_load_are_sent_before_an_answer => sub {
		my $listener = IO::Socket::UNIX->new(
			Local => "$path.load", Listen => 5) or die;
		my $pool = AppPoolJobs->new(
			"$path.load", connections => 1, load => 3);
		my @said;

		$pool->('x', sub (@result) { push @said, @result }) for 1 .. 5;
		my $connection = $listener->accept;
		for my $count (3, 2) {
			<$connection> for 1 .. $count;
			# Nothing more comes, however long one waits.
			$pool->step(0.1);
			ok(!IO::Select->new($connection)->can_read(0.1));
			syswrite $connection, qq({"result":1}\n) x $count;
			$pool->step;
		}
		ok("@said" eq '1 1 1 1 1', "@said");
	},
);

for my $name (@facts) {
	eval { $FACTS{$name}->(); 1 } or die "$name: $@";
}
