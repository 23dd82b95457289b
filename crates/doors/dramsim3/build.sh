#!/bin/sh
# Links the C++ interface of DRAMsim3 with the Rust library: build.sh LIBRARY_FOLDER OUTPUT_FOLDER. Only its own symbols are
# visible. Needs a C++ compiler.
set -e
here=$(dirname "$0")
"${CXX:-c++}" -std=c++17 -O2 -fPIC -shared -Wall -Wextra -Werror -o "$2/libdramsim3.so" "$here/cpp/dramsim3.cc" \
    "$1/libnandram_dramsim3.a" -Wl,--exclude-libs,ALL -lpthread -ldl -lm
