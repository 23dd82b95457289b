#!/bin/sh
# The first process of a guest: runs /nandram/command and hands its output, its status and /out to the host through
# the ports of a virtio console, whose other ends are files.

port() {
    for each in /sys/class/virtio-ports/*; do
        [ -e "$each/name" ] && read -r name < "$each/name" && [ "$name" = "nandram.$1" ] && echo "/dev/${each##*/}"
    done
}

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
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/ TERM=dumb

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

waited=0
until [ -b /dev/nvme0n1 ]; do
    if [ "$waited" -ge 1200 ]; then
        echo "drive" >&3
        dmesg > "$(port kernel)"
        poweroff -f
    fi
    usleep 50000
    waited=$((waited + 1))
done

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
