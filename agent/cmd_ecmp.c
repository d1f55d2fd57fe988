/* cmd_ecmp */
