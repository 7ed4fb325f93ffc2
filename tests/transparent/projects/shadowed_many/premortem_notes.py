WHO = "notes"
