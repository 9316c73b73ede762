package JobFunctions;

# Functions for apppool-jobs-perl: those of job_functions.py.

use v5.36;

use AppPoolJobs;
use Exporter qw(import);
use Time::HiRes ();

our @EXPORT = qw(add die_now fail);
our @EXPORT_OK = qw(count &last nap odd pid reserved size started twice wait_for
    write_until);

my @starts;

sub start () { push @starts, $$ }
sub start_fails () { die "no database\n" }
sub started () { scalar grep { $_ == $$ } @starts }

sub add ($one, $other) { $one + $other }
sub size ($text) { [length $text, $text] }
sub pid () { $$ }
sub fail ($text) { die "$text\n" }
sub odd () { \*STDOUT }
sub hidden () { 'not exported' }

sub nap ($seconds) {
	Time::HiRes::sleep($seconds);
	return $$;
}

sub wait_for ($path) {
	Time::HiRes::sleep(0.01) until -e $path;
	return $$;
}

sub twice ($data) {
	AppPoolJobs::event(AppPoolJobs::bytes($data));
	return { length => length $data,
		twice => [AppPoolJobs::bytes($data . $data)] };
}

sub reserved () { { '$bytes' => '' } }

sub count ($name, $most) {
	AppPoolJobs::event($name, $_) for 1 .. $most;
	return $most;
}

# Sends events until nobody is there to take them.
sub write_until ($path) {
	while (eval { AppPoolJobs::event('x' x 10000); 1 }) { }
	open my $file, '>', $path;
}

sub die_now () { kill KILL => $$ }

sub last () {
	AppPoolJobs::retire();
	return $$;
}

1;
