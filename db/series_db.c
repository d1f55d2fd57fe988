/* series_db */
