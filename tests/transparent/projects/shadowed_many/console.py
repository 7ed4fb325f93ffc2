WHO = "console"
