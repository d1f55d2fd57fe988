/* print_sandbox - the table of system calls in docs/security.md, from the table of the sandbox. */
#include "agent/jail/sandbox.h"

int main(void)
{
	sandbox_calls_print(stdout);
	return 0;
}
