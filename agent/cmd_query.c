/* cmd_query */
