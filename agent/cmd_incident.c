/* cmd_incident */
