/* series_memory */
