/* cmd_watch */
