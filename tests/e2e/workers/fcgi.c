/* The program of the manual of libfcgi: a page that counts. */

#include <fcgi_stdio.h>
#include <unistd.h>

int
main(void)
{
	int count = 0;

	while (FCGI_Accept() >= 0)
		printf("Content-Type: text/plain\r\n\r\n%d %d\n", (int)getpid(),
		    ++count);
	return 0;
}
