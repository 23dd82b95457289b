#!/usr/bin/env bash
# Compiles the four programs, static, for ARM and x86-64, each at five levels of optimisation, into the folder given:
# FOLDER/ARCHITECTURE/LEVEL/PROGRAM, and the images they work on. libjpeg-turbo is compiled from Debian's source at the
# same level, without its assembly, so that all code but the C library's changes with the level.
#
# Needs Debian 12, for the versions below: gcc gcc-arm-linux-gnueabi cmake dpkg-dev
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
out=${1:?the folder to build in}
version=1:2.1.5-2
sha256=254f3642b04e309fee775123133c6464181addc150499561020312ec61c1bf7c
architectures=${ARCHITECTURES:-"arm x86_64"}
levels=${LEVELS:-"O0 O1 O2 O3 Os"}
jobs=${JOBS:-$(nproc)}

mkdir -p "$out"
out=$(cd "$out" && pwd)
cd "$out"

# The source comes from where the machine's packages come from; lists of its own leave those of the machine alone.
if [ ! -d libjpeg-turbo-2.1.5 ]; then
    mkdir -p apt/sources apt/lists/partial
    for file in /etc/apt/sources.list.d/debian.sources; do
        sed 's/^Types: .*/Types: deb-src/' "$file" >apt/sources/source.sources
    done
    options=(-qq -o Dir::Etc::SourceList=/dev/null -o "Dir::Etc::SourceParts=$out/apt/sources"
        -o "Dir::State::Lists=$out/apt/lists" -o APT::Sandbox::User=root)
    apt-get "${options[@]}" update
    apt-get "${options[@]}" source --download-only "libjpeg-turbo=$version"
    echo "$sha256  libjpeg-turbo_2.1.5.orig.tar.gz" | sha256sum --check --quiet
    tar xf libjpeg-turbo_2.1.5.orig.tar.gz
fi

for architecture in $architectures; do
    case $architecture in
    arm) compiler=arm-linux-gnueabi-gcc ;;
    x86_64) compiler=x86_64-linux-gnu-gcc ;;
    *) echo "found the architecture $architecture, expected arm or x86_64" >&2 && exit 2 ;;
    esac
    for level in $levels; do
        folder=$out/$architecture/$level
        mkdir -p "$folder"
        # Not a release build: that would have -O3 where -O2 is asked for.
        cmake -S libjpeg-turbo-2.1.5 -B "$folder/libjpeg" -DCMAKE_SYSTEM_NAME=Linux \
            -DCMAKE_SYSTEM_PROCESSOR=$architecture -DCMAKE_C_COMPILER=$compiler -DCMAKE_BUILD_TYPE=None \
            -DCMAKE_C_FLAGS="-$level -DNDEBUG" -DWITH_SIMD=0 -DENABLE_SHARED=0 -DWITH_TURBOJPEG=0 >"$folder/cmake.log"
        make -C "$folder/libjpeg" -j"$jobs" jpeg-static >"$folder/make.log"
        # No build id, which would depend on the linker's flags.
        flags="-std=gnu11 -Wall -Wextra -$level -static -Wl,--build-id=none"
        for program in djpeg cjpeg; do
            $compiler $flags -I"$folder/libjpeg" -Ilibjpeg-turbo-2.1.5 -o "$folder/$program" "$here/$program.c" \
                "$folder/libjpeg/libjpeg.a"
        done
        for program in basicmath fft; do
            $compiler $flags -o "$folder/$program" "$here/$program.c" -lm
        done
    done
done

# What they work on, made by the machine's own compiler; a decoder's JPEG is the encoder's.
gcc -O2 -o image "$here/image.c"
./image 512 512 >large.ppm
./image 2048 2048 >huge.ppm
encoder=$(find . -path '*/cjpeg' -type f -perm -u+x | sort -r | head -1)
run=""
[[ $encoder == ./arm/* ]] && run=qemu-arm
for size in large huge; do
    $run "$encoder" $size.ppm $size.jpg
done
