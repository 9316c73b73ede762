#ifndef WEB_PAGE_H
#define WEB_PAGE_H

/* page.html, made into an array by make. */

#include <stddef.h>

extern const unsigned char page_html[];
extern const size_t page_html_len;

#endif
