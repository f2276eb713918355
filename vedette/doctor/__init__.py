"""What is wrong with this server, and what should be done about it?"""
