"""How is a ClickHouse cluster set up, grown, checked and filled?"""
