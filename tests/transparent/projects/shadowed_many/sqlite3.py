WHO = "sqlite3"
