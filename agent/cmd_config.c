/* cmd_config */
