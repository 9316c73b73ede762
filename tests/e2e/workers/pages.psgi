# Pages for psgi.py. Lint dies if server or application do not keep to PSGI.

use v5.36;

use IO::File;
use JSON::PP;
use Plack::Builder;

my %pages = (
	'/crash' => sub ($env) { die "crashed\n" },
	'/none' => sub ($env) { [204, [], []] },
	'/same' => sub ($env) { [304, ['ETag' => '"x"'], []] },
	'/long' => sub ($env) { [200, ['Content-Length' => 2], ['abc']] },
	'/short' => sub ($env) { [200, ['Content-Length' => 9], ['abc']] },
	'/wide' => sub ($env) { [200, [], ["\x{263a}"]] },
	'/latin' => sub ($env) { [200, [], [substr "\xe9\x{263a}", 0, 1]] },
	'/split' => sub ($env) { [200, ['X-A' => "b\r\nX-C: d"], []] },
	'/file' => sub ($env) {
		[200, ['Content-Type' => 'text/plain'],
			IO::File->new('contrib/workers/hello.c')]
	},
	'/retire' => sub ($env) {
		$env->{'psgix.harakiri.commit'} = 1;
		[200, [], ['last']];
	},
	'/delayed' => sub ($env) {
		sub ($respond) { $respond->([200, [], ['delayed']]) }
	},
	'/pieces' => sub ($env) {
		sub ($respond) {
			my $writer = $respond->([200, ['X-A' => 'b']]);

			$writer->write($_) for 'one', '', ',two';
			$writer->close;
		}
	},
	'/cut' => sub ($env) {
		sub ($respond) {
			$respond->([200, []])->write('one');
			die "cut\n";
		}
	},
	'/twice' => sub ($env) {
		sub ($respond) {
			my $writer = $respond->([200, []]);

			$writer->write('once');
			$writer->close;
			$writer->close;
			eval { $writer->write('more') };
			print STDERR $@;
		}
	},
	'/silent' => sub ($env) { sub ($respond) { } },
	'/nothing' => sub ($env) { undef },
);

# What of the environment is text, and the body.
sub said ($env) {
	my %said = map { $_ => "$env->{$_}" } grep { !/^psgi/ } keys %$env;

	local $/;
	$said{body} = readline $env->{'psgi.input'};
	return [200, ['Content-Type' => 'text/plain'], [encode_json(\%said)]];
}

my $linted = builder {
	enable 'Lint';
	\&said;
};

sub ($env) { ($pages{$env->{PATH_INFO}} // $linted)->($env) };
