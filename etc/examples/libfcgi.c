/*
 * A page by libfcgi: see libfcgi.conf.  It knows nothing of apppoold(8), and
 * runs under spawn-fcgi(1) as well.
 */

#include <stdlib.h>
#include <unistd.h>

#include <fcgi_stdio.h>

int
main(void)
{
	int count = 0;

	while (FCGI_Accept() >= 0) {
		const char *uri = getenv("REQUEST_URI");

		printf("Content-Type: text/plain\r\n\r\n"
		       "process %d, request %d: %s\n",
		    (int)getpid(), ++count, uri == NULL ? "-" : uri);
	}
	return 0;
}
