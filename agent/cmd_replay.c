/* cmd_replay */
