/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "turns.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { BATCH = 256, MILLISECOND = 1000000, SECOND = 1000000000 };

struct turns_worker {
    struct turns_worker *next; /* in order of their indexes */
    pthread_cond_t turn;
    bool running;
    bool started; /* has had a turn */
    bool polled;  /* the last call was a wait for 0 requests that found none */
    uint16_t index;
    unsigned int depth, outstanding;
    size_t needed;  /* completions that end the wait */
    uint64_t until; /* time that ends it at the latest */
    size_t first, count;
    struct turns_done done[]; /* a ring of `depth` */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static nandram_sim *simulation;
static turns_clock publish;
static turns_absent absent;
static bool incomplete; /* a thread was absent when a turn was to be given */
static struct turns_worker *workers;

static uint64_t now(void) {
    uint64_t at = 0;
    nandram_sim_now(simulation, &at);
    return at;
}

int turns_open(const nandram_sim_device *device, uint64_t seed, turns_clock clock, turns_absent is_absent) {
    int code = nandram_sim_open(device, 1, seed, &simulation);
    publish = clock;
    absent = is_absent;
    if (code == NANDRAM_OK)
        publish(0);
    return code;
}

uint64_t turns_bytes(void) {
    uint64_t bytes = 0;
    nandram_sim_bytes(simulation, 0, &bytes);
    return bytes;
}

static void deliver(const nandram_sim_completion *completion) {
    uint16_t index = (uint16_t)(completion->handle >> 48);
    for (struct turns_worker *each = workers; each; each = each->next) {
        if (each->index != index)
            continue;
        /* User addresses have 47 bits; the rest of the handle names the worker. */
        each->done[(each->first + each->count++) % each->depth] = (struct turns_done){
            (void *)(uintptr_t)(completion->handle & ((UINT64_C(1) << 48) - 1)), (enum nandram_sim_status)completion->status};
        each->outstanding--;
    }
}

/* Advances to the next completion, or to `until` if that is earlier. */
static void advance(uint64_t until) {
    nandram_sim_completion found[BATCH];
    size_t count = 0;
    if (nandram_sim_advance_to_completion(simulation, until, found, BATCH, &count) != NANDRAM_OK) {
        fprintf(stderr, "nandram: %s\n", nandram_message());
        abort();
    }
    for (;;) {
        for (size_t i = 0; i < count; i++)
            deliver(&found[i]);
        if (count < BATCH)
            break;
        nandram_sim_advance(simulation, now(), found, BATCH, &count);
    }
    publish(now());
}

/* Gives the turn to the next worker, unless one runs or has yet to join. */
static void dispatch(void) {
    for (struct turns_worker *each = workers; each; each = each->next)
        if (each->running)
            return;
    incomplete = absent();
    while (workers && !incomplete) {
        uint64_t until = UINT64_MAX;
        for (struct turns_worker *each = workers; each; each = each->next) {
            if (each->count >= each->needed || each->until <= now()) {
                each->running = true;
                pthread_cond_signal(&each->turn);
                return;
            }
            if (each->until < until)
                until = each->until;
        }
        advance(until);
    }
}

/* Waits for completions or a time, whichever comes first; the lock is held. */
static void wait_for(struct turns_worker *worker, size_t needed, uint64_t until) {
    worker->needed = needed;
    worker->until = until;
    worker->running = false;
    worker->started = true;
    dispatch();
    while (!worker->running) {
        if (!incomplete) {
            pthread_cond_wait(&worker->turn, &lock);
            continue;
        }
        /* A thread that ends before it joins notifies no one. */
        struct timespec soon;
        clock_gettime(CLOCK_REALTIME, &soon);
        soon.tv_nsec += MILLISECOND;
        soon.tv_sec += soon.tv_nsec / SECOND;
        soon.tv_nsec %= SECOND;
        pthread_cond_timedwait(&worker->turn, &lock, &soon);
        dispatch();
    }
}

struct turns_worker *turns_join(uint16_t index, unsigned int depth) {
    struct turns_worker *worker = calloc(1, sizeof(*worker) + depth * sizeof(worker->done[0]));
    if (!worker)
        return NULL;
    pthread_cond_init(&worker->turn, NULL);
    worker->index = index;
    worker->depth = depth;
    worker->running = true;
    pthread_mutex_lock(&lock);
    struct turns_worker **place = &workers;
    while (*place && (*place)->index < index)
        place = &(*place)->next;
    worker->next = *place;
    *place = worker;
    pthread_mutex_unlock(&lock);
    return worker;
}

void turns_leave(struct turns_worker *worker) {
    pthread_mutex_lock(&lock);
    struct turns_worker **place = &workers;
    while (*place != worker)
        place = &(*place)->next;
    *place = worker->next;
    dispatch();
    for (struct turns_worker *each = workers; incomplete && each; each = each->next)
        pthread_cond_signal(&each->turn);
    pthread_mutex_unlock(&lock);
    pthread_cond_destroy(&worker->turn);
    free(worker);
}

int turns_submit(struct turns_worker *worker, uint8_t op, uint64_t address, uint64_t bytes, void *handle) {
    pthread_mutex_lock(&lock);
    if (!worker->started)
        wait_for(worker, 0, UINT64_MAX);
    nandram_sim_request request = {
        .at = now(),
        .address = address,
        .bytes = bytes,
        .handle = (uint64_t)(uintptr_t)handle | (uint64_t)worker->index << 48,
        .thread = worker->index,
        .op = op,
    };
    int code = nandram_sim_submit(simulation, &request, 1, NULL);
    worker->outstanding += code == NANDRAM_OK;
    worker->polled = false;
    pthread_mutex_unlock(&lock);
    return code;
}

size_t turns_wait(struct turns_worker *worker, size_t least, struct turns_done *done, size_t most) {
    pthread_mutex_lock(&lock);
    bool poll = least == 0 && worker->count == 0;
    if (poll && worker->polled)
        least = 1;
    worker->polled = poll;
    if (least > worker->outstanding + worker->count)
        least = worker->outstanding + worker->count;
    if (worker->count < least)
        wait_for(worker, least, UINT64_MAX);
    size_t count = worker->count < most ? worker->count : most;
    for (size_t i = 0; i < count; i++)
        done[i] = worker->done[(worker->first + i) % worker->depth];
    worker->first = (worker->first + count) % worker->depth;
    worker->count -= count;
    pthread_mutex_unlock(&lock);
    return count;
}

void turns_sleep(struct turns_worker *worker, uint64_t duration) {
    pthread_mutex_lock(&lock);
    wait_for(worker, SIZE_MAX, now() + duration);
    pthread_mutex_unlock(&lock);
}

int turns_summary(const char *path) {
    size_t length = 0;
    nandram_sim_summary(simulation, 0, NULL, 0, &length);
    char *text = malloc(length + 1);
    if (!text || nandram_sim_summary(simulation, 0, text, length + 1, &length) != NANDRAM_OK) {
        free(text);
        return -ENOMEM;
    }
    FILE *file = fopen(path, "w");
    int error = file ? 0 : errno;
    if (file && fwrite(text, 1, length, file) != length)
        error = errno;
    if (file && fclose(file) != 0)
        error = errno;
    free(text);
    return -error;
}
