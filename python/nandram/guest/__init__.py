"""A stock Linux in QEMU on a simulated drive: its programs and kernels, its initial file system, its run."""
