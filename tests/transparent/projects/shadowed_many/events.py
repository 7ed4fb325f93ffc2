WHO = "events"
