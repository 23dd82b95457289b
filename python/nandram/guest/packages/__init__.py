"""QEMU, kernels and programs as Debian packages."""
