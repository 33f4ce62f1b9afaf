# Made from _async by unasync.py.
