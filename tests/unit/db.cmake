rw_unit(nouns rw_nouns)
rw_unit(series rw_db)
rw_unit(window rw_db)
