package DemoJobs;

# Functions for apppool-jobs(7), see jobs-perl.conf; called if this is a program.

use v5.36;

use Digest::SHA qw(sha256 sha256_hex);

our @EXPORT_OK = qw(add digest);

sub add ($one, $other) { $one + $other }

# Something that takes a while.
sub digest ($text, $rounds) {
	$text = sha256($text) for 2 .. $rounds;
	return { digest => sha256_hex($text), process => $$ };
}

sub main () {
	# To be copied, from where apppool-jobs-perl is.
	unshift @INC, "../../contrib/workers/";
	require AppPoolJobs;

	my $pool = AppPoolJobs->new('/run/apppoold/jobs-perl.sock', load => 2);

	for my $text (1 .. 20) {
		$pool->(digest => $text, 200000, sub ($result, $error = undef) {
			say $error // "$result->{digest} $result->{process}";
		});
	}
	$pool->(add => 1, 2, sub ($sum, $error = undef) {
		say $error // "1 + 2 = $sum";
	});
	$pool->wait;
}

caller ? 1 : main();
