/* What a plugin tells the process that started QEMU: a stream of records, and how far it is.
 *
 * Full buffers go through a pipe. The buffer that is being filled, and the counts, are in memory shared with that
 * process: whatever ends the program, be it a signal or execve, all records until then are there. A child that the
 * program forks keeps its own counts and tells nothing. */
#ifndef NANDRAM_STREAM_H
#define NANDRAM_STREAM_H

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define STREAM_BYTES (1 << 16)
/* Of a record: two numbers in LEB128. */
#define RECORD_BYTES_MAX 20

/* Read by capture/emulator.py, too. */
enum stream_state {
    STARTED = 1, /* the program runs, or was ended by what QEMU does not tell */
    ENDED,       /* it ended by itself */
    LIMIT,       /* as many records as were wanted */
    THREADS,     /* it started a thread */
    NO_MEMORY,
    LOST, /* the pipe could not be written */
};

struct stream {
    uint64_t state, children, records, instructions;
    /* Bytes of the buffer in whole records. */
    uint64_t used;
    /* The buffer is on its way through the pipe. */
    uint64_t flushing;
    uint8_t buffer[STREAM_BYTES];
};

static struct stream *stream;
static int stream_pipe;
static bool stream_is_childs;

static __attribute__((noreturn)) void stream_stop(enum stream_state state) {
    stream->state = state;
    _exit(state == LIMIT ? 0 : 125);
}

static void stream_flush(void) {
    const uint8_t *at = stream->buffer;
    stream->flushing = 1;
    while (stream->used > 0 && !stream_is_childs) {
        ssize_t written = write(stream_pipe, at, stream->used);
        if (written < 0 && errno == EINTR)
            continue;
        /* Nobody listens, or the program closed what it never opened. */
        if (written < 0)
            stream_stop(LOST);
        at += written;
        stream->used -= (uint64_t)written;
    }
    stream->used = 0;
    stream->flushing = 0;
}

/* Where the next record is to be put. */
static inline uint8_t *stream_record(struct stream *to) {
    if (__builtin_expect(to->used > STREAM_BYTES - RECORD_BYTES_MAX, 0))
        stream_flush();
    return to->buffer + to->used;
}

/* The record that ends at `end` is there. */
static inline void stream_recorded(struct stream *to, const uint8_t *end, uint64_t records_max) {
    to->used = (uint64_t)(end - to->buffer);
    if (__builtin_expect(++to->records == records_max, 0) && !stream_is_childs)
        stream_stop(LIMIT);
}

/* Puts a number in LEB128 at `at`; returns what is behind it. */
static inline uint8_t *put_number(uint8_t *at, uint64_t value) {
    while (value >= 0x80) {
        *at++ = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    *at++ = (uint8_t)value;
    return at;
}

/* 0, -1, 1, -2, ... as 0, 1, 2, 3, ... */
static inline uint64_t zigzag(int64_t difference) {
    return (uint64_t)difference << 1 ^ (uint64_t)(difference >> 63);
}

static void stream_in_parent(void) {
    if (!stream_is_childs)
        stream->children++;
}

/* A copy of the stream takes the place of the one that is shared. */
static void stream_in_child(void) {
    if (stream_is_childs)
        return;
    struct stream *own = malloc(sizeof *own);
    if (!own)
        _exit(125);
    memcpy(own, stream, sizeof *own);
    munmap(stream, sizeof *stream);
    close(stream_pipe);
    stream = own;
    stream_is_childs = true;
}

/* `data` is the pipe, `shared` the memory. Children that are executed have neither. */
static bool stream_open(int data, int shared) {
    stream_pipe = data;
    if (fcntl(data, F_SETFD, FD_CLOEXEC) < 0)
        return false;
    stream = mmap(NULL, sizeof *stream, PROT_READ | PROT_WRITE, MAP_SHARED, shared, 0);
    if (stream == MAP_FAILED || close(shared) < 0)
        return false;
    if (pthread_atfork(NULL, stream_in_parent, stream_in_child) != 0)
        return false;
    stream->state = STARTED;
    return true;
}

/* The program starts a thread beside its first: whose turn it is when would be in the trace. */
static void stream_thread(unsigned vcpu) {
    if (vcpu > 0 && !stream_is_childs)
        stream_stop(THREADS);
}

/* The value of `name` among arguments of the form name=value; `otherwise` if it is not there. */
static uint64_t argument(int count, char **arguments, const char *name, uint64_t otherwise) {
    size_t length = strlen(name);
    for (int i = 0; i < count; i++)
        if (strncmp(arguments[i], name, length) == 0 && arguments[i][length] == '=')
            return strtoull(arguments[i] + length + 1, NULL, 0);
    return otherwise;
}

#endif
