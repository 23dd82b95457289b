/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Threads that share a simulated drive and its clock. One thread runs at a time, and time stands still while it runs. When
 * it waits, the next thread is the one whose wait ends first; among several that end at one time, the one with the lowest
 * index. So a run depends on the host neither in its times nor in their order. */
#ifndef NANDRAM_TURNS_H
#define NANDRAM_TURNS_H

#include "nandram_sim.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One thread. */
struct turns_worker;

/* A request of a worker that has completed. */
struct turns_done {
    void *handle;
    enum nandram_sim_status status;
};

/* Receives the simulated time in picoseconds whenever it changes, with a lock held. */
typedef void (*turns_clock)(uint64_t now);

/* Returns whether a thread that has begun has yet to join; time stands still meanwhile. Called with a lock held. */
typedef bool (*turns_absent)(void);

/* Creates the drive. Returns NANDRAM_OK or the code of nandram_sim_open. To be called once, before any other function. */
int turns_open(const nandram_sim_device *device, uint64_t seed, turns_clock clock, turns_absent absent);

/* Returns the size of the drive in bytes. */
uint64_t turns_bytes(void);

/* Adds a worker of at most `depth` outstanding requests. Time stands still until its first wait. Returns NULL without
 * memory. */
struct turns_worker *turns_join(uint16_t index, unsigned int depth);

/* Removes a worker; its outstanding requests are forgotten. */
void turns_leave(struct turns_worker *worker);

/* Submits a request at the present time; the worker must have fewer than `depth` outstanding. Returns NANDRAM_OK, or the
 * code of nandram_sim_submit. */
int turns_submit(struct turns_worker *worker, uint8_t op, uint64_t address, uint64_t bytes, void *handle);

/* Waits until `least` requests of the worker have completed, and stores up to `most` completed ones in order of time.
 * Returns their number. A second call in succession with a `least` of 0 that would find none waits for one. */
size_t turns_wait(struct turns_worker *worker, size_t least, struct turns_done *done, size_t most);

/* Waits for a duration in picoseconds. */
void turns_sleep(struct turns_worker *worker, uint64_t duration);

/* Stores the drive's summary so far in a file. Returns 0, or a negative errno. */
int turns_summary(const char *path);

#endif
