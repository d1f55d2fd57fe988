/* paper - what a page is printed on: how wide it is, and which characters it shows. */
#ifndef RW_DOCUMENT_PAPER_H
#define RW_DOCUMENT_PAPER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* paper_width - columns of the terminal behind @out, from 80 to @most; @usual where there is none.
 */
size_t paper_width(FILE *out, size_t usual, size_t most);

/* paper_height - rows of the terminal behind @out; 0 where there is none, and no end. */
size_t paper_height(FILE *out);

/* paper_is_utf8 - do the locale's characters reach beyond ASCII? Any thread. */
bool paper_is_utf8(void);

#endif
