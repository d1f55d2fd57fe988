/* cmd_report */
