/* store_lock */
