"""What is done to hosts: the orders that sensors get when they check in."""
