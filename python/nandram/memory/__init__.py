"""Flash-backed memory in a file: allocation, sync, rollback, readers.

memory.py   the writer                  reader.py     readers and backups
calls.py    arguments of both           mapping.py    arrays at addresses of the process
"""
