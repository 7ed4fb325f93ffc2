"""What the good part of the data says about the rest of it: relations that hold in most rows and break in some.

columns.py   a table as columns of numbers                     units.py     a part in another unit: converted, it fits
order.py     what stands still, what comes again               laws.py      one column above another, sums, differences of days
partners.py  keys of tables and lists, looked up in each other follows.py   whether labels follow their rows in each part
wording.py   texts and the numbers that stand for their words  streams.py   files of nothing but tokens
ruled.py     labels and the rows that they belong to           joins.py     rows that follow the data of another key
"""
