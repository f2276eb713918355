"""Commands about users, what they may do, and what they did."""
