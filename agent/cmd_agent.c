/* cmd_agent */
