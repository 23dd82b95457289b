/* Memory on a file or a block device, larger than DRAM, with sync and rollback: libnandram. docs/memory.md says what holds when.
 *
 * Every call returns NANDRAM_OK or the code of an error; nandram_message() says what is wrong, in one line. Of what fails nothing is
 * done, unless it says otherwise. Threads may share a memory and a reader: calls go one after the other. A child made by fork() opens
 * its own. Addresses are bytes from NANDRAM_PAGE on; 0 is nobody's. Results may be told to NULL, where nobody wants them. */
#ifndef NANDRAM_H
#define NANDRAM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes of a page, which is allocated and has permissions. */
#define NANDRAM_PAGE 65536

enum nandram_code {
    NANDRAM_OK = 0,
    NANDRAM_ARGUMENT = 1,         /* an argument is NULL, or no UTF-8 */
    NANDRAM_IO = 2,               /* the system refused */
    NANDRAM_LOCKED = 3,           /* the memory is open elsewhere */
    NANDRAM_NOT_MEMORY = 4,       /* the file is none */
    NANDRAM_FORMAT = 5,           /* of another version */
    NANDRAM_DAMAGED = 6,          /* it cannot be opened */
    NANDRAM_TRUNCATED = 7,        /* the file is too short */
    NANDRAM_TOO_SMALL = 8,        /* the device is too small */
    NANDRAM_OPTION = 9,           /* what it is made or opened with does not work */
    NANDRAM_OUT_OF_RANGE = 10,    /* beyond the memory */
    NANDRAM_NOT_ALLOCATED = 11,   /* the page is not there */
    NANDRAM_NOT_PERMITTED = 12,   /* it may not be read, or written */
    NANDRAM_NO_PAGES = 13,        /* no run of free pages is so long */
    NANDRAM_FULL = 14,            /* what is written and what tokens keep fills the file */
    NANDRAM_DISK_FULL = 15,       /* the file system has no room: the call may be made again when it has */
    NANDRAM_UNREADABLE = 16,      /* something is damaged; all else can be read */
    NANDRAM_TABLE_UNREADABLE = 17, /* so is a part of the page table */
    NANDRAM_UNKNOWN_TOKEN = 18,   /* the token stands for nothing */
    NANDRAM_TOO_MANY_TOKENS = 19, /* no more can be live */
    NANDRAM_NAME = 20,            /* the name is taken, unknown, or cannot be one */
    NANDRAM_BROKEN = 21,          /* writing failed: close it, and open it again */
    NANDRAM_STALE = 22,           /* a reader's state was overwritten: refresh it */
    NANDRAM_FORKED = 23,          /* another process opened it */
    NANDRAM_CLOSED = 24,          /* it was closed */
    NANDRAM_NOT_MAPPABLE = 25     /* loads and stores cannot be served */
};

/* The message of this thread's last call that failed; it stays until the next that does. */
const char *nandram_message(void);

/* A memory that is open for writing. One at a time has it open. */
typedef struct nandram_memory nandram_memory;

/* How it is made or opened; 0 is as if it were not said. */
typedef struct {
    uint64_t capacity; /* bytes that can be allocated; when it is opened: 0, or what it was made with */
    uint64_t dram;     /* bytes of the cache: 256 MiB */
    uint64_t space;    /* when it is made: bytes in the file for data and what tokens keep: twice the capacity */
    uint32_t tokens;   /* when it is made: how many may be live: 256 */
} nandram_options;

/* What was done since it was opened, and how it is. */
typedef struct {
    uint64_t hits, misses;   /* segments of 4 KiB that were wanted and in DRAM, and were not */
    uint64_t read_bytes;     /* from the file */
    uint64_t written_bytes;  /* to it: data, checksums, table, copies; over data_bytes it is the amplification */
    uint64_t data_bytes;     /* of them what the program wrote */
    uint64_t flushes;
    uint64_t dirty_segments; /* in DRAM, not in the file */
    uint64_t dram_bytes;     /* of the cache */
    uint64_t needed_bytes;   /* in the file that the present or a token needs */
    uint64_t space_bytes;    /* in the file that may be needed */
    uint64_t faults;         /* loads and stores that found nothing mapped, and waited */
    uint64_t store_faults;   /* first stores to what was mapped for a load, or synced since */
    uint64_t read_ahead;     /* segments that were mapped before they were asked for */
    uint64_t evicted;        /* segments that left the mapping */
    uint64_t mapped_bytes;
} nandram_stats;

/* Makes a memory in a new file, or on a block device that begins with zeros; opens one as its last sync left it. */
int nandram_create(const char *path, const nandram_options *options, nandram_memory **memory);
int nandram_open(const char *path, const nandram_options *options, nandram_memory **memory);
/* What was not synced is given up. The memory is gone, whatever is returned. NULL is none. */
int nandram_close(nandram_memory *memory);
uint64_t nandram_capacity(const nandram_memory *memory);

/* Zeros: whole pages in a row. Temporary ones are gone when the memory is opened again. */
int nandram_alloc(nandram_memory *memory, uint64_t bytes, int temporary, uint64_t *address);
int nandram_delete(nandram_memory *memory, uint64_t address, uint64_t bytes);
#define NANDRAM_MAY_READ 1u
#define NANDRAM_MAY_WRITE 2u
#define NANDRAM_PERMANENT 4u
int nandram_set_permissions(nandram_memory *memory, uint64_t address, uint64_t bytes, uint32_t permissions);
int nandram_read(nandram_memory *memory, uint64_t address, void *into, size_t bytes);
int nandram_write(nandram_memory *memory, uint64_t address, const void *from, size_t bytes);

/* Makes all that was written durable. The token brings it back; it may have a name, which no other live one has, or NULL. */
int nandram_sync(nandram_memory *memory, const char *name, uint64_t *token);
/* Back to it: what is newer is forgotten, tokens too. */
int nandram_rollback(nandram_memory *memory, uint64_t token);
/* It is needed no more. */
int nandram_drop(nandram_memory *memory, uint64_t token);
int nandram_token(nandram_memory *memory, const char *name, uint64_t *token);
/* Calls `each` with every live token, oldest first, and its name or NULL. It must not call anything of this memory. */
int nandram_tokens(nandram_memory *memory, void (*each)(void *user, uint64_t token, const char *name), void *user);

/* Names of areas, by which they are found when the memory is opened again. */
int nandram_name(nandram_memory *memory, const char *name, uint64_t address, uint64_t bytes);
int nandram_find(nandram_memory *memory, const char *name, uint64_t *address, uint64_t *bytes);

/* Reads all that is there. Calls `each` with code and message of what cannot be read, and returns the last of these codes. */
int nandram_verify(nandram_memory *memory, void (*each)(void *user, int code, const char *message), void *user);
/* Gathers what is needed, and gives the rest of the file's space back. */
int nandram_compact(nandram_memory *memory);
int nandram_get_stats(nandram_memory *memory, nandram_stats *stats);

/* Loads and stores: where the bytes from `address` on are in this process, until nandram_close. The first call maps the whole memory, by
 * userfaultfd(2): where the kernel does not let this process have its faults it fails (NANDRAM_NOT_MAPPABLE) and the memory is as before.
 * What is not in DRAM is fetched when it is touched. What cannot be read, is not allocated, or not permitted, ends the process with one
 * line. All calls go on as before; after a rollback the same addresses show the restored bytes. */
int nandram_map(nandram_memory *memory, uint64_t address, uint64_t bytes, void **at);

/* How a range will be used, as madvise(2) has it; of no consequence while nothing is mapped. */
enum nandram_advice {
    NANDRAM_NORMAL = 0,
    NANDRAM_RANDOM = 1,
    NANDRAM_SEQUENTIAL = 2,
    NANDRAM_WILL_NEED = 3, /* it is read meanwhile */
    NANDRAM_DONT_NEED = 4  /* it leaves DRAM; nothing is lost */
};
int nandram_advise(nandram_memory *memory, uint64_t address, uint64_t bytes, int advice);

/* A reader beside the writer: the memory as its last sync left it, whatever the writer does, until it is refreshed. `dram`: bytes of its
 * cache, or 0. */
typedef struct nandram_reader nandram_reader;
int nandram_reader_open(const char *path, uint64_t dram, nandram_reader **reader);
int nandram_reader_close(nandram_reader *reader);
int nandram_reader_read(nandram_reader *reader, uint64_t address, void *into, size_t bytes);
int nandram_reader_find(nandram_reader *reader, const char *name, uint64_t *address, uint64_t *bytes);
int nandram_reader_tokens(nandram_reader *reader, void (*each)(void *user, uint64_t token, const char *name), void *user);
/* Reads from now on what a token stands for. The memory itself is not changed. */
int nandram_reader_go_to(nandram_reader *reader, uint64_t token);
int nandram_reader_refresh(nandram_reader *reader);
int nandram_reader_verify(nandram_reader *reader, void (*each)(void *user, int code, const char *message), void *user);
/* Writes the bytes of an area to a new file; of NULL, of all pages, each at its address. */
int nandram_reader_export(nandram_reader *reader, const char *name, const char *to);
/* Makes a new file a memory as the last sync left the one in `from`, with its tokens, while its writer goes on. Calls `each` with what
 * cannot be read, and returns the last of these codes: the copy is there all the same. */
int nandram_backup(const char *from, const char *to, void (*each)(void *user, int code, const char *message), void *user);

#ifdef __cplusplus
}
#endif

#endif
