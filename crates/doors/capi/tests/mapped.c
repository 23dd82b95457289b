/* Loads and stores of a memory from C, together with its calls. The argument is a directory for its file. */
#include "nandram.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT (1u << 20)
#define THREADS 4

#define DONE(call) \
    do { \
        if ((call) != NANDRAM_OK) { \
            fprintf(stderr, "mapped.c:%d: %s\n", __LINE__, nandram_message()); \
            exit(1); \
        } \
    } while (0)
#define FAILS(call, code, words) \
    do { \
        int found = (call); \
        if (found != (code) || strcmp(nandram_message(), (words)) != 0) { \
            fprintf(stderr, "mapped.c:%d: %d: %s\n", __LINE__, found, nandram_message()); \
            exit(1); \
        } \
    } while (0)
#define HOLDS(what) \
    do { \
        if (!(what)) { \
            fprintf(stderr, "mapped.c:%d: %s does not hold\n", __LINE__, #what); \
            exit(1); \
        } \
    } while (0)

static uint64_t *field;

static void *add_to_a_part(void *part) {
    for (size_t n = (size_t)part; n < COUNT; n += THREADS)
        field[n] += n;
    return NULL;
}

/* Makes every thread touch every segment of data four times the size of DRAM. */
static void add(void) {
    pthread_t threads[THREADS];
    for (size_t n = 0; n < THREADS; ++n)
        HOLDS(pthread_create(&threads[n], NULL, add_to_a_part, (void *)n) == 0);
    for (size_t n = 0; n < THREADS; ++n)
        HOLDS(pthread_join(threads[n], NULL) == 0);
}

static void each_is(uint64_t times) {
    for (size_t n = 0; n < COUNT; ++n)
        HOLDS(field[n] == times * n);
}

int main(int argc, char **argv) {
    char path[4096];
    HOLDS(argc == 2);
    snprintf(path, sizeof path, "%s/c.memory", argv[1]);
    nandram_options options = {.capacity = 16 << 20, .dram = 2 << 20};
    nandram_memory *memory;
    nandram_stats stats;
    uint64_t at, once, found;
    void *mapped;
    DONE(nandram_create(path, &options, &memory));
    DONE(nandram_alloc(memory, COUNT * sizeof *field, 0, &at));
    DONE(nandram_name(memory, "field", at, COUNT * sizeof *field));
    DONE(nandram_advise(memory, at, 8, NANDRAM_RANDOM));
    FAILS(nandram_map(memory, at, 8, NULL), NANDRAM_ARGUMENT, "at is NULL");
    FAILS(nandram_map(NULL, at, 8, &mapped), NANDRAM_ARGUMENT, "memory is NULL");
    HOLDS(nandram_map(memory, at, 12 << 20, &mapped) == NANDRAM_NOT_ALLOCATED);
    int code = nandram_map(memory, at, COUNT * sizeof *field, &mapped);
    if (code == NANDRAM_NOT_MAPPABLE) {
        /* The memory is unchanged. */
        DONE(nandram_write(memory, at, &at, sizeof at));
        DONE(nandram_close(memory));
        puts("the kernel does not allow this process to use userfaultfd");
        return 0;
    }
    DONE(code);
    field = mapped;

    add();
    each_is(1);
    DONE(nandram_sync(memory, "once", &once));
    add();
    each_is(2);
    DONE(nandram_read(memory, at + 8 * 77, &found, sizeof found));
    HOLDS(found == 2 * 77);
    DONE(nandram_rollback(memory, once));
    each_is(1);

    /* Calls may read from and write to the mapping, which shows what they write. */
    DONE(nandram_write(memory, at, &field[1000], 8));
    HOLDS(field[0] == 1000);
    DONE(nandram_read(memory, at + 8 * 5, &field[6], 8));
    HOLDS(field[6] == 5);
    field[0] = 0;
    field[6] = 6;
    DONE(nandram_advise(memory, at, COUNT * sizeof *field, NANDRAM_DONT_NEED));
    DONE(nandram_advise(memory, at, 4096, NANDRAM_WILL_NEED));
    DONE(nandram_advise(memory, at, COUNT * sizeof *field, NANDRAM_SEQUENTIAL));
    each_is(1);
    FAILS(nandram_advise(memory, at, 8, 5), NANDRAM_ARGUMENT, "advice is 5, expected 0 to 4");
    DONE(nandram_get_stats(memory, &stats));
    HOLDS(stats.faults > 0 && stats.store_faults > 0 && stats.evicted > 0 && stats.read_ahead > 0);
    HOLDS(stats.mapped_bytes > 0 && stats.mapped_bytes <= 2 << 20 && stats.dram_bytes <= 2 << 20);
    add();
    DONE(nandram_sync(memory, NULL, NULL));
    DONE(nandram_close(memory));

    DONE(nandram_open(path, NULL, &memory));
    DONE(nandram_find(memory, "field", &at, NULL));
    DONE(nandram_map(memory, at, COUNT * sizeof *field, &mapped));
    field = mapped;
    each_is(2);
    DONE(nandram_close(memory));
    puts("loads and stores work as documented");
    return 0;
}
