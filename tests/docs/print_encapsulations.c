/* print_encapsulations - the chapter of docs/packets.md about what is opened and what is not,
 * printed from collectors/packet/frame/decap.c. */
#include <stdio.h>

#include "collectors/packet/frame/decap.h"

int main(void)
{
	printf("| `by_encapsulation` | what is opened |\n|---|---|\n");
	for (int i = 0; i < LAYER_COUNT; i++)
		printf("| `%s` | %s |\n", decap_layer_name((enum decap_layer)i),
			decap_layer_text((enum decap_layer)i));
	printf("\n| `errors.encapsulated` | what is recognised and not opened |\n|---|---|\n");
	for (int i = REFUSED_NOTHING + 1; i < REFUSED_COUNT; i++)
		printf("| `%s` | %s |\n", decap_refusal_name((enum decap_refusal)i),
			decap_refusal_text((enum decap_refusal)i));
	printf("\n");
	return 0;
}
