WHO = "helper"
