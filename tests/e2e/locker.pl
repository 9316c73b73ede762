# A client of a PoolCounter service by the Perl sample; see locker.rb.

use v5.36;

use lib 'contrib/workers';
use AppPool;

STDOUT->autoflush(1);
my $counter;
while (my $line = <STDIN>) {
	my ($verb, @words) = split ' ', $line;
	my $answer = eval {
		if ($verb eq 'open') {
			$counter = AppPool::Counter->new($words[0]);
			'open';
		} elsif ($verb eq 'lock') {
			my ($key, $workers, $maxqueue, $timeout, $how) = @words;

			$counter->lock($key, $workers, $maxqueue,
				timeout => $timeout,
				anyone => ($how // '') eq 'any');
		} elsif ($verb eq 'slot') {
			AppPool::slot_key(@words);
		} else {
			$counter->unlock(@words) ? 'true' : 'false';
		}
	};
	print $answer // $@ =~ s/\n//r, "\n";
}
