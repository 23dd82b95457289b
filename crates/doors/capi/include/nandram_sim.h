/* Simulated drives and main memory under one virtual clock, driven by a program outside: another simulator, a serving
 * simulator, a control loop. docs/stepping.md describes them. The program submits requests at times of its choice and
 * is notified of completions.
 *
 * Every call returns NANDRAM_OK or an error code of nandram.h; nandram_message() returns a one-line message. A failed
 * call has no effect. Times are picoseconds from 0 on and never go back. Threads may share a simulation; calls are
 * serialized. Pointers to optional results may be NULL. */
#ifndef NANDRAM_SIM_H
#define NANDRAM_SIM_H

#include "nandram.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One or several devices under one clock. */
typedef struct nandram_sim nandram_sim;

/* A device. Unset members must be 0 or NULL. */
typedef struct {
    const char *system;  /* a preset's name or a system file's path */
    const char *set;     /* changes, each `key=value`, separated by newlines; `scale=1/16` for a smaller copy */
    const char *prepare; /* state of a drive: "none" (default), "fill", "random", "steady" or "rested" */
    const char *cache;   /* folder for prepared drives; NULL for none */
    const char *name;    /* name in messages and results; default: the system */
    uint32_t outstanding; /* most outstanding requests of a drive, or 64-byte lines of main memory; default: 65536 */
    uint32_t reserved;
} nandram_sim_device;

enum nandram_sim_op {
    NANDRAM_SIM_READ = 0,
    NANDRAM_SIM_WRITE = 1,
    NANDRAM_SIM_FLUSH = 2,    /* drives: makes completed writes durable; flash behind DRAM: a sync */
    NANDRAM_SIM_TRIM = 3,     /* drives: declares the bytes unused */
    NANDRAM_SIM_ROLLBACK = 4, /* flash behind DRAM: restores the state of the last sync */
    NANDRAM_SIM_FUA = 0x80    /* added to NANDRAM_SIM_WRITE: a drive acknowledges the write only once it is durable */
};

/* A request. Addresses and sizes are multiples of 512 for drives and of 64 for main memory, 0 for a flush or a
 * rollback. */
typedef struct {
    uint64_t at;      /* time of submission, now or later */
    uint64_t address; /* first byte */
    uint64_t bytes;
    uint64_t handle;  /* repeated in the completion */
    uint16_t device;  /* index of the device */
    uint16_t thread;  /* submitting thread of a drive's host, which selects processor core and queue pair */
    uint8_t op;       /* enum nandram_sim_op */
    uint8_t reserved[3];
} nandram_sim_request;

enum nandram_sim_status {
    NANDRAM_SIM_OK = 0,
    NANDRAM_SIM_UNCORRECTABLE = 1, /* data could not be read */
    NANDRAM_SIM_FAILED = 2,        /* the device has failed */
    NANDRAM_SIM_NO_SPACE = 3,      /* the drive is read-only */
    NANDRAM_SIM_REFUSED = 4        /* the state of a zone does not permit it */
};

/* A completed request. */
typedef struct {
    uint64_t id;        /* counts submissions from 0 */
    uint64_t handle;
    uint64_t submitted; /* the request's `at` */
    uint64_t completed;
    uint16_t device;
    uint8_t status; /* enum nandram_sim_status */
    uint8_t reserved[5];
} nandram_sim_completion;

/* Creates `count` devices at time 0 and prepares the drives. Device i draws from the random streams of seed + i. Close
 * the simulation with nandram_sim_close. */
int nandram_sim_open(const nandram_sim_device *devices, size_t count, uint64_t seed, nandram_sim **simulation);

/* Frees a simulation; NULL is ignored. */
int nandram_sim_close(nandram_sim *simulation);

/* Submits `count` requests, each at its time, or none if any is refused. `first` receives the id of the first; the
 * others follow. */
int nandram_sim_submit(nandram_sim *simulation, const nandram_sim_request *requests, size_t count, uint64_t *first);

/* Advances to `until`, or until `capacity` requests have completed, and stores the completions, in order of time and, at
 * equal times, of device. If `count` equals `capacity`, there may be more: call again. */
int nandram_sim_advance(nandram_sim *simulation, uint64_t until, nandram_sim_completion *completions, size_t capacity,
                        size_t *count);

/* Like nandram_sim_advance, but stops at the first completion. UINT64_MAX as `until` advances to it, however late, and
 * does nothing if no request is outstanding. */
int nandram_sim_advance_to_completion(nandram_sim *simulation, uint64_t until, nandram_sim_completion *completions,
                                      size_t capacity, size_t *count);

/* `at` receives a lower bound of the next completion's time; UINT64_MAX if nothing will happen. */
int nandram_sim_next_event(nandram_sim *simulation, uint64_t *at);

/* `now` receives the present time. */
int nandram_sim_now(nandram_sim *simulation, uint64_t *now);

/* `room` receives the number of requests of a drive, or 64-byte lines of main memory, that the device accepts now. */
int nandram_sim_room(nandram_sim *simulation, uint16_t device, uint32_t *room);

/* `bytes` receives the size of a device. */
int nandram_sim_bytes(nandram_sim *simulation, uint16_t device, uint64_t *bytes);

/* `joules` receives the energy of a device since time 0: of the flash of a drive, or of main memory. */
int nandram_sim_energy(nandram_sim *simulation, uint16_t device, double *joules);

/* Stores the summary of a device so far as JSON, with the sections of `summary.json`, and a zero byte at the end. Its
 * `nandram.notes` say in which state a drive began and what its figures are valid for.
 * `length` receives the number of bytes without the zero; if `capacity` is not larger, nothing is stored. */
int nandram_sim_summary(nandram_sim *simulation, uint16_t device, char *text, size_t capacity, size_t *length);

/* Writes the state to a file, at any time. */
int nandram_sim_save(nandram_sim *simulation, const char *path);

/* Continues from a saved state. The history of submissions is simulated again. `cache` is a folder for prepared drives,
 * or NULL. */
int nandram_sim_restore(const char *path, const char *cache, nandram_sim **simulation);

#ifdef __cplusplus
}
#endif

#endif
