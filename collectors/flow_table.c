/* flow_table */
