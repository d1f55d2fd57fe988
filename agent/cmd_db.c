/* cmd_db */
