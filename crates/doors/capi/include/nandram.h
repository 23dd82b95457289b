/* libnandram: a persistent memory larger than DRAM, stored in a file or on a block device, with sync and rollback.
 * docs/memory.md describes its guarantees.
 *
 * Every call returns NANDRAM_OK or an error code; nandram_message() returns a one-line message. Unless stated
 * otherwise, a failed call has no effect. Threads may share a memory or a reader; calls are serialized. A child
 * created by fork() must open its own. Addresses count bytes, starting at NANDRAM_PAGE; address 0 is never allocated.
 * Pointers to optional results may be NULL. */
#ifndef NANDRAM_H
#define NANDRAM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes per page, the unit of allocation and of permissions. */
#define NANDRAM_PAGE 65536

enum nandram_code {
    NANDRAM_OK = 0,
    NANDRAM_ARGUMENT = 1,         /* an argument is NULL, invalid, or not UTF-8 */
    NANDRAM_IO = 2,               /* a system call failed */
    NANDRAM_LOCKED = 3,           /* the memory is open for writing elsewhere */
    NANDRAM_NOT_MEMORY = 4,       /* the file is not a memory */
    NANDRAM_FORMAT = 5,           /* the file was written by another version */
    NANDRAM_DAMAGED = 6,          /* the memory is too damaged to be opened */
    NANDRAM_TRUNCATED = 7,        /* the file is too short */
    NANDRAM_TOO_SMALL = 8,        /* the device is too small */
    NANDRAM_OPTION = 9,           /* an option is invalid or does not match the memory */
    NANDRAM_OUT_OF_RANGE = 10,    /* the address range exceeds the memory */
    NANDRAM_NOT_ALLOCATED = 11,   /* the page is not allocated */
    NANDRAM_NOT_PERMITTED = 12,   /* the page's permissions do not allow the access */
    NANDRAM_NO_PAGES = 13,        /* no run of free pages is long enough */
    NANDRAM_FULL = 14,            /* the data and the versions that tokens keep fill the file */
    NANDRAM_DISK_FULL = 15,       /* the file system has no space; repeat the call once it has */
    NANDRAM_UNREADABLE = 16,      /* data is damaged; all other data can be read */
    NANDRAM_TABLE_UNREADABLE = 17, /* part of the page table is damaged */
    NANDRAM_UNKNOWN_TOKEN = 18,   /* the token is not live */
    NANDRAM_TOO_MANY_TOKENS = 19, /* the maximum number of tokens is live */
    NANDRAM_NAME = 20,            /* the name is invalid, taken or unknown */
    NANDRAM_BROKEN = 21,          /* a write failed: close and reopen the memory */
    NANDRAM_STALE = 22,           /* the reader's state was overwritten: refresh it */
    NANDRAM_FORKED = 23,          /* another process opened the memory */
    NANDRAM_CLOSED = 24,          /* the memory was closed */
    NANDRAM_NOT_MAPPABLE = 25,    /* the memory cannot be mapped */
    NANDRAM_SYSTEM = 26,          /* the system or a device cannot be built (nandram_sim.h) */
    NANDRAM_TIME = 27,            /* the time has passed, or is beyond the clock (nandram_sim.h) */
    NANDRAM_BUSY = 28             /* too many requests are outstanding: advance first (nandram_sim.h) */
};

/* Returns the message of the last failed call in this thread. The pointer is valid until the next failure. */
const char *nandram_message(void);

/* A memory that is open for writing. Only one process can have it open for writing at a time. */
typedef struct nandram_memory nandram_memory;

/* Options for creating or opening a memory; 0 selects the default. */
typedef struct {
    uint64_t capacity; /* bytes that can be allocated; on opening: 0, or the capacity at creation */
    uint64_t dram;     /* size of the cache in bytes; default: 256 MiB */
    uint64_t space;    /* on creation: bytes in the file for data and older versions; default: twice the capacity */
    uint32_t tokens;   /* on creation: maximum number of live tokens; default: 256 */
} nandram_options;

/* Statistics since the memory was opened, and its current state. */
typedef struct {
    uint64_t hits, misses;   /* requested segments of 4 KiB that were in DRAM, and that were not */
    uint64_t read_bytes;     /* read from the file */
    uint64_t written_bytes;  /* written to the file, including checksums, table and copies */
    uint64_t data_bytes;     /* the part that the program wrote; written_bytes / data_bytes is the write amplification */
    uint64_t flushes;
    uint64_t dirty_segments; /* newer in DRAM than in the file */
    uint64_t dram_bytes;     /* size of the cache */
    uint64_t needed_bytes;   /* in the file, needed by the current state or a token */
    uint64_t space_bytes;    /* in the file, available for these */
    uint64_t faults;         /* loads and stores that hit an unmapped page and waited */
    uint64_t store_faults;   /* first stores to a page that was mapped for a load or synced since */
    uint64_t read_ahead;     /* segments mapped before any access */
    uint64_t evicted;        /* segments evicted from the mapping */
    uint64_t mapped_bytes;
} nandram_stats;

/* Creates a memory in a new file, or on a block device that begins with zeros. */
int nandram_create(const char *path, const nandram_options *options, nandram_memory **memory);
/* Opens a memory in the state of the last sync. */
int nandram_open(const char *path, const nandram_options *options, nandram_memory **memory);
/* Discards unsynced data and frees the memory, even if the call fails. NULL is ignored. */
int nandram_close(nandram_memory *memory);
uint64_t nandram_capacity(const nandram_memory *memory);

/* Gives the memory in `path`, which must not be open for writing, a capacity and a space of at least these bytes; 0 keeps
 * the capacity, and makes the space at least twice the capacity. Copies all data to a new file that then takes the place
 * of the old one: tokens, names and addresses stay, and temporary pages are deleted. If it fails or is killed, the
 * memory is unchanged. */
int nandram_grow(const char *path, uint64_t capacity, uint64_t space);

/* Allocates contiguous whole pages of zeros. Temporary pages are deleted when the memory is opened again. */
int nandram_alloc(nandram_memory *memory, uint64_t bytes, int temporary, uint64_t *address);
int nandram_delete(nandram_memory *memory, uint64_t address, uint64_t bytes);
#define NANDRAM_MAY_READ 1u
#define NANDRAM_MAY_WRITE 2u
#define NANDRAM_PERMANENT 4u
int nandram_set_permissions(nandram_memory *memory, uint64_t address, uint64_t bytes, uint32_t permissions);
int nandram_read(nandram_memory *memory, uint64_t address, void *into, size_t bytes);
int nandram_write(nandram_memory *memory, uint64_t address, const void *from, size_t bytes);

/* Makes all writes durable and returns a token for the state. `name` is NULL or differs from the names of all live
 * tokens. */
int nandram_sync(nandram_memory *memory, const char *name, uint64_t *token);
/* Restores the token's state. Newer data and tokens are lost. */
int nandram_rollback(nandram_memory *memory, uint64_t token);
/* Discards the token's state. */
int nandram_drop(nandram_memory *memory, uint64_t token);
int nandram_token(nandram_memory *memory, const char *name, uint64_t *token);
/* Calls `each` with every live token, oldest first, and its name or NULL. `each` must not make calls on this memory. */
int nandram_tokens(nandram_memory *memory, void (*each)(void *user, uint64_t token, const char *name), void *user);

/* Names of areas, which remain valid when the memory is opened again. */
int nandram_name(nandram_memory *memory, const char *name, uint64_t address, uint64_t bytes);
int nandram_find(nandram_memory *memory, const char *name, uint64_t *address, uint64_t *bytes);

/* Reads all allocated pages. Calls `each` with code and message of each unreadable part, and returns the last of
 * these codes. */
int nandram_verify(nandram_memory *memory, void (*each)(void *user, int code, const char *message), void *user);
/* Collects garbage, and releases its space to the file system. */
int nandram_compact(nandram_memory *memory);
int nandram_get_stats(nandram_memory *memory, nandram_stats *stats);

/* Maps the memory for loads and stores: returns the mapped address of the `bytes` bytes at `address`, valid until
 * nandram_close. The first call maps the whole memory with userfaultfd(2); if the kernel does not allow that, it
 * fails with NANDRAM_NOT_MAPPABLE and the memory is unchanged. Data outside DRAM is fetched on access. Touching data
 * that cannot be read, is not allocated or not permitted aborts the process with a one-line message. All calls remain
 * available; after a rollback the mapping shows the restored data. */
int nandram_map(nandram_memory *memory, uint64_t address, uint64_t bytes, void **at);

/* Hints about the use of a range, like those of madvise(2). They have no effect until the memory is mapped. */
enum nandram_advice {
    NANDRAM_NORMAL = 0,
    NANDRAM_RANDOM = 1,
    NANDRAM_SEQUENTIAL = 2,
    NANDRAM_WILL_NEED = 3, /* start reading the range */
    NANDRAM_DONT_NEED = 4  /* evict the range from DRAM; no data is lost */
};
int nandram_advise(nandram_memory *memory, uint64_t address, uint64_t bytes, int advice);

/* A concurrent reader: it sees the state of the last sync before it was opened or refreshed, regardless of the
 * writer. `dram` is the size of its cache in bytes, or 0 for the default. */
typedef struct nandram_reader nandram_reader;
int nandram_reader_open(const char *path, uint64_t dram, nandram_reader **reader);
int nandram_reader_close(nandram_reader *reader);
int nandram_reader_read(nandram_reader *reader, uint64_t address, void *into, size_t bytes);
int nandram_reader_find(nandram_reader *reader, const char *name, uint64_t *address, uint64_t *bytes);
int nandram_reader_tokens(nandram_reader *reader, void (*each)(void *user, uint64_t token, const char *name), void *user);
/* Switches the reader to the token's state. The memory itself does not change. */
int nandram_reader_go_to(nandram_reader *reader, uint64_t token);
int nandram_reader_refresh(nandram_reader *reader);
int nandram_reader_verify(nandram_reader *reader, void (*each)(void *user, int code, const char *message), void *user);
/* Writes the bytes of an area to a new file or, if `name` is NULL, those of all pages, each at its address. */
int nandram_reader_export(nandram_reader *reader, const char *name, const char *to);
/* Creates the file `to` as a memory in the state of the last sync of `from`, with its tokens, while the writer
 * continues. Calls `each` for each unreadable part, and returns the last of these codes; the copy exists even then. */
int nandram_backup(const char *from, const char *to, void (*each)(void *user, int code, const char *message), void *user);

#ifdef __cplusplus
}
#endif

#endif
