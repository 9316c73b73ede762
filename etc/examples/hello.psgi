# A page by PSGI: see psgi.conf. It knows nothing of apppoold(8).

use strict;
use warnings;

sub {
	my ($env) = @_;
	my $page = "process $$: $env->{PATH_INFO}\n";

	return [200, ['Content-Type' => 'text/plain'], [$page]];
};
