#!/bin/sh
# The first process of a guest: runs /nandram/command and hands its output, its status and /out to the host through
# the ports of a virtio console, whose other ends are files. With /nandram/root it does so on the drive's own root file
# system, to which the initial one hands over: the second time it is started with the argument `switched`.

port() {
    for each in /sys/class/virtio-ports/*; do
        [ -e "$each/name" ] && read -r name < "$each/name" && [ "$name" = "nandram.$1" ] && echo "/dev/${each##*/}"
    done
}

export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/ TERM=dumb

if [ "$1" != switched ]; then
    mkdir -p /proc /sys /dev /tmp /out /nandram
    mount -t proc proc /proc
    mount -t sysfs sys /sys
    mount -t devtmpfs dev /dev
    mkdir -p /dev/pts /dev/shm
    mount -t devpts pts /dev/pts
    mount -t tmpfs tmp /dev/shm
    ln -s /proc/self/fd /dev/fd
    ln -s fd/0 /dev/stdin
    ln -s fd/1 /dev/stdout
    ln -s fd/2 /dev/stderr

    while read -r module; do
        insmod "/nandram/modules/$module" 2> /nandram/error && continue
        failed="module $module: $(cat /nandram/error)"
        break
    done < /nandram/module-list

    # The driver announces the ports one after the other; this is the last one.
    waited=0
    until [ -n "$(port files)" ] || [ "$waited" -ge 50 ]; do
        usleep 20000
        waited=$((waited + 1))
    done
    status=$(port status)
    if [ -z "$status" ]; then
        echo "nandram: this kernel has no virtio console (CONFIG_VIRTIO_PCI, CONFIG_VIRTIO_CONSOLE)" > /dev/console
        poweroff -f
    fi
    exec 3> "$status"

    if [ -n "$failed" ]; then
        echo "$failed" >&3
        poweroff -f
    fi

    read -r drive < /nandram/drive
    waited=0
    until [ -b "$drive" ]; do
        if [ "$waited" -ge 1200 ]; then
            echo "drive $drive" >&3
            dmesg > "$(port kernel)"
            poweroff -f
        fi
        usleep 50000
        waited=$((waited + 1))
    done

    if [ -e /nandram/root ]; then
        mkdir -p /drive
        if ! mount "$drive" /drive 2> /nandram/error; then
            echo "root $(cat /nandram/error)" >&3
            poweroff -f
        fi
        for each in proc sys dev nandram out tmp; do
            mkdir -p "/drive/$each"
        done
        for each in proc sys dev; do
            mount --move "/$each" "/drive/$each"
        done
        # What belongs to this run stays off the drive.
        for each in nandram out tmp; do
            mount -t tmpfs "$each" "/drive/$each"
        done
        cp -a /nandram/. /drive/nandram
        cp /init /drive/nandram/init
        exec switch_root /drive /nandram/init switched
    fi
fi

# A port can be open once only, so that programs that open /dev/stdout need a pipe.
mkfifo /nandram/out /nandram/err
cat < /nandram/out 3>&- > "$(port stdout)" &
out=$!
cat < /nandram/err 3>&- > "$(port stderr)" &
err=$!

# The kernel's own start-up work takes some seconds more and would share the processor with the command. Idle time costs
# the host nothing.
sleep 5

echo "running" >&3
cd /
sh /nandram/command < /dev/null > /nandram/out 2> /nandram/err 3>&-
ended=$?
echo "exit $ended" >&3

# What the command left running must not change /out, nor hold the pipes.
for each in /proc/[0-9]*; do
    id=${each#/proc/}
    case $id in 1 | $out | $err) ;; *) readlink "$each/exe" > /nandram/exe 2> /nandram/error && kill -9 "$id" ;; esac
done
wait "$out" "$err"

dmesg > "$(port kernel)"
tar -c -f "$(port files)" -C /out . 2> /nandram/error || echo "tar $(head -n 1 /nandram/error)" >&3
sync
echo "done" >&3
poweroff -f
