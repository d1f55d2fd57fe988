/* direct - opens the store as its only writer, for one act of a command. */
#include "agent/client/direct.h"

#include "agent/client/client.h"
#include "db/model/entity.h"
#include "db/store/store.h"

int direct_write(const struct client *client, direct_fn *fn, void *arg, struct err *e)
{
	struct entities *entities = entities_new();
	struct store *store = NULL;
	int rc = client_store_open(client, entities, &store, e);
	if (rc == 0) {
		rc = fn(client, store, arg, e);
		if (rc == 0)
			rc = store_flush(store, e);
		store_close(store);
	}
	entities_free(entities);
	return rc;
}
