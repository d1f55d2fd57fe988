/* roce_parse */
