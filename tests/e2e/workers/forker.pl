# A worker to be forked: says what it is, and a random number.

use v5.36;

use lib 'contrib/workers';
use AppPool;
use JSON::PP;
use POSIX ();

my $forks = 0;
# A seed of the template must not be that of the workers.
rand;
my $worker = AppPool->new;
print "loaded\n";
STDOUT->flush;
POSIX::close($_) for split ' ', delete $ENV{CLOSE} // '';
close STDERR if delete $ENV{CLOSE_STDERR};
my $child;
$worker->template(sub {
	$forks++;
	return unless $ENV{CHILD};
	$child = fork // die;
	exec 'sleep', '60' if $child == 0;
});
say 'begun';
STDOUT->flush;
$worker->ready;
$worker->connections(sub ($connection) {
	opendir my $folder, '/proc/self/fd' or die;
	my $descriptors = grep { !/^\./ } readdir $folder;

	print $connection encode_json({
		pid => $$, app => $worker->app, id => $worker->id,
		slot => $worker->slot,
		random => rand, forks => $forks, child => $child,
		descriptors => $descriptors,
		environment => [grep { /APPPOOL_/ } keys %ENV],
	});
});
