TOKEN = "mine"
