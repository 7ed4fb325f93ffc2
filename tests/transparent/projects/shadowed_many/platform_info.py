WHO = "platform"
