/* config_print */
