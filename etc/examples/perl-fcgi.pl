# A page by FCGI.pm: see perl-fcgi.conf. It knows nothing of apppoold(8).

use strict;
use warnings;
use FCGI;

my %env;
my $request = FCGI::Request(\*STDIN, \*STDOUT, \*STDERR, \%env);
my $count = 0;

while ($request->Accept() >= 0) {
	$count++;
	print "Content-Type: text/plain\r\n\r\n",
	    "process $$, request $count: ", $env{REQUEST_URI} // '-', "\n";
}
