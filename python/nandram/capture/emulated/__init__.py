"""Programs under QEMU's user mode, with a plugin that records memory accesses or pages of code."""
