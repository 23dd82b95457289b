"""Code that commands share: the console, progress bars, interrupts."""
