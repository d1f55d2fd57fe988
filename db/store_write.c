/* store_write */
