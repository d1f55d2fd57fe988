/* cmd_status */
