WHO = "findings"
