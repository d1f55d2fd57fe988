/* series_sql */
